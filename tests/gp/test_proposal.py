"""Proposals: draws follow their densities, and weights turn them into draws of another law."""

import numpy as np
import pytest
from scipy.integrate import quad, trapezoid
from scipy.stats import kstest, multivariate_normal

from workbench.gp.models.vbagg.proposal import (
    Kernels,
    SplitT,
    effective_number,
    importance_weights,
    spread_points,
)

ONE = SplitT(np.array([0.3]), np.array([[0.7]]), np.array([[2.0], [0.5]]))
TWO = SplitT(np.array([1.0, -1.0]), np.array([[1.0, 0.4], [0.2, 0.8]]),
             np.array([[1.5, 1.0], [0.7, 1.2]]))


def density(law):
    return lambda x: float(np.exp(law.log_density(np.array([[x]])))[0])


@pytest.mark.parametrize("law", [
    ONE, Kernels(np.array([[0.0], [2.0], [5.0]]), np.array([0.2, 0.5, 0.3]), ONE)])
def test_draws_follow_the_density(law):
    assert quad(density(law), -400, 400, points=(0.3, 5), limit=300)[0] == pytest.approx(1, 1e-4)
    uniform = np.random.default_rng(0).uniform(size=(4000, law.width))
    grid = np.linspace(-60, 60, 40_001)
    heights = np.exp(law.log_density(grid[:, None]))
    cdf = np.cumsum(heights) * (grid[1] - grid[0])
    result = kstest(law.draw(uniform)[:, 0], lambda x: np.interp(x, grid, cdf))
    assert result.pvalue > 1e-3


def test_scales_are_those_of_their_sides():
    """The quartiles of each side are the scale times Student's upper quartile."""
    draws = ONE.draw(np.linspace(0.5, 9999.5, 10_000)[:, None] / 1e4)[:, 0] - 0.3
    below, above = -np.median(draws[draws < 0]), np.median(draws[draws > 0])
    assert below / above == pytest.approx(4, rel=0.01)
    assert (draws < 0).mean() == pytest.approx(0.8, abs=0.001)


def test_the_density_of_two_dimensions_is_one_in_all():
    x = np.linspace(-30, 30, 601)
    points = np.stack(np.meshgrid(x, x, indexing="ij"), -1).reshape(-1, 2)
    for law in (TWO, Kernels(np.array([[0.0, 1.0], [2.0, 2.0]]), np.array([0.5, 0.5]), TWO)):
        heights = np.exp(law.log_density(points)).reshape(601, 601)
        assert trapezoid(trapezoid(heights, x), x) == pytest.approx(1, abs=2e-3)


def test_weighted_draws_of_two_proposals_have_the_moments_of_the_target():
    target = multivariate_normal([0.5, -0.5], [[1.0, 0.6], [0.6, 0.8]])
    first = spread_points(TWO, 256, seed=1)
    weights, tail = importance_weights(target.logpdf(first), first, [(256, TWO)])
    assert weights.sum() == pytest.approx(1)
    assert tail < 0.7
    law = Kernels(first, weights, TWO)
    points = np.vstack([first, spread_points(law, 256, seed=2)])
    weights, _ = importance_weights(target.logpdf(points), points, [(256, TWO), (256, law)])
    size = effective_number(weights)
    assert size > 200
    error = 3 / size ** 0.5
    mean = weights @ points
    np.testing.assert_allclose(mean, target.mean, atol=error)
    spread = (points - mean).T @ ((points - mean) * weights[:, None])
    np.testing.assert_allclose(spread, target.cov, atol=2 ** 0.5 * error)


def test_a_proposal_that_is_too_narrow_has_a_heavy_tail():
    narrow = SplitT(np.zeros(6), 0.15 * np.eye(6), np.ones((2, 6)))
    points = spread_points(narrow, 256, seed=0)
    _, tail = importance_weights(-0.5 * np.square(points).sum(1), points, [(256, narrow)])
    assert tail > 0.7


def test_points_without_a_density_have_no_weight():
    points = spread_points(ONE, 32, seed=0)
    logs = ONE.log_density(points)
    logs[::4] = -np.inf
    weights, _ = importance_weights(logs, points, [(32, ONE)])
    assert (weights[::4] == 0).all()
    np.testing.assert_allclose(weights[weights > 0], 1 / 24)
