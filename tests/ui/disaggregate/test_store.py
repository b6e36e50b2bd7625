"""The store without a server: parameters in, arrays out, nothing computed twice."""

import re
import threading
import time

import numpy as np
import pytest

import workbench as wb
from tests.ui.disaggregate.sessions import SMALL, Session, stops
from workbench.gp.models.vbagg import state as variational
from workbench.pipeline import run as pipeline
from workbench.ui.base.cache import Cache
from workbench.ui.disaggregate import engine
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.views.bar import Numbers


@pytest.fixture
def state():
    state = State()
    assert state.read(SMALL) == []
    return state


@pytest.fixture
def begin(state):
    """Start sessions, by default of the state; they end with the test."""
    sessions = []

    def make(of=state):
        sessions.append(Session(of))
        return sessions[-1]

    yield make
    for session in sessions:
        session.store.close()


def eventually(condition, seconds=90):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_first_answer_is_that_of_the_public_functions(state, begin):
    store = begin().settled()
    assert store.error == "" and store.answer.kind == "start" and store.answer.history == ()
    spec = state.spec()
    data = wb.load("swiss-roll", **spec.dataset_options.plain())
    given = store.answer.fit.hyperparameters
    fit = wb.make_model(spec.model, **spec.options).condition(data, given)
    # An answer at once ends its search for q earlier: small beside the posterior's own spread.
    law = fit.at(data)
    gap = np.abs(store.answer.mean - law.mean.values) / law.std.values
    assert gap.max() < 0.005
    np.testing.assert_allclose(store.exceedance, law.exceedance(spec.threshold).values, atol=1e-3)
    assert "constant" in store.scores["model"].values


@pytest.mark.slow
def test_a_preview_searches_for_its_posterior_once(state, monkeypatch):
    trained, projected = [], []
    train, project = variational.VariationalState.train, variational.project_data
    monkeypatch.setattr(variational.VariationalState, "train", lambda self, *how: trained.append(
        self) or train(self, *how))
    monkeypatch.setattr(variational, "project_data", lambda field, seen, *rest: projected.append(
        len(seen.x)) or project(field, seen, *rest))
    for name, value in (("model", "vbagg"), ("likelihood", "negative-binomial"), ("model", "auto")):
        setattr(state, name, value)
        everyone = engine.scene(state.spec()).plain.sizes["individual"]
        trained.clear(), projected.clear()
        answer = engine._start(state.spec())
        assert trained == [answer.fit.inner.state] and answer.kind == "start"
        assert projected == [len(trained[0].design.learning.x), everyone]
        assert projected[0] < everyone / 3


def test_auto_starts_with_one_of_its_models_and_learns_the_mixture(state, begin, monkeypatch):
    monkeypatch.setattr(engine, "_ANSWERS", Cache(14))      # nothing of other tests
    state.model = "auto"
    session = begin()
    store, said = session.maps(), []
    assert store.error == "" and store.answer.kind == "start"
    assert store.answer.fit.model.name == "vbagg"           # it stands in for the mixture
    bar = Numbers(store)
    store.param.watch(lambda _: said.append(bar.doing.text), ["fraction", "stage"])
    store.fit()
    session.settled()
    fitted = [re.match(r"fitting model (\d) of (\d): ([a-z +]+)", one) for one in said]
    assert {(one[1], one[3]) for one in fitted if one} >= {
        ("1", "one flat rate"), ("2", "regression"), ("3", "flexible covariates")}
    assert any(re.match(r"fitting model \d of \d: .*, step \d", one) for one in said)
    assert any(re.match(r"testing the models: \d+ of \d+ done", one) for one in said)
    assert not any("testing" in one and "step" in one for one in said)
    assert store.error == "" and store.answer.kind == "learnt"
    assert store.answer.fit.model.name == "auto"
    assert float(store.answer.fit.weights.sum()) == pytest.approx(1.0)
    assert store.answer.fit.verdict in store.answer.summary
    assert store.scores["model"].values.tolist()[:2] == ["auto", "constant"]
    fractions = [point[0] for point in store.history]
    assert fractions == sorted(fractions)
    assert store.history[-1][1] == store.answer.fit.objective_with_priors


def test_a_slider_moves_the_fit_and_keeps_the_other_hyperparameters(state, begin):
    session = begin()
    session.maps().fit()
    store = session.maps()
    assert store.answer.kind == "learnt" and len(store.answer.history) > 2
    assert [step for step, _ in store.history] == list(range(1, len(store.history) + 1))
    learnt = store.answer.fit.hyperparameters
    state.variance = stops(state)[12]
    session.maps()
    moved = store.answer.fit.hyperparameters
    assert store.answer.kind == "moved"
    assert moved["linear.variance"]["value"] == pytest.approx(state.variance)
    assert moved["area.std"]["value"] == pytest.approx(learnt["area.std"]["value"])


