"""A table with a row for each area and month: it is said, and one month or the sum is mapped."""

import io
import re
import time
from types import SimpleNamespace

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
from workbench.ui.disaggregate.views.periods import _told

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
        ("cases",), ("population",), {"rate": "called rate, which does not add up"})
    assert found.kept == ("ags",) and found.without == {}
    total = pandas.read_csv(io.BytesIO(found.table(SUM)), dtype={"ags": str})
    assert total["cases"].tolist() == [30 * k + 3 for k in range(12)]
    assert (total["population"] == 1_030).all() and total["ags"][3] == "003"
    assert "rate" not in total and "month" not in total and found.incomplete == 0
    lacking = found_in(tmp_path, long_table().drop(index=5))       # of an area one month is unknown
    total = pandas.read_csv(io.BytesIO(lacking.table(SUM)))
    assert lacking.incomplete == 1 and "District 6" not in total["district"].tolist()
    assert len(total) == 11


def summed(found, *columns):
    """Numbers of the sum in the first area."""
    return pandas.read_csv(io.BytesIO(found.table(SUM)))[list(columns)].iloc[0].tolist()


def test_counts_and_tests_are_added_up_though_they_are_the_same_in_every_period(tmp_path):
    frame = long_table().assign(positive=[*range(12), *range(12), *range(12)], n_tested=30, cases=1,
                                deaths=0, n=25, population=500, region="a", slope=4)
    found = found_in(tmp_path, frame)
    assert found.summed == ("cases", "positive", "n_tested", "deaths", "n")
    assert summed(found, "cases", "n_tested", "n", "population", "slope") == [3, 90, 75, 500, 4]
    assert found.averaged == ("population",) and found.kept == ("ags", "region", "slope")


def test_whole_means_rates_and_what_is_of_a_period_are_not_added_up(tmp_path):
    frame = long_table()
    k = np.arange(len(frame))
    frame = frame.assign(prevalence_pct=20 + k % 7, temperature=k % 9, mean_age=30 + k % 5,
                         age=30 + k % 5, wave=k // 12, hospital=k % 5)
    found = found_in(tmp_path, frame)
    assert found.summed == ("cases", "hospital")
    assert found.left_out == {"wave": "the same for all areas of a period"} | {
        name: f"called {word}, which does not add up" for name, word in (
            ("rate", "rate"), ("prevalence_pct", "pct"), ("temperature", "temperature"),
            ("mean_age", "age"), ("age", "age"))}


def test_every_column_that_is_left_out_has_the_true_reason(tmp_path):
    frame = long_table()
    k = np.arange(len(frame))
    frame = frame.assign(hiv=k % 5, marked=k % 7, dose=k + 0.5, comma=[f"1,{100 + j}" for j in k],
                         decimal=[f"11,{j}" for j in k], note=[f"seen {j}" for j in k],
                         fid=k + 1, none="").astype({"hiv": object})
    frame.loc[4, "hiv"], frame.loc[4, "marked"] = "NA", -9999
    found = found_in(tmp_path, frame)
    assert found.left_out == {
        "rate": "called rate, which does not add up", "marked": "below zero in 1 row, as -9999",
        "dose": "not whole numbers, as 0.5",
        "comma": "not all of it numbers, as '1,100'",
        "decimal": "not all of it numbers, as '11,0'", "none": "empty",
        "note": "text that differs between periods", "fid": "numbers of rows, or places"}
    assert found.summed == ("cases", "hiv") and found.without == {"hiv": 1}
    named = {*found.summed, *found.averaged, *found.kept, *found.left_out}
    assert named == {*frame} - {"district", "month"}       # none is lost without a word


def test_an_area_that_lacks_a_value_in_a_period_has_neither_sum_nor_average(tmp_path):
    frame = long_table().astype({"cases": object, "population": object})
    frame.loc[0, "cases"], frame.loc[[1, 13], "population"] = "NA", ""
    found = found_in(tmp_path, frame)
    assert found.without == {"cases": 1, "population": 1} and found.incomplete == 0
    total = pandas.read_csv(io.BytesIO(found.table(SUM)))
    assert total["cases"].isna().tolist() == [True] + 11 * [False]
    assert total["population"].isna().tolist() == [False, True] + 10 * [False]
    files = SimpleNamespace(table=SimpleNamespace(keys=[("district", "district", 12)]),
                            polygons=tmp_path / "a.gpkg")
    card = _told(found, SUM, files)
    assert "<b>cases</b> is missing for some period in 1 area, for which it has no sum." in card
    assert "<b>population</b> is missing for some period in 1 area, for which it has no av" in card
    assert "kept, as the same in every period: ags; left out: rate (called rate, which" in card


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
