"""Scores and sums that a page shows are of the data and the map that it shows, or say so."""

from dataclasses import replace

import holoviews as hv
import numpy as np
import param
import pytest

from tests.ui.disaggregate.sessions import Session, outcome
from workbench.checks import InputError
from workbench.ui.base.views.pictures import DRAWN
from workbench.ui.disaggregate import exporting
from workbench.ui.disaggregate.messages import MAKING, adds_up
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.views.bar import Numbers
from workbench.ui.disaggregate.views.charts import HELD_OUT, Charts
from workbench.ui.disaggregate.views.exports import Exports
from workbench.ui.disaggregate.views.maps import Maps
from workbench.ui.disaggregate.views.verdict import Strip, verdict_of


@pytest.mark.slow
def test_no_scores_of_other_data_are_shown(one_thread):
    state = State()
    state.read("?dataset=swiss-roll&granularity=10&model=constant")
    session = Session(state)
    charts = Charts(session.settled())
    of, table = charts._coverage.object, charts.scores.table.object
    assert of is not None and ">One " in table and not charts.waiting.visible
    with param.parameterized.discard_events(session.store):
        session.store.scores = None         # other settings of the same data: they only fade
    charts._scored()
    assert charts._row.visible and charts._row.styles["opacity"] != "1"
    with param.parameterized.discard_events(session.store):
        session.store.scene = replace(session.store.scene)
    charts._scored()
    assert charts.waiting.visible and not charts._row.visible and not charts.target.visible
    assert charts.scores.table.object == "" and charts.scores.scores is None
    session.store.close()


def test_charts_are_drawn_once_for_what_comes_at_once(one_thread):
    state = State()
    state.read("?dataset=swiss-roll&granularity=10&model=constant")
    session = Session(state)
    charts, drawn = Charts(session.settled()), []
    charts._coverage.param.watch(drawn.append, "object")
    session.store.recovered = outcome({"crps_sqrt": "CRPS", "coverage_95": "95 % coverage"},
                                      constant=[0.2, 0.9])
    assert charts.target.value == HELD_OUT and len(drawn) == 1
    charts.target.value = "bag"
    assert state.scored == "bag" and len(drawn) == 2
    state.scored = HELD_OUT
    assert charts.target.value == HELD_OUT and len(drawn) == 3
    session.store.close()


def test_held_out_areas_are_the_calibration_of_data_without_a_fine_truth(one_thread):
    state = State()
    state.read("?dataset=swiss-roll&granularity=10&model=constant")
    session = Session(state)
    store, charts = session.settled(), Charts(session.store)
    before = list(charts.target.options.values())
    covered = [0.31, 0.52, 0.74]
    levels = {f"coverage_{level}": f"{level} % coverage" for level in (50, 80, 95)}
    store.recovered = outcome({"crps_sqrt": "CRPS"} | levels, **{
        "constant": [0.2, *covered], "population split": [0.8, 0.1, 0.2, 0.3],
        "GLM on totals": [np.nan] * 4})
    charts._scored()
    assert list(charts.target.options.values()) == [*before, HELD_OUT]
    assert charts.target.value == HELD_OUT and not charts._sized[1].visible
    lines = {one.label: one.data.values.tolist() for one in charts._coverage.object
             if isinstance(one, hv.Curve)}
    assert lines["One flat rate"] == [list(one) for one in zip((0.5, 0.8, 0.95), covered,
                                                               strict=True)]
    assert "Population split" in lines and not any("GLM" in label for label in lines)
    assert "One flat rate" in charts._legend.object and "standard" not in charts._legend.object
    # What pictures of the page have of it: words, and lines that are gradients.
    assert charts._legend.css_classes == [DRAWN] and "linear-gradient" in charts._legend.object
    assert not charts.seen.visible and "In-sample" in charts.scores.table.object
    charts.target.value, held_out = "bag", store.recovered
    assert state.scored == "bag" and charts.seen.visible
    store.recovered = None
    assert list(charts.target.options.values()) == before and charts._sized[1].visible
    assert charts.target.value == "bag"
    assert state.read("scored=held-out&scores_as=bars") == []
    assert charts.target.value == before[-1]            # the finest, until there was a test
    assert charts.scores.shape.value == "bars" and not charts.scores.table.visible
    store.recovered = held_out
    assert charts.target.value == HELD_OUT and state.scored == HELD_OUT
    state.scored = "finest"
    assert charts.target.value == HELD_OUT
    store.close()


@pytest.mark.slow
def test_a_map_that_does_not_add_up_to_the_totals_says_so(one_thread):
    session = Session(State(dataset="korea"))
    store, numbers = session.maps(), Numbers(session.store)
    assert "adds up" not in numbers.text.text       # with effects given the totals it nearly does
    session.state.area_effect = False
    session.wait(lambda: not store.answer.area_effect)
    data, answer = store.scene.data, store.answer
    mapped, observed = float(answer.mean @ data["weight"].values), float(data["value"].sum())
    said = f"The map adds up to {mapped:,.0f}, the areas report {observed:,.0f}"
    assert abs(mapped / observed - 1) > 0.02
    assert said in numbers.text.text and "Include area effect" in numbers.text.text
    assert adds_up(101, 100, False) == ""
    assert "Include" not in adds_up(110, 100, True) and "110" in adds_up(110, 100, True)
    store.close()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Both 'variant' and 'button_style':PendingDeprecationWarning")
def test_nothing_of_former_data_is_judged_or_taken_away_while_others_are_fitted(one_thread):
    state = State()
    state.read("?dataset=swiss-roll&granularity=10&model=constant")
    session = Session(state)
    store = session.settled()
    exports, maps, strip = Exports(store), Maps(store), Strip(store)
    assert verdict_of(store).sentence and exporting.bundle(store) and not store.stale
    assert strip._panel.visible and maps._row.styles["opacity"] == "1"
    store.close()
    store._spec = State(dataset="korea").spec()         # as when Fit is pressed at once
    store.work = "learning hyperparameters"
    assert store.of_other_data and store.stale and verdict_of(store).sentence == ""
    assert strip.text.text == MAKING and maps._row.styles["opacity"] != "1"
    assert exports.csv.disabled
    with pytest.raises(InputError, match="nothing to export yet"):
        exports.csv.callback()              # pressed before the page heard of it
    store.work = ""
