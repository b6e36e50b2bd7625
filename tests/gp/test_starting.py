"""Where learning starts: said by every model without a search for its posterior."""

from collections import Counter
from dataclasses import fields

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.gp.models.registry import MODELS
from workbench.gp.models.vbagg import state as variational

pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning",
    "ignore:.*bag-constant knows nothing of them:workbench.checks.ExtrapolationWarning")

OPTIONS = {"inducing": 12, "boundary": "half"}
#: Of several starts a fit of these chooses the best, which takes a search for q at each; or it
#: has nothing to search for.
OTHERS = ("mr-gprn", "centre-point-gprn", "bag-constant")


def make(name, **extra):
    allowed = {f.name for f in fields(MODELS[name].options_type)}
    return MODELS[name](**{k: v for k, v in (OPTIONS | extra).items() if k in allowed})


def stopped(model, source):
    """The hyperparameters of a fit that was stopped before its first step."""
    return model.fit(source, callback=made.cancelling(1)[1]).hyperparameters


@pytest.fixture(scope="module")
def source():
    return made.counts(made.bags((4, 3, 6, 2, 5, 4)), scale=2.0)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in OTHERS])
def test_starting_values_are_those_of_a_fit_that_is_stopped_at_its_start(name, source):
    model, new = make(name), made.bags((3, 2), seed=8)
    start = model.starting_values(source)
    found = stopped(model, source)
    before = {each: found[each] for each in start}
    for each, value in start.items():
        assert value["unit"] == before[each]["unit"]
        np.testing.assert_allclose(value["value"], before[each]["value"], rtol=1e-12)
    ours, theirs = (model.condition(source, one).at(new) for one in (start, before))
    np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-6)
    np.testing.assert_allclose(ours.std, theirs.std, rtol=1e-6)


@pytest.mark.parametrize("name", OTHERS)
def test_of_all_models_they_are_what_condition_takes(name, source):
    model = make(name)
    fit = model.condition(source, model.starting_values(source))
    assert fit.hyperparameters == model.starting_values(source)


@pytest.mark.parametrize("options", [
    {}, {"likelihood": "normal"}, {"likelihood": "normal", "link": "identity"},
    {"likelihood": "normal", "average": 4}, {"likelihood": "negative-binomial", "link": "square"},
    {"inducing_inputs": "learnt"}, {"initial": {"mean": 0.3}, "nugget": 0.1},
    {"hyperparameters": {"linear.variance": 0.2}, "kernel": "linear+matern32"},
], ids=str)
def test_so_it_is_with_all_options(options, source):
    model = make("vbagg", **options)
    assert model.starting_values(source) == stopped(model, source)


def test_q_is_searched_for_once_where_all_is_given(source, monkeypatch):
    searched, search = [], variational.optimise

    def counting(objective, mean, covariance, *rest):
        found = search(objective, mean, covariance, *rest)
        searched.append((mean, found))
        return found

    monkeypatch.setattr(variational, "optimise", counting)
    model = make("vbagg")
    start = model.starting_values(source)
    assert searched == []
    fit = model.condition(source, start)
    (_, near), (began, found) = searched        # the second goes on where the first ended
    assert torch.equal(began, near.mean) and found.decrement <= 1e-7 and fit.history.converged
    assert fit.history.objective == [pytest.approx(fit.objective, abs=1e-4)]


def test_clusters_bring_q_near_and_all_individuals_are_projected_once(monkeypatch):
    source = made.counts(made.bags((150,) * 40))
    projected, project = Counter(), variational.project_data

    def counting(field, seen, *rest):
        projected[len(seen.x)] += 1
        return project(field, seen, *rest)

    monkeypatch.setattr(variational, "project_data", counting)
    model = MODELS["vbagg"](inducing=20)
    fit = model.condition(source, model.starting_values(source))
    assert len(projected) == 2 and set(projected.values()) == {1}
    assert projected[6_000] == 1 and fit.state.trained_data is not None
    assert fit.state.learning is fit.state.geometry and fit.history.converged