def test_nothing_is_computed_twice(state, begin, monkeypatch):
    session = begin()
    first, made, started = session.maps().answer, [], []
    real = engine._answer
    monkeypatch.setattr(engine, "_answer", lambda *of: made.append(of[0]) or real(*of))
    monkeypatch.setattr(pipeline, "model_of", started.append)
    state.variance = stops(state)[3]
    second, moved = session.maps().answer, engine.fit_spec(state.spec())
    assert second is not first
    state.variance = "learnt"
    assert session.maps().answer is first
    state.variance = stops(state)[3]
    assert session.maps().answer is second
    assert begin().maps().answer is second              # another session
    assert made.count(moved) == 1 and started == []     # moved from the first, none begun anew


def test_the_threshold_changes_only_the_exceedance(state, begin, monkeypatch):
    store = begin().settled()
    monkeypatch.setattr(engine, "quick", None)         # to call it would fail
    before = store.answer
    state.threshold = 4
    low = store.exceedance
    state.threshold = 6
    assert store.answer is before and store.work == ""
    assert (store.exceedance <= low).all() and (store.exceedance < low).any()


def test_results_cannot_be_changed(begin):
    store = begin().maps()
    for array in (store.answer.mean, store.answer.std, store.scene.observed, store.scene.known):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_cancelling_a_fit_shows_its_best_state_and_keeps_it_from_others(state, begin):
    state.likelihood = "negative-binomial"      # no other test learns it, so none has it in store
    session, cancelled = begin(), threading.Event()
    store = session.maps()

    def stop(*events):
        if store.history and not cancelled.is_set():
            cancelled.set()
            store.cancel()

    store.param.watch(stop, "history")
    store.fit()
    session.maps()
    assert cancelled.is_set() and store.answer.kind == "stopped"
    assert store.answer.fit.cancelled
    assert engine.ready(state.spec()).kind == "start"


def test_impossible_requests_are_said_and_the_last_maps_stay(state, begin):
    session = begin()
    before = session.maps().answer
    state.link = "identity"
    store = session.maps()
    assert "needs positive rates" in store.error
    assert store.answer is before
    state.link = "exp"
    assert session.maps().error == ""


def test_the_exact_model_refuses_what_does_not_fit_into_memory(begin):
    store = begin(State(model="aggregated-gp")).settled()
    assert "10,000 are too many" in store.error and "VBAgg" in store.error
    assert store.scene is not None and store.answer is None


def test_keys_are_small_values_only(state):
    spec = state.spec()
    assert hash(engine.fit_spec(spec)) == hash(engine.fit_spec(state.spec()))
    state.threshold, state.area_effect = 6, False
    assert engine.fit_spec(spec) == engine.fit_spec(state.spec())


@pytest.mark.usefixtures("nothing_ready")
def test_the_data_are_shown_before_their_maps(state, begin):
    session, seen = begin(), []
    store = session.settled()
    store.param.watch(lambda *_: seen.append((store.scene, store.answer)), ["scene", "answer"])
    state.granularity = "25"
    session.settled()
    assert [answer is None for _, answer in seen] == [True, False]
    assert seen[0][0] is seen[1][0] is store.scene and store.scene.data.sizes["bag"] == 25


def test_the_next_move_of_a_slider_is_answered_ahead(state, begin):
    session = begin()
    session.settled()
    assert state.neighbours() == []                     # nothing is held yet
    state.variance = stops(state)[7]
    session.settled()
    beside = state.neighbours()
    assert [spec.hyperparameters["linear.variance"] for spec in beside] == [
        stops(state)[8], stops(state)[6]]
    eventually(lambda: all(engine.ready(spec) for spec in beside))
    before = session.store.answer
    state.variance = stops(state)[8]                    # shown before any thread could work
    assert session.store.answer is engine.ready(beside[0]) is not before


def test_the_ends_of_a_slider_have_one_neighbour(state):
    for end in (1, -1):
        state.variance = stops(state)[end]
        assert len(state.neighbours()) == 1


def test_the_area_effect_is_switched_without_a_fit(state, begin, monkeypatch):
    store = begin().settled()
    given, scores = store.answer, store.scores
    monkeypatch.setattr(pipeline, "model_of", None)      # to call it would fail
    state.area_effect = False
    eventually(lambda: not store.answer.area_effect)
    expected = given.fit.at(store.scene.plain, area_effect=False)
    np.testing.assert_allclose(store.answer.mean, expected.mean.values)
    np.testing.assert_allclose(store.exceedance,
                               expected.exceedance(state.spec().threshold).values)
    assert np.abs(store.answer.mean / given.mean - 1).max() > 0.01
    assert store.scores is scores and store.work == ""
    state.area_effect = True
    eventually(lambda: store.answer is given)


def test_a_switch_during_a_fit_neither_stops_nor_loses_it(state, begin):
    state.nugget = 0.1                                  # again what no other test learns
    session = begin()
    store = session.maps()
    store.fit()
    state.area_effect = False
    assert store.fitting
    session.maps()
    eventually(lambda: not store.answer.area_effect)
    assert store.answer.kind == "learnt"
