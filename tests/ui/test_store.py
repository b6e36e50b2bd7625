"""The store without a server: parameters in, arrays out, nothing computed twice."""

import threading

import numpy as np
import pytest

import workbench as wb
from workbench.ui import answers
from workbench.ui.state import State
from workbench.ui.store import Store

SMALL = "dataset=simulated-country&granularity=region&kernel=linear"


class Settled:
    """Waits until a store has nothing to do."""

    def __init__(self, store):
        self.store, self._quiet = store, threading.Event()
        store.param.watch(self._look, ["work"])
        self._look()

    def _look(self, *events):
        (self._quiet.clear if self.store.work else self._quiet.set)()

    def wait(self):
        assert self._quiet.wait(90), self.store.work


@pytest.fixture
def state():
    state = State()
    assert state.read(SMALL) == []
    return state


def stops(state):
    return list(state.param.variance.names.values())


def settled(state):
    store = Store(state)
    quiet = Settled(store)
    store.refresh()
    quiet.wait()
    assert store.error == ""
    return store, quiet


def test_the_first_answer_is_that_of_the_public_functions(state):
    store, _ = settled(state)
    assert store.answer.kind == "start" and store.answer.history == ()
    spec = state.spec()
    data = wb.load("simulated-country", level="region")
    given = store.answer.fit.hyperparameters
    fit = wb.make_model(spec.model, **spec.options).condition(data, given)
    np.testing.assert_allclose(store.answer.mean, fit.at(data).mean.values, rtol=1e-4)
    np.testing.assert_allclose(store.exceedance,
                               fit.at(data).exceedance(spec.threshold).values, atol=1e-3)
    assert "constant" in store.scores["model"].values


def test_a_slider_moves_the_fit_and_keeps_the_other_hyperparameters(state):
    store, quiet = settled(state)
    store.fit()
    quiet.wait()
    assert store.answer.kind == "learnt" and len(store.answer.history) > 2
    assert [step for step, _ in store.history] == list(range(1, len(store.history) + 1))
    learnt = store.answer.fit.hyperparameters
    state.variance = stops(state)[12]
    quiet.wait()
    moved = store.answer.fit.hyperparameters
    assert store.answer.kind == "moved"
    assert moved["linear.variance"]["value"] == pytest.approx(state.variance)
    assert moved["area.std"]["value"] == pytest.approx(learnt["area.std"]["value"])


def test_nothing_is_computed_twice(state, monkeypatch):
    store, quiet = settled(state)
    made = []
    real = answers.model_of
    monkeypatch.setattr(answers, "model_of", lambda spec: made.append(spec) or real(spec))
    first = store.answer
    state.variance = stops(state)[3]
    quiet.wait()
    assert len(made) == 1 and store.answer is not first
    state.variance = "learnt"
    quiet.wait()
    assert len(made) == 1 and store.answer is first
    other, _ = settled(state)           # another session
    assert len(made) == 1 and other.answer is first


def test_the_threshold_changes_only_the_exceedance(state, monkeypatch):
    store, _ = settled(state)
    monkeypatch.setattr(answers, "quick", None)      # to call it would fail
    before = store.answer
    state.threshold = 20
    low = store.exceedance
    state.threshold = 100
    assert store.answer is before and store.work == ""
    assert (store.exceedance <= low).all() and (store.exceedance < low).any()


def test_results_cannot_be_changed(state):
    store, _ = settled(state)
    for array in (store.answer.mean, store.answer.std, store.scene.observed, store.scene.known):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_cancelling_a_fit_shows_its_best_state_and_keeps_it_from_others(state):
    state.kernel = "matern32(coordinates)"
    store, quiet = settled(state)
    cancelled = threading.Event()

    def stop(*events):
        if store.history and not cancelled.is_set():
            cancelled.set()
            store.cancel()

    store.param.watch(stop, "history")
    store.fit()
    quiet.wait()
    assert cancelled.is_set() and store.answer.kind == "stopped"
    assert store.answer.fit.cancelled
    assert answers.ready(state.spec()).kind == "start"


def test_impossible_requests_are_said_and_the_last_maps_stay(state):
    store, quiet = settled(state)
    before = store.answer
    state.link = "identity"
    quiet.wait()
    assert "needs positive rates" in store.error
    assert store.answer is before
    state.link = "exp"
    quiet.wait()
    assert store.error == ""


def test_the_exact_model_refuses_what_does_not_fit_into_memory():
    state = State(model="aggregated-gp")
    store = Store(state)
    quiet = Settled(store)
    store.refresh()
    quiet.wait()
    assert "10,000 are too many" in store.error and "VBAgg" in store.error


def test_keys_are_small_values_only(state):
    spec = state.spec()
    assert hash(answers.answer_spec(spec)) == hash(answers.answer_spec(state.spec()))
    state.threshold = 100
    assert answers.answer_spec(spec) == answers.answer_spec(state.spec())
