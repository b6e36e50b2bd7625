"""State and stores of the app "sources": URLs, sources, sliders, work in threads, and views."""

import csv
import time
from urllib.parse import urlencode

import numpy as np
import pytest
from bokeh.models import Range1d

from tests.ui.kit import refused, restored, settled, slow_imports
from workbench.checks import InputError
from workbench.ui.base.state import short
from workbench.ui.sources import background, designs, line, messages
from workbench.ui.sources.designs import Design
from workbench.ui.sources.presets import PRESETS
from workbench.ui.sources.state import CITY, WEIGHTS, State
from workbench.ui.sources.store import Store, usable
from workbench.ui.sources.views.calibration import Calibration
from workbench.ui.sources.views.charts import Charts
from workbench.ui.sources.views.city import Map, image
from workbench.ui.sources.views.controls import LABELS, Controls
from workbench.ui.sources.views.experts import Experts
from workbench.ui.sources.views.line import Line
from workbench.ui.sources.views.series import Models, Series

pytestmark = pytest.mark.usefixtures("one_thread")

DRAWN = "_".join(["1.5"] * 12 + ["-2"] + ["6.3"] * 12)


def opened(**given) -> Store:
    store = Store(State(**given))
    store.refresh()
    return store


@pytest.mark.parametrize("given", [
    {"span": "-10_20", "truth": "drawn", "drawn": DRAWN, "draw": 7, "kernel": "matern32",
     "sources": "-8.5_3_40_4_0.6_-1.5_0.3_0~2_19.5_200_50_2_4_2_0.7", "chosen": 2,
     "hyper": "all", "lengthscale": 0.28, "spread": 6.0, "weight": 1.37, "experts": True},
    {"tab": "city", "city": 4, "scope": "paper", "hour": 71, "station": "S30", "model": "dgp",
     "stations": False, "shown": "width", "cells": True, "side": 3.5, "city_kernel": "rbf",
     "reach": 8.0}])
def test_a_state_survives_its_url(given):
    state = State(**given)
    again = restored(state, given)
    assert again.data_key == state.data_key and again.fit_key == state.fit_key


@pytest.mark.parametrize("k", range(len(PRESETS)))
def test_presets_are_states_that_a_url_can_carry(k):
    state, again = State(), State()
    state.choose_preset(k)
    assert again.read(state.query()) == [] and again.query() == state.query()
    assert designs.written(again.designs) == PRESETS[k].setting["sources"]


def test_bad_values_keep_the_default_and_are_named():
    problems = refused(State(), "?weight=2&drawn=1_2_3&sources=-2_15_101_1_1_0_0.5_0&chosen=3"
                                "&hour=48&station=S17&colour=red")
    assert [p.split("=")[0].split(" ")[0] for p in problems] == [
        "drawn", "sources", "chosen", "weight", "hour", "station", "colour"]


@pytest.mark.parametrize("text", [
    "", "1_2", "0_5_50_1_1_0_0.5_0~" * 4 + "0_5_50_1_1_0_0.5_0", "0_5_10_20_1_0_0.5_0",
    "0_5_50_1_1_0_0.5_1", "-9_5_50_1_1_0_0.5_0", "0_5.2_50_1_1_0_0.5_0", "5_0_50_1_1_0_0.5_0",
    "0_5_50_1_1_0_nan_0", "nan_15_100_1_1_0_0.5_0", "-2_inf_100_1_1_0_0.5_0",
    "-inf_15_100_1_1_0_0.5_0", "1e400_15_100_1_1_0_0.5_0", "-2_15_inf_1_1_0_0.5_0",
    "-2_15_100_inf_1_0_0.5_0", "-2_15_100.5_1_1_0_0.5_0", "-2_15_100_1.5_1_0_0.5_0"])
def test_sources_that_cannot_be_are_refused(text):
    assert designs.read(text, (-2.0, 15.0)) is None
    state, default = State(), State().query()
    problem, = state.read(urlencode({"sources": text}))
    assert problem == messages.bad_sources(text) and short(text) in problem
    assert state.query() == default


@pytest.mark.parametrize("text", ["²", "1.5", "nan", "-1", "٣", "9" * 400])
def test_a_chosen_source_that_cannot_be_is_refused(text):
    state, default = State(), State().query()
    problem, = state.read(urlencode({"chosen": text}))
    assert problem in (f"chosen={short(text)} (1 used)",
                       f"chosen={short(text)} (there are 2; the first is used)")
    assert state.query() == default


def test_a_drawing_that_is_not_finite_or_of_another_length_is_refused():
    state = State()
    state.draw_at(np.linspace(-3, 8, line.KNOTS))           # edges of the plot are edges
    kept = state.drawn
    assert line.read(kept).min() == line.LOWEST and line.read(kept).max() == line.HIGHEST
    for values in (np.full(line.KNOTS, np.nan), np.r_[np.inf, np.zeros(line.KNOTS - 1)],
                   np.zeros(line.KNOTS - 1)):
        with pytest.raises(InputError, match="finite values"):
            state.draw_at(values)
        assert state.drawn == kept


