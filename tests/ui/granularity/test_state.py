"""State and store of the app "granularity": URLs, cells edited by hand, counts, budgets."""

import time

import numpy as np
import pytest
from bokeh.models import ColumnDataSource

from tests.ui.kit import settled, slow_imports
from workbench.ui.granularity import california, theory, worlds
from workbench.ui.granularity.background import equal_cells
from workbench.ui.granularity.engine import AT_ONCE
from workbench.ui.granularity.state import COUNTS, LENGTHS, NOISES, SIDES, VARIANCES, State
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.story import STEPS
from workbench.ui.granularity.views.charts import Charts, KernelCurve
from workbench.ui.granularity.views.line import Line
from workbench.ui.granularity.views.maps import Maps, image
from workbench.ui.granularity.worlds import END

BUDGET = 100        # milliseconds of processor time for one event


def test_a_state_survives_its_url():
    state = State()
    state.param.update(tab="map", kernel="matern12", likelihood="poisson", side=0.64,
                       map_lengthscale=2.5, tolerance=0.2, output="rough", story=3, points=100)
    state.edit(np.array([0, 0.7, 1.234, 3, END]), 2)
    again = State()
    assert again.read("?" + state.query()) == []
    assert again.query() == state.query()
    assert again.boundaries.tolist() == [0, 0.7, 1.234, 3, END]
    assert "edges=0.7_1.234_3&" in state.query() and again.cells == 4


def test_bad_values_keep_the_default_and_are_named():
    state, default = State(), State().query()
    problems = state.read("?cells=13.5&lengthscale=-3&edges=2_1&cell=12&kernel=cubic&colour=red")
    assert state.query() == default
    assert [p.split(" ")[0] for p in problems] == [
        "kernel=cubic", "cells=13.5", "edges=2_1", "cell=12", "lengthscale=-3", "colour"]
    assert state.read("?edges=" + "_".join(str(0.05 * k) for k in range(1, 80))) != []
    assert state.read("?story=0&tab=line&story=7") == [
        "story=7 (0 taken)"]


