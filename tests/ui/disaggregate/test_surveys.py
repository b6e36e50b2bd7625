"""Files of surveys: positives of those tested are taken for that, and counts stay counts."""

import geopandas
import numpy as np
import pandas as pd
import pytest

from tests.ui.disaggregate.made_files import districts, grids, tif, written
from workbench.checks import InputError
from workbench.ui.disaggregate import own
from workbench.ui.disaggregate.columns import totals_first
from workbench.ui.disaggregate.kinds import COUNT, MEAN, TESTED
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.surveys import surveys_in
from workbench.ui.disaggregate.views.own import Own

pytestmark = pytest.mark.usefixtures("removed", "one_thread")
PAIRS = [("positive", "tested"), ("cases", "examined"), ("events", "trials"),
         ("n_pos", "n_tested"), ("Positives", "sample_size"), ("nPos", "N"),
         ("positivos", "examinados")]


def two(value: str, trials: str, **more) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    tested = rng.integers(20, 120, 12)
    return pd.DataFrame({trials: tested, value: rng.binomial(tested, 0.2), **more})


def drawn(frame: pd.DataFrame) -> geopandas.GeoDataFrame:
    return geopandas.GeoDataFrame(districts()[["district", "geometry"]].join(frame),
                                  geometry="geometry", crs=districts().crs)


@pytest.mark.parametrize(("value", "trials"), PAIRS)
def test_positives_beside_those_tested_are_a_survey(value, trials):
    frame = two(value, trials)
    assert surveys_in(frame) == {value: trials}
    assert totals_first(list(frame))[0] == value        # though the other column comes first


def test_two_kinds_of_positives_are_of_the_same_tests():
    found = surveys_in(two("pf_pos", "tested").assign(pv_pos=1, cases=2))
    assert found == {"pf_pos": "tested", "pv_pos": "tested"}        # cases are counted elsewhere


def test_positives_are_of_the_tests_that_share_their_name():
    frame = two("malaria_pos", "hiv_tested").assign(hiv_pos=2, malaria_tested=150)
    assert surveys_in(frame) == {"malaria_pos": "malaria_tested", "hiv_pos": "hiv_tested"}
    assert surveys_in(frame.assign(malaria_tested=1)) == {"hiv_pos": "hiv_tested"}
    years = two("pos_2019", "tested_2020").assign(pos_2020=2, tested_2019=150)
    assert surveys_in(years) == {"pos_2019": "tested_2019", "pos_2020": "tested_2020"}
    assert surveys_in(two("pos", "n").assign(tested=150)) == {"pos": "tested"}


@pytest.mark.parametrize(("frame", "why"), [
    (two("cases", "population"), "residents"), (two("positive", "pop_size"), "residents"),
    (two("cases", "tests"), "neither name says so alone"), (two("events", "n"), "the same"),
    (two("cases", "examined", population=40_000), "cases among residents"),
    (two("positive", "n").assign(n=np.arange(12) * 9_000), "far more than a survey tests"),
    (two("positive", "tested").assign(positive=200), "more positives than tested"),
    (two("positive", "tested").assign(positive=0.5), "not whole"),
    (two("positive", "tested").assign(positive=-1), "below zero"),
    (two("positive", "tested").assign(tested=0, positive=0), "nobody was tested"),
    (two("positive_rate", "tested"), "a rate"), (two("positive", "tested_id"), "a number of rows"),
    (two("infected", "n_households", population=900), "no name of tests"),
    (two("infected", "size", population=900), "any size"), (two("infected", "size"), "any size"),
    (two("infected", "n", population=900), "among residents"),
    (two("pos_x", "n"), "a place"), (two("x_pos", "n_tested"), "a place"),
    (two("positive", "tested").assign(examined=200), "one of two, nobody knows which"),
    (two("income", "tested"), "no positives"), (two("deaths", "births"), "no tests")])
def test_counts_stay_counts(frame, why):
    assert surveys_in(frame) == {}, why


def test_rows_without_a_number_do_not_hide_a_survey():
    frame = two("positive", "tested").astype(float)
    frame.loc[3, "positive"], frame.loc[5, "tested"] = np.nan, np.nan
    assert surveys_in(frame) == {"positive": "tested"}


def asked(contents: dict[str, bytes]) -> tuple:
    """What the dialog guesses of files: column, kind, and the options to read it with."""
    view = Own(Store(State()))
    try:
        view.drop.param.update(filename=list(contents), value=list(contents.values()))
        values = view.values
        return values.column.value, values.kind.value, values.options
    finally:
        view.store.leave()


@pytest.mark.parametrize(("value", "trials"), PAIRS[:4])
@pytest.mark.parametrize("table", [False, True], ids=["polygons", "joined table"])
def test_the_dialog_takes_a_survey_for_one(tmp_path, value, trials, table):
    frame = drawn(two(value, trials))
    people = {"people.tif": tif(grids()[1], tmp_path)}
    if table:
        contents = {"a.gpkg": written(frame[["district", "geometry"]], tmp_path / "a.gpkg"),
                    "t.csv": frame.drop(columns="geometry").to_csv(index=False).encode()}
    else:
        contents = {"a.gpkg": written(frame, tmp_path / "a.gpkg")}
    assert asked(contents | people) == (value, TESTED, {"trials": trials})


def test_the_dialog_takes_cases_beside_a_population_for_counts(tmp_path):
    frame = drawn(two("cases", "examined", population=40_000, positive_share=0.2))
    contents = {"a.gpkg": written(frame, tmp_path / "a.gpkg")}
    assert asked(contents) == ("cases", COUNT, {})
    view = Own(Store(State()))
    try:
        view.drop.param.update(filename=list(contents), value=list(contents.values()))
        view.values.column.value = "positive_share"
        assert view.values.kind.value == MEAN
    finally:
        view.store.leave()


@pytest.mark.parametrize("kind", ["csv", "gpkg"])
def test_points_of_a_survey_are_led_to_a_command_that_names_those_tested(tmp_path, kind):
    frame, outlines = two("positive", "examined"), districts()
    places = outlines.geometry.centroid
    if kind == "csv":           # at no regular places, which would be pixels
        content = frame.assign(lon=np.arange(12) ** 2 / 7, lat=np.sqrt(np.arange(12))).to_csv(
            index=False).encode()
    else:
        content = written(geopandas.GeoDataFrame(frame, geometry=places), tmp_path / "p.gpkg")
    with pytest.raises(InputError, match=rf"--points p\.{kind} --value positive --trials examined"):
        own.kept({f"p.{kind}": content})
