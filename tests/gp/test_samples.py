"""The Monte Carlo yardstick: its draws, its gradients, and likelihoods with effects under it."""

import numpy as np
import pytest
import torch
from scipy import stats

from tests.gp import made
from workbench.gp.expectations import BOUNDS
from workbench.gp.expectations.samples import draw
from workbench.gp.fields import geometry
from workbench.gp.likelihoods import Exponential, NegativeBinomial, Poisson
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.numerics.linalg import FactorisationError
from workbench.papers.law2018.gaps import REGIMES, brute_force, view_of_regime

GIVEN = {"mean": 3.0, "matern32.variance": 0.4, "matern32.lengthscale": 15.0}


def conditioned(source, inducing=6):
    return VBAgg(inducing=inducing).condition(source, GIVEN)


def expected_covariance(state, view):
    """Dense covariance of f at the individuals: explained by q, plus the prior's residual."""
    x, features = state.x, view.projection.features
    residual = state.field.prior(x, x) - features @ features.mT
    same = view.operator.bags.membership[:, None] == view.operator.bags.membership
    return features @ state.field.q_covariance @ features.mT + residual * same


@torch.no_grad()
def test_draws_have_the_law_of_q_with_the_residual_inside_bags():
    # Few inducing inputs, so that much of the covariance is residual.
    fit = conditioned(made.counts(made.bags((1, 9, 14))), inducing=2)
    state, view = fit.state, fit.state.project()
    f = draw(view, state.field.q_mean, state.field.q_covariance)
    again = draw(view, state.field.q_mean, state.field.q_covariance)
    assert torch.equal(f, again)        # common random numbers
    mean, variance = view.projection.marginals(state.field.q_mean, state.field.q_covariance)
    assert float(view.residual.diagonal.mean()) > 0.3 * float(variance.mean())
    np.testing.assert_allclose(f.mean(1), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(f.numpy()), expected_covariance(state, view), atol=0.05)


@torch.no_grad()
def test_draws_in_large_bags_keep_every_variance_and_the_bag_s_total(monkeypatch):
    """Where pairs of clusters are kept instead of pairs of individuals."""
    monkeypatch.setattr(geometry, "MOST_PAIRS", 200)
    fit = conditioned(made.counts(made.bags((40, 60))))
    state, view = fit.state, fit.state.project()
    assert view.residual.clusters is not None
    f = draw(view, state.field.q_mean, state.field.q_covariance)
    _, variance = view.projection.marginals(state.field.q_mean, state.field.q_covariance)
    np.testing.assert_allclose(f.var(1), variance, rtol=0.2)
    # The variance of a bag's mean is the quadratic form that the other bounds use.
    share = view.operator.bags.weight / view.operator.bags.totals[view.operator.bags.membership]
    rows = view.sum(share[:, None] * view.projection.features)
    expected = view.sum(share * view.residual.times(share)) + (
        (rows @ state.field.q_covariance) * rows).sum(1)
    np.testing.assert_allclose(view.sum(share[:, None] * f).var(1), expected, rtol=0.15)


def test_gradients_flow_to_hyperparameters():
    state = conditioned(made.counts(made.bags((2, 5)))).state
    q = state.field.q_mean, state.field.q_covariance
    item = state.hyperparameters["matern32.lengthscale"]
    bound = BOUNDS["exp", "monte-carlo"]

    def objective():
        moments = bound.moments(state.project(), *q)
        return Poisson().expected_log_prob(state.source.targets.value, moments).sum()

    item.raw.requires_grad_()
    gradient, = torch.autograd.grad(objective(), item.raw)
    values = []
    with torch.no_grad():
        for step in (1e-5, -1e-5):
            item.raw += step
            values.append(float(objective()))
            item.raw -= step
    assert float(gradient.sum()) == pytest.approx((values[0] - values[1]) / 2e-5, rel=1e-4)


def test_an_indefinite_q_is_refused():
    view = view_of_regime(REGIMES["narrow"], "exp")
    width = view.projection.features.shape[1]
    with pytest.raises(FactorisationError, match="variational covariance"):
        draw(view, torch.zeros(width).double(), -torch.eye(width).double())


