"""The lengthscale that can be moved: what it starts at, what follows it, and what says so."""

import json
import re
import threading
from dataclasses import replace

import numpy as np
import param
import pytest
import xarray as xr

import workbench as wb
from tests.ui.disaggregate.sessions import Session
from workbench.ui.disaggregate import engine, exploring, exporting, exports
from workbench.ui.disaggregate.catalogue import LEARNT, lengthscales
from workbench.ui.disaggregate.scale import width_of
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.views import lengthscale
from workbench.ui.disaggregate.views.charts import Charts
from workbench.ui.disaggregate.views.lengthscale import Lengthscale
from workbench.ui.disaggregate.views.maps import Maps

KOREA = "dataset=korea&granularity=60&model=centre-point&nugget=0"
MAP = f"{KOREA}&kernel=matern32(coordinates)"       # quickly learnt
ROLL = "dataset=swiss-roll&granularity=10"
AT = "mean:-4.75,matern32.variance:0.08,matern32.lengthscale:71.2345678{},area.std:0.3"
LENGTH = "matern32.lengthscale"


def opened(query):
    state = State()
    assert state.read(query) == []
    return Session(state)


@pytest.fixture
def fit(one_thread):
    """A session whose fit is shown, and the view of its lengthscale."""
    session = opened(MAP)
    view = Lengthscale(session.maps())
    session.store.fit()
    session.wait(lambda: session.store.answer.kind == "learnt" and session.store.work == "")
    yield session, view
    session.store.close()


def slide(view, value, released=True):
    """What the browser tells when the handle is moved, and let go."""
    view.slider.value = value
    if released:
        with param.edit_constant(view.slider):
            view.slider.value_throttled = list(view.slider.options.values()).index(value)


@pytest.mark.slow
def test_the_lengthscale_is_fixed_where_it_was_fitted_and_nothing_jumps(fit):
    session, view = fit
    state, store = session.state, session.store
    answer, scores = store.answer, store.scores
    learnt = answer.fit.hyperparameters[LENGTH]["value"]
    assert view.slider.value == pytest.approx(learnt) and not view.switch.value
    [mark] = view.slider.marks
    assert list(view.slider.options.values())[mark["value"]] == pytest.approx(learnt)
    assert mark["label"] == "fitted" and f"Fitted: {learnt:.3g}" in view.told.object
    view.switch.value = True
    session.settled()
    assert state.lengthscale == float(f"{learnt:g}") and state.fixed()
    assert store.answer.fit is answer.fit and store.answer.kind == "learnt"
    assert store.answer.mean is answer.mean and store.scores is scores
    # what is taken away says that it is fixed
    assert f"lengthscale={learnt:g}&" in state.query()
    assert state.spec().hyperparameters[LENGTH] == state.lengthscale
    again = State()
    assert again.read(state.query()) == [] and again.query() == state.query()
    assert "model.condition(ds" in exporting.program(store.answer, None)
    view.switch.value = False
    session.settled()
    assert state.lengthscale == LEARNT and store.answer.mean is answer.mean
    assert "model.fit(ds" in exporting.program(store.answer, None)


@pytest.mark.slow
def test_moved_maps_are_settled_on_release_and_are_found_again(fit, tmp_path):
    session, view = fit
    state, store = session.state, session.store
    held = list(view.slider.options.values())[3]
    slide(view, held, released=False)
    assert store.dragged and state.lengthscale == held and view.switch.value
    session.maps()
    assert store.answer.kind == "moved" and store.answer.rough and store.scores is None
    slide(view, held)
    assert not store.dragged
    session.settled()
    assert not store.answer.rough and store.scores is not None
    spec = json.loads(exports.settings(store.answer, state))
    assert spec["hyperparameters"][LENGTH] == pytest.approx(held)
    run = wb.run(exports.as_shown(store.answer, None))
    np.testing.assert_allclose(run["mean"].values, store.answer.mean, rtol=1e-6)
    scope = {}
    exec(exporting.program(store.answer, None), scope)
    np.testing.assert_allclose(scope["maps"]["mean"].values, store.answer.mean, rtol=1e-6)
    path = tmp_path / "maps.nc"
    path.write_bytes(exporting.bundle(store).file(".nc").read())
    with xr.open_dataset(path) as maps:
        given = json.loads(maps.attrs["spec"])["hyperparameters"]
        assert given[LENGTH] == pytest.approx(held)
        assert f"lengthscale={held:g}&" in maps.attrs["address"]