def test_sources_are_added_changed_placed_and_removed():
    state = State()
    state.add()
    assert len(state.designs) == state.chosen == 3
    state.add()
    state.add()                                     # no room
    assert len(state.designs) == designs.MOST
    placed = state.design.placed(-7.2, 3.3, state.ends)
    state.change(3, placed)
    assert (state.designs[3].low, state.designs[3].high) == (-2.0, 3.5)
    assert Design(0, 5).placed(4.0, 4.1, (-2, 15)).high == 5.0      # never narrower than one
    state.chosen = 1
    state.remove()
    assert len(state.designs) == 3 and state.designs[0].copied == 0.0
    for _ in range(5):
        state.remove()
    assert len(state.designs) == 1
    state.span = "-10_20"
    state.change(0, state.designs[0].placed(-10, 20, state.ends))
    state.span = "-2_15"                            # sources come along
    assert (state.designs[0].low, state.designs[0].high) == (-2.0, 15.0)


def test_models_see_one_source_at_least():
    state = State(stations=False)
    state.satellite = False
    assert state.satellite and state.fit_key.seen == ("satellite",)
    problem, = refused(state, "?satellite=no")
    assert problem.startswith("satellite=no (A model needs at least one source: switch on the")
    assert state.read("?stations=yes&satellite=no") == [] and state.seen == ("stations",)
    assert state.read("?stations=no&satellite=yes") == [] and state.seen == ("satellite",)
    assert {name for name in LABELS if name not in state.param} == set()


def test_the_switch_of_the_last_source_says_why_it_stays_on():
    store = Store(State(tab=CITY))
    controls = Controls(store)
    assert not controls.widgets["stations"].disabled and controls.last.object == ""
    store.state.satellite = False
    assert controls.widgets["stations"].disabled and not controls.widgets["satellite"].disabled
    assert "switch on the satellite before you switch off the stations." in controls.last.object
    store.close()


def test_each_slider_changes_what_it_should_and_nothing_else():
    store = opened()
    before = store.answer
    store.state.weight = 0.9
    found = store.answer
    assert found.world is before.world
    np.testing.assert_array_equal(found.bands["product"].mean, before.bands["product"].mean)
    assert (found.bands["composite"].sd < before.bands["composite"].sd).all()
    store.state.lengthscale = 0.4
    assert store.answer.world is before.world
    assert (store.answer.bands["product"].sd.mean() > found.bands["product"].sd.mean())
    store.state.change(1, Design(-2, 15, 100, 3, 0.5, 0.0, 0.5, 1.0))
    assert store.answer.world is not before.world
    np.testing.assert_array_equal(store.answer.world.sources[0].values,
                                  before.world.sources[0].values)
    assert store.answer.scores["product"].rmse > 2 * before.scores["product"].rmse
    store.close()


def test_weights_are_estimated_in_the_background_and_kept():
    store = opened(draw=17)
    assert store.answer is not None and store.estimate is None
    assert store.work == messages.WORK["estimate"]
    settled(store)
    assert 0.4 < store.estimate.ribatet < 0.7 and 0.4 < store.estimate.lyddon < 0.7
    assert usable(store.estimate, "lyddon", WEIGHTS) == round(store.estimate.lyddon, 2)
    assert usable(background.Estimate(1.9, float("nan")), "ribatet", WEIGHTS) is None
    assert usable(background.Estimate(1.9, float("nan")), "lyddon", WEIGHTS) is None
    store.state.weight = 1.2                        # no reason to work
    assert not store.work
    again = opened(draw=17)
    assert again.estimate == store.estimate and not again.work
    again.close()
    store.close()


def test_learning_moves_the_posterior_and_sliders_take_it_back():
    store = opened(draw=3, lengthscale=4.0)
    far = store.answer.scores["alone"].rmse
    store.state.hyper = "all"
    settled(store)
    assert store.learnt is not None and store.answer.model is store.learnt.model
    assert 0.3 < store.learnt.model.lengthscale < 2 and store.answer.scores["alone"].rmse < far
    assert "Fitted" in messages.learnt(store.learnt.model, store.learnt.objective, True)
    store.state.hyper = "set"
    assert store.learnt is None and store.answer.model.lengthscale == 4.0
    store.close()


def test_mr_dgp_is_learnt_cancelled_and_says_when_it_cannot_be():
    store = opened(draw=9, experts=True)
    store.cancel()
    settled(store)
    assert store.experts is None or store.experts.cancelled
    store.state.draw = 11
    settled(store)
    assert store.experts is not None and store.fresh and not store.experts.cancelled
    store.state.draw = 12                           # the former one is shown as such meanwhile
    assert store.experts is not None and not store.fresh
    store.state.edit((Design(-2, 5, 50), Design(6, 15, 50)))
    deadline = time.monotonic() + 60
    while store.work and time.monotonic() < deadline:
        time.sleep(0.02)
    assert "source 1" in store.error and not store.work
    store.close()


