"""Training: the closed form of q, natural gradients that find the same, and what memory allows."""

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.gp.fields.projected import aggregated_data
from workbench.gp.inference.collapsed import collapsed
from workbench.gp.inference.trainers import ascend
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")

NORMAL = dict(likelihood="normal", link="identity", inducing=8)


@pytest.fixture(scope="module")
def counts():
    return made.counts(made.bags((6,) * 25), scale=20.0)


@pytest.mark.parametrize("trust", [1.0, 0.3])
def test_closed_form_is_the_optimum_of_natural_gradients(counts, trust):
    from dataclasses import replace

    source = replace(counts, trust=trust)
    fit = VBAgg(max_steps=5, **NORMAL).fit(source)
    state = fit.state
    state.field.set_q(*state.narrow())
    state.optimise_q(state.project().detach())
    value, mean, covariance = collapsed(
        state.project().aggregated(), state.source.targets.value, state.likelihood.variance(),
        trust)
    assert float(value.detach()) == pytest.approx(fit.objective, abs=1e-8)
    torch.testing.assert_close(mean.detach(), state.field.q_mean, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(covariance.detach(), state.field.q_covariance, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("noise", [1.0, 1e-6, 1e-10])
def test_the_closed_form_keeps_its_digits_where_noise_is_small(counts, noise):
    """Beside the covariance of the areas, from which nothing is subtracted."""
    state = VBAgg(**NORMAL | {"inducing": 60}).fit(counts).state
    view = state.project().detach()
    y, variance = state.source.targets.value, torch.full((25,), noise, dtype=torch.float64)

    def expected(v):
        rows = view.operator.rows(view.projection.features)
        residual = view.operator(view.residual.times(view.operator.coefficients()))
        whole = torch.distributions.MultivariateNormal(
            view.operator(view.projection.offset), rows @ rows.mT + torch.diag(v))
        return whole.log_prob(y) - 0.5 * (residual / v).sum()

    given, own = (variance.clone().requires_grad_() for _ in range(2))
    value, right = collapsed(view.aggregated(), y, given)[0], expected(own)
    value.backward()
    right.backward()
    assert float(value.detach()) == pytest.approx(float(right.detach()), rel=1e-9)
    torch.testing.assert_close(given.grad, own.grad, rtol=1e-5, atol=1e-5 / noise)


def test_collapsed_trains_to_the_same_hyperparameters(counts):
    closed = VBAgg(tolerance=1e-10, **NORMAL).fit(counts)
    state = VariationalState(VBAgg(tolerance=1e-10, **NORMAL), counts)
    history = ascend(state, False, None)            # q by natural gradients
    assert max(history.objective) == pytest.approx(max(closed.history.objective), abs=1e-3)
    for name, entry in closed.hyperparameters.items():
        assert state.hyperparameters[name].report()["value"] == pytest.approx(
            entry["value"], rel=0.01)


def test_predictions_in_parts_are_those_of_the_whole(counts, monkeypatch):
    fit = VBAgg(inducing=8, overdispersion="area", max_steps=5).fit(counts)
    known = torch.arange(25)
    laws = [(fit.at(counts.bags, known, True), fit.over(counts.bags, known, True),
             fit.over(counts.bags))]
    monkeypatch.setattr("workbench.gp.models.vbagg.fit.MOST_FEATURES", 8 * 13)
    laws.append((fit.at(counts.bags, known, True), fit.over(counts.bags, known, True),
                 fit.over(counts.bags)))
    for whole, parts in zip(*laws, strict=True):
        torch.testing.assert_close(parts.mean, whole.mean)
        torch.testing.assert_close(parts.variance, whole.variance)
    draws = fit.simulate_individuals(counts.bags, known, 4000, seed=0)
    assert draws.shape == (4000, 150)
    at = fit.at(counts.bags, known, True)
    expected = at.mean * counts.bags.weight
    spread = (at.variance * counts.bags.weight.square() + expected).sqrt()
    assert ((draws.mean(0) - expected).abs() < 6 * spread / 4000**0.5 + 0.02 * expected).all()


def test_features_beyond_memory_are_not_kept(counts, monkeypatch):
    monkeypatch.setattr("workbench.gp.models.vbagg.state.MOST_FEATURES", 100)
    fit = VBAgg(inducing=8, max_steps=5).fit(counts)
    assert fit.state.trained_data is None
    assert np.isfinite(fit.objective)


def test_all_individuals_are_never_seen_at_once_beyond_memory(counts, monkeypatch):
    monkeypatch.setattr("workbench.gp.models.vbagg.state.MOST_FEATURES", 100)
    monkeypatch.setattr("workbench.gp.models.vbagg.fit.MOST_FEATURES", 100)
    monkeypatch.setattr("workbench.gp.models.vbagg.design.SMALL", 10)

    project = VariationalState.project

    def some_at_a_time(self, geometry=None):
        whole = geometry is None or geometry is self.geometry
        assert not whole, "features of all individuals at once"
        return project(self, geometry)

    monkeypatch.setattr(VariationalState, "project", some_at_a_time)
    fit = VBAgg(inducing=8, compress=2, max_steps=5).fit(counts)
    state = fit.state
    expected = state.objective(state.project(state.learning), state.field.q_mean,
                               state.field.q_covariance)
    assert fit.objective == pytest.approx(float(expected.detach()))
    assert any("q was found on the clusters" in note for note in fit.history.notes)
    assert torch.isfinite(fit.at(counts.bags).mean).all()
    assert torch.isfinite(fit.over(counts.bags).variance).all()


@pytest.mark.parametrize("learnt", [True, False])
def test_where_nothing_is_learnt_no_gradients_are_kept_of_all_individuals(monkeypatch, learnt):
    """They took three times the memory of the map itself."""
    source, kept = made.continuous(made.bags((4, 5, 6))), []
    monkeypatch.setattr("workbench.gp.inference.trainers.aggregated_data", lambda *given: (
        kept.append(torch.is_grad_enabled()) or aggregated_data(*given)))
    model = VBAgg(kernel="rbf", max_steps=3, **NORMAL)
    if learnt:
        model.fit(source)
    else:
        model.condition(source, {one.name: one.report()["value"]
                                 for one in VariationalState(model, source).hyperparameters})
    assert any(kept) == learnt