def moments(view, link, bound="monte-carlo"):
    width = view.projection.features.shape[1]
    return BOUNDS[link, bound].moments(view, torch.zeros(width).double(), torch.eye(width).double())


@pytest.mark.parametrize("name", ["common", "individual", "heavy weights", "few individuals"])
@pytest.mark.parametrize("link", ["exp", "square"])
def test_likelihoods_on_draws_against_brute_force(link, name):
    """E log p(y | η) of Poisson and negative binomial."""
    view = view_of_regime(REGIMES[name], link)
    got, eta = moments(view, link), brute_force(view, link, 100_000)
    y, r = np.round(1.2 * eta.mean(0)), 6.0
    for expected, value in (
        (stats.poisson.logpmf(y, eta),
         Poisson().expected_log_prob(torch.as_tensor(y), got)),
        (stats.nbinom.logpmf(y, r, r / (r + eta)),
         NegativeBinomial(lambda: torch.tensor(r).double()).expected_log_prob(
             torch.as_tensor(y), got)),
    ):
        spread = expected.std(0)
        error = 4.5 * spread / np.sqrt(len(eta))
        # As many independent draws would have a standard error of 0.0625 of the spread.
        assert (np.abs(value.numpy() - expected.mean(0)) < error + 0.05 * spread).all()


def test_negative_binomial_by_moments_agrees_with_the_yardstick():
    """The default form's Gauss-Hermite quadrature in log η, against draws, in every regime."""
    for name in ("narrow", "common", "individual", "heavy weights", "few individuals"):
        view = view_of_regime(REGIMES[name], "exp")
        y = 1.2 * brute_force(view, "exp", 2000).mean(0).round()
        likelihood = NegativeBinomial(lambda: torch.tensor(6.0).double())
        by_draws, by_moments = (
            likelihood.expected_log_prob(torch.as_tensor(y), moments(view, "exp", bound))
            for bound in ("monte-carlo", "moment"))
        torch.testing.assert_close(by_draws, by_moments, rtol=0, atol=0.05)


@pytest.mark.parametrize("likelihood", [Poisson(), Exponential()])
def test_effects_on_draws_against_brute_force(likelihood):
    """An area effect under exp is exact on draws: E_q log E_a p(y | η e^a), E_a by quadrature."""
    view = view_of_regime(REGIMES["few individuals"], "exp")
    tau = 0.5
    with_effect = type(view)(view.projection, view.operator, view.residual, view.nugget_variance,
                             torch.tensor(tau).double())
    got = moments(with_effect, "exp")
    eta = brute_force(view, "exp", 4000)
    y = torch.as_tensor(np.round(1.3 * eta.mean(0)) + 1.0)
    nodes, weight = np.polynomial.hermite_e.hermegauss(80)
    value = likelihood.expected_log_prob(y, got).numpy()
    for bag in range(len(y)):
        rate = eta[:, bag, None] * np.exp(tau * nodes)
        law = stats.poisson(rate) if isinstance(likelihood, Poisson) else None
        density = stats.expon.pdf(float(y[bag]), scale=rate) if law is None else law.pmf(
            float(y[bag]))
        inner = np.log(density @ weight / np.sqrt(2 * np.pi))
        error = 4.5 * inner.std() / np.sqrt(len(inner))
        assert abs(inner.mean() - value[bag]) < error + 0.05 * inner.std()


@pytest.mark.parametrize("link", ["exp", "square"])
def test_a_model_can_be_trained_on_it(link):
    """Its q is close to that of the default form, where that is accurate (large counts)."""
    source = made.counts(made.bags((3, 5, 4, 6)), scale=3.0)
    given = GIVEN if link == "exp" else {
        "mean": 5.0, "matern32.variance": 4.0, "matern32.lengthscale": 15.0}
    fits = [VBAgg(inducing=6, link=link, bound=bound).condition(source, given)
            for bound in ("default", "monte-carlo")]
    laws = [fit.latent(source.bags) for fit in fits]
    gap = (laws[0].mean - laws[1].mean).abs() / laws[1].std
    assert float(gap.max()) < 0.1
    torch.testing.assert_close(laws[0].std, laws[1].std, rtol=0.1, atol=0)
    assert fits[0].objective == pytest.approx(fits[1].objective, abs=0.1)