@pytest.mark.filterwarnings("ignore:not converged")
def test_the_city_is_learnt_in_a_thread_once_and_mapped_by_the_hour(short_fits):
    store = opened(tab=CITY, city=1)
    side = store.city
    assert side.work and side.stale and side.hour is None
    settled(side)
    first = side.hour
    assert first.hour == 8 and not side.stale and len(side.rows) == 1
    store.state.hour = 20
    settled(side)
    assert side.hour.hour == 20 and side.hour.fitted is first.fitted
    store.state.satellite = False
    assert side.stale
    settled(side)
    assert side.fitted.key.seen == ("stations",) and len(side.rows) == 2
    kept = list(csv.DictReader(Models(store).keep.callback()))
    assert [one["sources"] for one in kept] == ["stations + satellite", "stations"]
    for one, key in zip(kept, side.rows, strict=True):
        again = State()
        assert again.read(one["address"].partition("?")[2]) == [] and again.fit_key == key
    store.state.satellite = True                    # kept
    settled(side)
    assert side.fitted is first.fitted
    store.state.model = "gprn"
    side.cancel()
    settled(side)
    assert side.fitted is first.fitted or side.fitted.cancelled
    store.state.tab = "line"
    assert not side.work
    store.close()


@pytest.mark.filterwarnings("ignore:not converged")
def test_what_is_pushed_is_what_would_be_drawn_anew(short_fits):
    store = opened()
    views = [Line(store, Range1d(-2, 15)), Charts(store), Experts(store, Range1d(-2, 15)),
             Map(store), Series(store), Calibration(store), Controls(store)]
    store.state.choose_preset(1)
    settled(store)
    store.state.param.update(weight=0.8, lengthscale=0.8)
    store.state.tab = CITY
    store.state.city = 1
    settled(store.city)
    store.state.param.update(hour=5, station="S03", shown="error")
    settled(store.city)
    anew = [Line(store, Range1d(-2, 15)), Charts(store), Experts(store, Range1d(-2, 15)),
            Map(store), Series(store), Calibration(store)]
    compared = 0
    for one, other in zip(views[:-1], anew, strict=True):
        for name, held in vars(one).items():
            pairs = zip(held, getattr(other, name), strict=True) if isinstance(held, list) else [
                (held, getattr(other, name))]
            for a, b in pairs:
                if not hasattr(a, "data") or not hasattr(a, "column_names"):
                    continue
                for column in a.column_names:
                    assert len(a.data[column]) == len(b.data[column])
                    for left, right in zip(a.data[column], b.data[column], strict=True):
                        np.testing.assert_array_equal(left, right, err_msg=f"{name}.{column}")
                    compared += 1
    assert compared > 60
    assert views[1].table.object == anew[1].table.object and "MR-DGP" in anew[1].table.object
    assert views[3].figure.title.text == messages.MAP_TITLES["error"]
    shown = {kind: drawn.visible for kind, drawn in views[3].drawn.items()}
    assert shown == {"value": False, "width": False, "error": True}
    store.close()


@pytest.mark.filterwarnings("ignore:not converged")
def test_images_are_the_right_way_up(short_fits):
    store = opened(tab=CITY, city=1)
    settled(store.city)
    data = store.city.data
    east, north = (image(data, data.pixels.xy[:, axis]) for axis in (0, 1))
    assert (np.diff(north, axis=0) > 0).all() and (np.diff(east, axis=1) > 0).all()
    store.close()


def test_dragging_and_drawing_reach_the_state():
    store = opened(truth="drawn")
    view = Line(store, Range1d(-2, 15))
    assert len(view.knots.data["x"]) == line.KNOTS
    view.drawn.data = {"y": [float(k % 5) + 0.04 for k in range(line.KNOTS)]}
    assert store.state.drawn.startswith("0_1_2_3_4_0_") and store.answer.world.known.max() > 3.9
    view.moved.data = {"which": [1], "left": [3.3], "right": [9.1], "end": [True]}
    assert (store.state.design.low, store.state.design.high) == (3.5, 9.0)
    assert store.state.chosen == 2
    assert view.bars.data["left"][1] == 3.5
    store.close()


def test_the_page_can_be_drawn_before_torch_and_statistics_are_imported():
    assert slow_imports(
        "import workbench.ui.base.shell\n"
        "from workbench.ui.sources.views.page import APP\n"
        "store = APP.store(APP.state()); store._reply()\n"
        "APP.controls(store), [view(store) for view in APP.views]") == ""