@pytest.mark.slow
def test_scores_wait_until_the_slider_is_let_go(fit, monkeypatch):
    session, view = fit
    store, stops = session.store, list(view.slider.options.values())
    monkeypatch.setattr(lengthscale, "HELD", 1e6)       # else held for long enough they come
    slide(view, stops[2], released=False)
    session.maps()
    for stop in stops[-4:]:              # as long as four others of as many places take
        spec = replace(store.answer.spec, hyperparameters={LENGTH: stop})
        engine.scores(engine.settled(engine.quick(spec, store.answer.fitted)))
    assert store.scores is None and store.work == "scoring"
    slide(view, stops[2])
    session.settled()
    assert store.scores is not None


@pytest.mark.slow
def test_the_last_move_and_the_release_may_come_as_one(fit):
    session, view = fit
    stops = list(view.slider.options.values())
    view.slider.value = stops[5]
    before, wanted = session.state.lengthscale, stops[8]
    with param.edit_constant(view.slider):          # as Panel sets what a busy server hears late
        view.slider.param.update(value=wanted, value_throttled=stops.index(wanted))
    assert before == stops[5] and session.state.lengthscale == wanted == view.slider.value
    assert not session.store.dragged
    session.settled()


@pytest.mark.slow
def test_back_after_a_drag_brings_slider_maps_and_scores_back(fit):
    session, view = fit
    state, store, maps = session.state, session.store, Maps(session.store)

    def shown():
        return (state.query(), view.slider.value, view.switch.value, store.answer.mean,
                store.scores, maps.atlas.fine.source.data["mean"])

    fitted, stops = shown(), list(view.slider.options.values())
    for value in stops[2:5]:
        slide(view, value, released=False)
    session.maps()
    slide(view, stops[4])
    session.settled()
    moved = shown()
    assert moved[1] == stops[4] and moved[2] and not np.allclose(moved[3], fitted[3])
    for wanted in (fitted, moved, fitted):          # Back, Forward, Back
        assert state.read(wanted[0]) == []
        session.settled()
        now = shown()
        assert now[:3] == wanted[:3] and not store.stale and not store.dragged
        np.testing.assert_array_equal(now[3], wanted[3])
        xr.testing.assert_identical(now[4], wanted[4])
        np.testing.assert_array_equal(np.ravel(now[5]), np.ravel(wanted[5]))


@pytest.mark.slow
def test_maps_follow_a_slider_that_does_not_rest(fit, monkeypatch):
    session, view = fit
    store, asked, begun, go = session.store, [], threading.Event(), threading.Event()
    real = engine._moved

    def moved(spec, *given):
        asked.append(spec.hyperparameters[LENGTH])
        if asked[-1] == first:
            begun.set()
            assert go.wait(60)
        return real(spec, *given)

    monkeypatch.setattr(engine, "_moved", moved)
    first, *between, last = list(view.slider.options.values())[6:12]
    seen = []
    store.param.watch(lambda event: seen.append(
        event.new.fit.hyperparameters[LENGTH]["value"]), "answer")
    slide(view, first, released=False)
    assert begun.wait(60)
    for value in (*between, last):
        slide(view, value, released=False)
    assert store.stale
    go.set()
    session.maps()
    shown = list(dict.fromkeys(f"{value:.3g}" for value in seen))
    assert shown == [f"{first:.3g}", f"{last:.3g}"]     # what was begun is shown, others not made
    slide(view, last)
    session.settled()
    assert not set(between[1:-1]) & set(asked) and not store.stale


@pytest.mark.slow
def test_a_place_where_there_is_no_map_does_not_stop_the_slider(fit, monkeypatch):
    session, view = fit
    store, real, begun, go = session.store, engine._moved, threading.Event(), threading.Event()
    bad, good = list(view.slider.options.values())[13:15]

    def moved(spec, *given):
        begun.set()
        assert go.wait(60)
        if spec.hyperparameters[LENGTH] == bad:
            raise RuntimeError("cannot be factorised")
        return real(spec, *given)

    monkeypatch.setattr(engine, "_moved", moved)
    slide(view, bad)
    assert begun.wait(60)
    slide(view, good)
    go.set()
    session.wait(lambda: store.answer.kind == "moved")
    value = store.answer.fit.hyperparameters[LENGTH]["value"]
    assert value == pytest.approx(good) and store.error == ""


@pytest.mark.slow
def test_a_drag_over_the_stop_last_let_go_at_is_no_release(fit, monkeypatch):
    session, view = fit
    store, stops = session.store, list(view.slider.options.values())
    last = stops[int(view.slider.value_throttled)]
    other = next(stop for stop in stops if stop != last)
    for constant in ("HELD", "BACK"):
        monkeypatch.setattr(lengthscale, constant, 1e6)
    for stop in (other, last):          # back where it was let go, and no word of a release
        slide(view, stop, released=False)
        assert store.dragged
    monkeypatch.setattr(lengthscale, "BACK", 0.3)
    slide(view, other, released=False)
    slide(view, last, released=False)           # let go there again: scores come by themselves
    session.wait(lambda: not store.dragged)
    session.settled()
    assert store.scores is not None