def test_california_is_offered_only_where_its_file_is(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    assert list(State().param.source.names) == ["made map"]
    assert State().read("source=california")[0].startswith("source=california (made taken)")
    (tmp_path / "california").mkdir()
    (tmp_path / "california" / california.FILE).touch()
    rng, (x0, y0, x1, y1) = np.random.default_rng(0), california.BOUNDS
    rows = np.column_stack([rng.uniform(x0, x1, 2000), rng.uniform(y0, y1, 2000),
                            rng.uniform(1, 9, 2000)])
    monkeypatch.setattr(california, "folds", lambda output: (rows[:1000], rows[1000:]))
    worlds.california_map.cache_clear()
    state = State(tab="map")
    assert state.read("source=california&output=MedInc&side=1.6") == []
    world = state.world
    assert world.values.size == california.TRAINING and world.truth is None
    assert world.values.std() == pytest.approx(1) and "10,000 USD" in world.quantity
    store = Store(state)
    store.refresh()
    settled(store)
    assert store.answer.whole and store.answer.world.held_out.size == california.HELD_OUT
    state.source = "made"
    assert state.output == "both"
    worlds.california_map.cache_clear()


def test_stops_are_logarithmic_and_short():
    for stops in (SIDES[::-1], LENGTHS, VARIANCES):
        ratios = np.diff(np.log10(stops))
        assert ratios.min() > 0.085 and ratios.max() < 0.22
    assert COUNTS[-1] == 1000 and COUNTS == sorted(COUNTS) and NOISES == sorted(NOISES)


def test_moving_the_slider_forgets_boundaries_but_editing_moves_the_slider():
    state = State(cells=6)
    state.edit(np.delete(state.boundaries, 2), 1)
    assert (state.cells, state.boundaries.size - 1, state.cell) == (5, 5, 1)
    state.cells = 8
    assert (state.edges, state.cell, state.boundaries.size) == ("", -1, 9)


def test_clicking_the_plane_goes_to_the_nearest_stops():
    state = State()
    state.go(END / 23, 0.33)
    assert (state.cells, state.lengthscale) == (24, 0.32)
    state.tab = "map"
    state.go(0.66, 4.3)
    assert (state.side, state.map_lengthscale) == (0.64, 4.0)


def test_one_event_changes_all_and_only_what_changed_is_computed_again():
    store, seen = Store(State()), []
    store.refresh()
    store.param.watch(lambda event: seen.append(event.new.evaluations), "tick")
    first = store.answer.complete.mean
    for event, evaluations in (({"cells": 20}, 1), ({"lengthscale": 0.5}, 2), ({"cells": 30}, None),
                               ({"cells": 8, "lengthscale": 1.0}, 1), ({"tolerance": 0.2}, None),
                               ({"noise": 0.5}, 2), ({"assumed": 0.1}, 2), ({"points": 100}, 2)):
        seen.clear()
        if event == {"cells": 30}:
            with pytest.raises(ValueError, match="30"):
                store.state.param.update(**event)
            continue
        store.state.param.update(**event)
        assert seen == ([] if evaluations is None else [evaluations])
        if event.get("lengthscale") == 1.0:
            assert store.answer.complete.mean is first      # kept
    store.close()


@pytest.mark.parametrize("tab, names", [
    ("line", {"points": [100, 1000], "cells": [4, 128, 1000], "lengthscale": [0.2, 0.5]}),
    ("map", {"side": [5.0, 1.0, 0.4, 0.2], "map_lengthscale": [0.5, 2.0]})])
def test_events_stay_within_their_budget(tab, names):
    """Processor time, for other jobs may share the machine; the least of three tries."""
    state = State(tab=tab)
    store, slow = Store(state), {}
    store.refresh()
    names = {name: [v for v in values if v in state.param[name].names.values()]
             for name, values in names.items()}
    for name, values in names.items():
        for value in values:
            spent = []
            for variance in VARIANCES[3:6]:     # so that nothing is known from before
                store.state.param.update(**{"variance" if tab == "line" else "map_variance":
                                            variance})
                store.close()
                other = next(v for v in state.param[name].names.values() if v != value)
                state.param.update(**{name: other})
                store.close()
                start = time.thread_time()
                state.param.update(**{name: value})
                spent.append(1000 * (time.thread_time() - start))
                store.close()
            print(f"{tab}: {name}={value:g}: {min(spent):.0f} ms")
            slow |= {(name, value): min(spent)} if min(spent) > BUDGET else {}
    assert not slow


def test_what_takes_longer_is_left_for_the_release():
    state = State(tab="map", likelihood="poisson")
    store = Store(state)
    store.refresh()
    assert store.answer.complete is None and store.answer.coverage is None and store.stale
    settled(store)
    assert store.answer.whole and not store.stale and store.picture.share == 1
    known = store.answer
    state.side = 2.0                                # complete data are known now: all at once
    assert store.answer.whole and store.answer.complete.mean is known.complete.mean
    cells, bench = equal_cells(store.bench.world, 0.2), store.bench
    assert bench.light(cells, state.model) == (
        cells.size**2 * bench.world.probes.size < AT_ONCE)
    store.close()


def test_the_plane_and_the_curves_agree_with_the_readout():
    state = State(points=100, cells=12)
    store = Store(state)
    store.refresh()
    settled(store)
    picture, curve = store.picture, store.curve
    row = int(np.flatnonzero(picture.lengthscales == 1.0)[0])
    column = int(np.abs(picture.sizes - END / 12).argmin())
    assert picture.error[row, column] == pytest.approx(store.answer.error, rel=1e-9)
    assert curve.errors[list(curve.counts).index(12)] == pytest.approx(store.answer.error)
    assert np.isfinite(picture.error).all() and curve.bounds.size >= 6
    assert (curve.certificates <= curve.bounds * (1 + 1e-9)).all()
    trusted = theory.trusted("rbf", 0.1, 1)
    assert picture.trusted[0.1] == trusted and 2 < trusted < 4      # 1 / (0.1 √12) for a parabola
    spent = store.bench.evaluations
    state.cells = 11                                # near by: most of the plane is known
    settled(store)
    assert store.bench.evaluations - spent < 60
    store.close()


@pytest.mark.parametrize("tab", ["line", "map"])
def test_learning_moves_the_sliders_to_the_stops_and_says_what_was_learnt(tab):
    state = State(tab=tab, points=100, lengthscale=0.1, side=1.6, map_lengthscale=0.1)
    store = Store(state)
    store.refresh()
    store.learn()
    deadline = time.monotonic() + 60
    while not store.learnt and time.monotonic() < deadline:
        time.sleep(0.02)
    assert "lengthscale" in store.learnt and not store.error
    assert state.model.lengthscale > 0.5
    assert store.answer.model == state.model
    state.param.update(**{"cells" if tab == "line" else "side": 2})
    assert store.learnt == ""
    store.close()


@pytest.mark.parametrize("tab", ["line", "map"])
def test_what_is_pushed_is_what_would_be_drawn_anew(tab):
    state = State(tab=tab, points=100)
    store = Store(state)
    views = Line(store), Maps(store), Charts(store), KernelCurve(store)
    store.refresh()
    state.param.update(cells=5, side=2.0)
    state.param.update(lengthscale=0.5, map_lengthscale=2.0, kernel="matern32")
    if tab == "line":
        state.edit(np.array([0, 1, 3, END]), 1)
    settled(store)
    anew = Line(store), Maps(store), Charts(store), KernelCurve(store)
    compared = 0
    for view, other in zip(views, anew, strict=True):
        for name, held in vars(view).items():
            if isinstance(held, ColumnDataSource):
                expected = getattr(other, name).data
                assert set(held.data) == set(expected)
                for column, values in expected.items():
                    np.testing.assert_array_equal(np.asarray(held.data[column]),
                                                  np.asarray(values), err_msg=column)
                    compared += np.size(values) > 0
    assert compared > 25
    store.close()


def test_pixels_are_at_their_places():
    world = worlds.made_map("both", "normal")
    east, north = (image(world, world.places[:, k]) for k in (0, 1))
    assert (np.diff(east, axis=1) > 0).all() and (np.diff(north, axis=0) > 0).all()


@pytest.mark.parametrize("step", range(1, len(STEPS) + 1))
def test_every_step_of_the_story_shows_what_it_says(step):
    state = State()
    state.edit(np.array([0, 1, 3, END]))
    store = Store(state)
    store.refresh()
    state.tell(step)
    store.close()
    answer = store.answer
    expected = {1: (0, 0.02), 2: (0, 0.06), 3: (0.1, 1), 4: (0.1, 1), 5: (0.02, 1), 6: (0.1, 1)}
    low, high = expected[step]
    assert low <= answer.error <= high
    again = State()
    assert again.read(state.query()) == [] and again.model == state.model


def test_the_page_can_be_drawn_before_torch_and_statistics_are_imported():
    assert slow_imports(
        "import workbench.ui.base.shell\n"
        "from workbench.ui.granularity.views.page import APP\n"
        "store = APP.store(APP.state()); store.refresh()\n"
        "APP.controls(store), [view(store) for view in APP.views]") == ""
