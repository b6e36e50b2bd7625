"""A table with a row for each area and month: it is said, and one month or the sum is mapped."""

import io
import re
import time

import numpy as np
import pandas
import pytest

from tests.ui.disaggregate.made_files import districts, grids, tif
from workbench.ui.disaggregate import messages
from workbench.ui.disaggregate.one_period import SUM, periods_in
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.tables import table_of
from workbench.ui.disaggregate.views.own import Own

pytestmark = pytest.mark.usefixtures("removed")
MONTHS = ("2020-02", "2020-01", "2020-11")


def long_table(months=MONTHS):
    """Twelve areas in some months: what may be added up, what may not, and what stays."""
    areas = districts()["district"]
    return pandas.DataFrame([
        (name, month, 10 * k + m, 1_000 + 30 * m, f"{0.5 + m / 8}", f"0{k:02d}")
        for m, month in enumerate(months) for k, name in enumerate(areas)],
        columns=["district", "month", "cases", "population", "rate", "ags"])


def found_in(folder, frame):
    path = folder / "long.csv"
    frame.to_csv(path, index=False)
    return periods_in(table_of(path, districts()))


def test_the_rows_of_one_period_are_a_table_of_areas(tmp_path):
    found = found_in(tmp_path, long_table())
    assert (found.areas, found.column, found.count) == ("district", "month", 12)
    assert found.periods == ("2020-01", "2020-02", "2020-11")      # in time, not as written
    assert found.called("2020-01") == "long-2020-01.csv" and found.called(SUM) == "long-sum.csv"
    one = pandas.read_csv(io.BytesIO(found.table("2020-01")), dtype=str)
    assert one.columns.tolist() == ["district", "cases", "population", "rate", "ags"]
    assert one["cases"].tolist() == [str(10 * k + 1) for k in range(12)]
    assert one["ags"][3] == "003"               # of an id no zero is lost
    assert found_in(tmp_path, long_table(MONTHS[:1])) is None
    assert found_in(tmp_path, long_table().drop(columns="month")) is None


def test_counts_are_added_up_people_are_not_and_rates_are_left_out(tmp_path):
    found = found_in(tmp_path, long_table())
    assert (found.summed, found.averaged, found.left_out) == (
        ("cases",), ("population",), ("rate",))
    total = pandas.read_csv(io.BytesIO(found.table(SUM)), dtype={"ags": str})
    assert total["cases"].tolist() == [30 * k + 3 for k in range(12)]
    assert (total["population"] == 1_030).all() and total["ags"][3] == "003"
    assert "rate" not in total and "month" not in total and found.incomplete == 0
    lacking = found_in(tmp_path, long_table().drop(index=5))       # of an area one month is unknown
    total = pandas.read_csv(io.BytesIO(lacking.table(SUM)))
    assert lacking.incomplete == 1 and "District 6" not in total["district"].tolist()
    assert len(total) == 11


def test_the_dialog_says_what_it_found_and_maps_the_period_that_is_chosen(tmp_path):
    path = tmp_path / "areas.gpkg"
    districts().drop(columns="cases").to_file(path)
    given = {"areas.gpkg": path.read_bytes(), "people.tif": tif(grids()[1], tmp_path),
             "long.csv": long_table().to_csv(index=False).encode()}
    store = Store(State())
    try:
        view = Own(store)
        view.drop.param.update(filename=list(given), value=list(given.values()))
        asked = view.period
        assert asked.row.visible and asked.choice.value == "2020-11"
        assert "month</b> looks like a period: 3 of them, 2020-01 to 2020-11" in asked.told.object
        assert ("workbench disaggregate --polygons areas.gpkg --totals long.csv --join district "
                "--time month") in asked.told.object
        assert list(asked.choice.options) == ["2020-11", "2020-02", "2020-01",
                                              "sum of 2020-01 to 2020-11"]
        assert "values: long-2020-11.csv" in view.taken.object
        values = _checked(view)
        assert values == [10 * k + 2 for k in range(12)]
        asked.choice.value = SUM
        assert view.store.own is None and "added up: cases" in asked.told.object
        assert asked.table.filename == "long-sum.csv"
        assert asked.table.callback().getvalue().startswith(b"district,")
        values = _checked(view)
        assert values == [30 * k + 3 for k in range(12)]
        view._use()
        assert store.state.choice.title == "Own: areas.gpkg, sum of 2020-01 to 2020-11"
        view.drop.param.update(filename=["long.csv"], value=[
            long_table(MONTHS[:1]).to_csv(index=False).encode()])
        assert not asked.row.visible and "values: long.csv" in view.taken.object
    finally:
        store.leave()


def _checked(view):
    """Values of the areas after a check without errors."""
    view._check()
    deadline = time.monotonic() + 30
    while re.search(re.escape(messages.CHECKING), view.told.object):
        assert time.monotonic() < deadline and not view.store.error, view.store.error
        time.sleep(0.02)
    assert view.store.own.ok, [one.what for one in view.store.own.of("error")]
    return np.asarray(view.store.own.data["value"]).astype(int).tolist()