def test_an_address_may_have_any_lengthscale_that_a_fit_could_have():
    state = State(model="vbagg")
    assert state.read("lengthscale=123.456") == [] and state.lengthscale == 123.456
    assert list(state.fixed().values()) == [123.456] and len(state.neighbours()) == 2
    state.fix_lengthscale(lengthscales(state.choice)[3])
    state.fix_lengthscale(lengthscales(state.choice)[4])
    assert len(state.param.lengthscale.names) == len(lengthscales(state.choice)) + 1   # and learnt
    for bad in ("1e9", "-3", "0", "nan", "inf", "long"):
        [told] = state.read(f"lengthscale={bad}")
        assert told.startswith(f"lengthscale={bad} (")


def test_what_was_fixed_in_the_fit_says_so_when_it_is_let_go():
    session = opened(f"{MAP}&lengthscale=71.2346&status=fitted&at={AT.format('!')}")
    view = Lengthscale(session.maps())
    assert view.slider.marks[0]["label"] == "fixed in the fit"
    session.state.lengthscale = LEARNT
    session.maps()
    assert "as fixed in the fit; press Fit to learn it" in view.told.object
    assert not view.switch.value and view.slider.value == pytest.approx(71.2345678)
    session.store.close()


@pytest.mark.parametrize(("query", "why"), [
    ("dataset=swiss-roll&granularity=10", "Auto is a weighted mixture"),
    ("dataset=swiss-roll&granularity=10&model=constant", "the flat model has no kernel"),
    ("dataset=swiss-roll&granularity=10&model=vbagg&kernel=linear", "regression alone has no")])
def test_models_without_a_lengthscale_say_why(query, why):
    session = opened(query)
    view = Lengthscale(session.maps())
    assert view.slider.disabled and view.switch.disabled and why in view.told.object
    session.store.close()


def test_the_width_of_a_typical_area():
    side = np.arange(12) + 0.5
    x, y = (v.ravel() for v in np.meshgrid(side, side))
    ds = xr.Dataset({"membership": ("individual", (x // 4 + 3 * (y // 4)).astype(int)),
                     "value": ("bag", np.ones(9))},
                    {"x": ("individual", x), "y": ("individual", y)})
    assert width_of(ds) == pytest.approx(4, rel=0.01)           # areas of 4 by 4
    assert np.isnan(width_of(ds.assign(membership=("individual", np.arange(144)),
                                       value=("bag", np.ones(144)))))


@pytest.mark.slow
@pytest.mark.parametrize("query", [
    f"{KOREA}&kernel=linear", f"{KOREA}&kernel=linear&likelihood=normal&link=identity",
    f"{KOREA.replace('centre-point', 'aggregated-gp')}&kernel=linear",
    f"{ROLL}&model=constant", f"{ROLL}&model=vbagg&kernel=linear"])
def test_the_training_curve_ends_at_the_objective_of_the_summary(query, one_thread):
    session = opened(query)
    charts = Charts(session.maps())
    session.store.fit()
    session.wait(lambda: session.store.answer.kind == "learnt" and session.store.work == "")
    told = re.search(r"with log priors (-?[\d.]+), after (\d+) steps", session.store.answer.summary)
    steps, end = (np.asarray(one.data["objective"]) for one in (charts._steps, charts._end))
    drawn = np.concatenate([steps[~np.isnan(steps)], end])      # without the gaps of its line
    assert f"{end[0]:.3f}" == told[1] and len(drawn) == int(told[2]) + 1
    assert told[1].replace("-", "\N{MINUS SIGN}") in charts.reached.object
    # The best step is what is kept; all individuals instead of clusters of them move it little.
    assert abs(drawn[-1] - max(drawn[:-1])) < 0.005 * abs(drawn[-1])
    session.store.close()


@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
@pytest.mark.parametrize("inducing, other, bags, values", [
    ("auto", False, 20, {}), (100, False, 20, {}), (30, True, 20, {}),
    ("auto", False, 120, {"likelihood": "normal"})])
def test_a_model_of_a_mixture_is_moved_if_the_apps_own_has_its_inducing_inputs(
        inducing, other, bags, values):
    """By their number: of many means there are more."""
    ds = wb.load("swiss-roll", n_bags=bags, mean_size=10, size_std=4, **values)
    fit = wb.VBAgg(kernel="rbf", inducing=inducing, max_steps=1).fit(ds)
    assert exploring._other_inducing(fit) == other
