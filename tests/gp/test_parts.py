"""Bags worked through in parts: objective, gradients and fit are those of all bags together."""

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.gp.inference import parts
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.labelled.source import to_source

CASES = {
    "exp with effects": {"link": "exp", "overdispersion": "area", "nugget": "learn"},
    "square": {"link": "square", "overdispersion": "none", "nugget": 0.0},
    "negative binomial": {"link": "exp", "likelihood": "negative-binomial"},
    "clusters": {"link": "exp", "compress": 3},
}
GIVEN = {"kernel": "linear+rbf", "inducing": 15}

pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")


@pytest.fixture(scope="module")
def ds():
    return wb.load("swiss-roll", n_bags=16, mean_size=20, size_std=8)


def evaluated(ds, options):
    state = VariationalState(VBAgg(**GIVEN | options), to_source(ds))
    value = state.profile()
    value.backward()
    return state, float(value.detach()), state.hyperparameters.gradient()


@pytest.mark.parametrize("name", CASES)
def test_value_gradient_and_fit_are_those_of_all_bags(ds, monkeypatch, name):
    state, value, gradient = evaluated(ds, CASES[name])
    few = GIVEN | CASES[name] | {"max_steps": 12}
    fit = wb.VBAgg(**few).fit(ds)
    assert not isinstance(parts.seen_in_learning(state), parts.Parts)
    monkeypatch.setattr(parts, "ENTRIES", 1_000)
    state, again, slopes = evaluated(ds, CASES[name])
    seen = parts.seen_in_learning(state)
    assert len(seen.bags) > 3 and [one.start for one in seen.bags[1:]] == [
        one.stop for one in seen.bags[:-1]]
    assert again == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-5, atol=1e-6)
    other = wb.VBAgg(**few).fit(ds)
    assert other.objective == pytest.approx(fit.objective, abs=1e-4)
    np.testing.assert_allclose(other.at(ds).mean, fit.at(ds).mean, rtol=1e-3)


def test_inducing_inputs_are_learnt_in_parts_as_well(ds, monkeypatch):
    options = {"kernel": "rbf", "inducing": 8, "max_steps": 6, "inducing_inputs": "learnt"}
    fit = wb.VBAgg(**options).fit(ds)
    monkeypatch.setattr(parts, "ENTRIES", 1_000)
    again = wb.VBAgg(**options).fit(ds)
    assert again.objective == pytest.approx(fit.objective, abs=1e-3)
    for one, other in zip(again.inner.state.field.inducing, fit.inner.state.field.inducing,
                          strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-3)


def test_sampled_moments_are_seen_together(ds, monkeypatch):
    monkeypatch.setattr(parts, "ENTRIES", 1_000)
    state = VariationalState(VBAgg(kernel="rbf", bound="monte-carlo"), to_source(ds))
    assert not isinstance(parts.seen_in_learning(state), parts.Parts)


def test_what_a_part_needs_is_freed_before_the_next():
    x, alive, most = torch.ones(3, requires_grad=True), [], []

    class Kept(torch.autograd.Function):
        """Notes how many graphs are alive at once."""

        @staticmethod
        def forward(ctx, value):
            alive.append(1)
            most.append(len(alive))
            return value.clone()

        @staticmethod
        def backward(ctx, gradient):
            alive.pop()
            return gradient

    terms = [lambda k=k: (Kept.apply(x) * k).sum() for k in range(1, 5)]
    total = parts.summed(terms, [x])
    total.backward()
    assert float(total.detach()) == 30 and x.grad.tolist() == [10.0] * 3 and max(most) == 1
    with torch.no_grad():
        assert float(parts.summed(terms, [x])) == 30


def test_observations_with_a_noise_of_their_own_are_seen_together(ds, monkeypatch):
    monkeypatch.setattr(parts, "ENTRIES", 1_000)
    state = VariationalState(VBAgg(kernel="rbf", link="identity", likelihood="normal"),
                             to_source(ds))
    assert not isinstance(parts.seen_in_learning(state), parts.Parts)
