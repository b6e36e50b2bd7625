"""The network with exp(W): closed-form moments against quadrature and draws, updates, limits."""

import math

import numpy as np
import pytest
import torch

from tests.gp.test_multisource import X, brute_draws, noisy, points, random_q, source
from workbench.gp.models.several_sources.gprn import MRGPRN
from workbench.gp.models.several_sources.gprn_state import GPRNState
from workbench.gp.models.several_sources.products import (
    Moments,
    at,
    bag_mean,
    bag_variance,
    exponential,
)
from workbench.gp.models.several_sources.updates import optimise_q

pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")


@pytest.fixture(scope="module")
def pair():
    y = noisy(0)
    return [source(X, y, 1, "points"), source(X, y, 3, "aggregates")]


def test_moments_of_exponentials_match_quadrature():
    """Two correlated Gaussians, 60 Gauss-Hermite nodes for each."""
    mean, covariance = torch.tensor([0.3, -0.5]).double(), torch.tensor(
        [[0.5, 0.35], [0.35, 0.8]]).double()
    found = exponential(Moments([mean[None]], [covariance[None]]))
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    white = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), -1).reshape(-1, 2)
    share = np.outer(weights, weights).reshape(-1) / (2 * math.pi)
    values = np.exp(mean.numpy() + white @ np.linalg.cholesky(covariance.numpy()).T)
    first = share @ values
    second = (values * share[:, None]).T @ values - np.outer(first, first)
    np.testing.assert_allclose(found.mean[0][0], first, rtol=1e-10)
    np.testing.assert_allclose(found.covariance[0][0], second, rtol=1e-9)


def test_moments_and_expected_log_likelihood_match_monte_carlo():
    """Two bases, ragged bags: E and Var of a bag's value, and E log p of its observation."""
    rng, x = np.random.default_rng(5), np.linspace(0, 5, 12)
    one = source(x, 2 + np.cos(x), 3, "a", weight=rng.uniform(0.5, 2, 12))
    state = GPRNState(MRGPRN(kernel="rbf", latent=2, inducing=4, weights="exp"), [one])
    q, seen, samples = random_q(state, 3), state.full[0], 50_000
    draws = brute_draws(state, seen, q, 0, samples, rng, torch.exp)
    found = at(state.projections(seen), q)
    factors = state.factors(seen, found)
    mean, variance = bag_mean(seen.pairs, *factors), bag_variance(seen.pairs, *factors)
    assert ((draws.mean(0) - mean).abs() < 5 * draws.std(0) / math.sqrt(samples)).all()
    fourth = (draws - draws.mean(0)).pow(4).mean(0)
    spread = ((fourth - draws.var(0)**2) / samples).sqrt()
    assert ((draws.var(0) - variance).abs() < 5 * spread).all()
    scale, level = state.sources.scale[0], state.means[0].natural.detach()
    noise = seen.part.noise().detach().sqrt()
    logs = torch.distributions.Normal(level * seen.ones + scale * draws, noise).log_prob(
        seen.part.value).sum(1)
    error = float(logs.std()) / math.sqrt(samples)
    assert abs(float(state.expected(seen, found).detach()) - float(logs.mean())) < 5 * error


def test_rounds_never_lower_the_bound(pair):
    state = GPRNState(MRGPRN(kernel="rbf", inducing=10, latent=2, weights="exp"), pair)
    projections = [{g: s.detach() for g, s in state.projections(seen).items()}
                   for seen in state.full]
    reached = [float(state.bound(state.full, state.q).detach())]
    for _ in range(4):
        optimise_q(state, state.full, projections, rounds=2)
        reached.append(float(state.bound(state.full, state.q).detach()))
    assert (np.diff(reached) > -1e-8 * np.abs(reached[1:])).all()
    assert reached[-1] > reached[0] + 10


def test_exponents_near_zero_are_the_multi_resolution_gp(pair):
    """exp(W) with a W of no variance is one."""
    noise = {"points.noise.variance": 0.3, "aggregates.noise.variance": 0.1}
    common = {"mean": 2.0, "f.rbf.variance": 1.2, "f.rbf.lengthscale": 1.0, **noise}
    exp = MRGPRN(kernel="rbf", weights="exp", inducing=60).condition(
        pair, {**common, "w.rbf.variance": 1e-8, "w.rbf.lengthscale": 3.0})
    one = MRGPRN(kernel="rbf", weights="constant", inducing=60).condition(
        pair, {**common, "weight": 1.0})
    new = points(np.linspace(0, 10, 20))
    assert exp.objective == pytest.approx(one.objective, abs=1e-3)
    torch.testing.assert_close(exp.at(new).mean, one.at(new).mean, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(exp.at(new).std, one.at(new).std, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_predictions_match_joint_draws_and_tasks_have_one_sign():
    x = np.linspace(0, 6, 30)
    sources = [source(x, np.cos(2 * x), 1, "a", "one"),
               source(x, 3 + np.cos(2 * x) * (1 + x), 3, "b", "two")]
    fit = MRGPRN(kernel="rbf", inducing=9, max_steps=3, tolerance=1e-2, weights="exp").fit(sources)
    new = points(np.linspace(0.5, 5.5, 9))
    for task in ("one", "two"):
        predicted, draws = fit.at(new, task=task), fit.draw(new, 20_000, 1, task)
        assert ((draws.mean(0) - predicted.mean).abs()
                < 6 * predicted.std / math.sqrt(20_000)).all()
        torch.testing.assert_close(draws.std(0), predicted.std, rtol=0.1, atol=1e-4)
    values = fit.hyperparameters
    same = [(fit.draw(new, 50, 2, task) - values[f"{task}.mean"]["value"]).sign()
            for task in ("one", "two")]
    torch.testing.assert_close(*same)
