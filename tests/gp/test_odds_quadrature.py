"""Effects on log-odds and probits, integrated out by quadrature: against a fine grid."""

import itertools

import numpy as np
import pytest
import torch
from scipy import optimize, special

from workbench.gp.likelihoods.odds_quadrature import binomial_normal, effect_posterior

LOG_PSI = {"logit": special.log_expit, "probit": special.log_ndtr}


def on_grid(y, n, centre, variance, link) -> tuple[float, ...]:
    """Log of the integral, E a and Var a, E ψ and Var ψ: on a grid about the mode."""
    log_psi, std = LOG_PSI[link], np.sqrt(variance)

    def log(a):
        z = centre + a
        return y * log_psi(z) + (n - y) * log_psi(-z) - a**2 / (2 * variance)

    mode = optimize.minimize_scalar(lambda a: -log(a), (-std, std), tol=1e-10).x
    a = mode + np.linspace(-10 * std, 10 * std, 20_001)
    inside, psi = np.exp(log(a) - log(mode)), np.exp(log_psi(centre + a))
    whole = np.trapezoid(inside, a)

    def mean(of):
        return np.trapezoid(inside * of, a) / whole

    spread = mean((a - mean(a))**2), mean((psi - mean(psi))**2)
    return (np.log(whole) + log(mode) - 0.5 * np.log(2 * np.pi * variance), mean(a), spread[0],
            mean(psi), spread[1])


def cases(*variances):
    return [torch.tensor(column, dtype=torch.float64) for column in zip(*(
        (float(y), float(n), c, v) for v, n, c in itertools.product(
            variances, (1, 7, 60, 1000), (-4.0, -1.5, 0.3, 2.0))
        for y in sorted({0, 1, n // 3, n})), strict=True)]


@pytest.mark.parametrize(("link", "variances", "error"), [
    ("logit", (1e-3, 0.05, 0.5), 1e-6), ("logit", (2.0, 9.0), 2e-5),
    ("probit", (1e-3, 0.05), 1e-6), ("probit", (0.3, 1.0), 1e-4)])
def test_the_integral_and_what_the_effect_is_are_those_of_a_grid(link, variances, error):
    given = cases(*variances)
    wanted = np.array([on_grid(*(float(v) for v in one), link)
                       for one in zip(*given, strict=True)]).T
    np.testing.assert_allclose(binomial_normal(*given, link), wanted[0], atol=error)
    location, scale, gain = effect_posterior(*given, link)
    np.testing.assert_allclose(gain, 1 - wanted[2] / given[3].numpy(), atol=300 * error)
    points, weights = np.polynomial.hermite_e.hermegauss(80)
    z = (given[2] + location).numpy()[:, None] + scale.numpy()[:, None] * points
    psi, weights = np.exp(LOG_PSI[link](z)), weights / weights.sum()
    mean = psi @ weights
    std = np.sqrt(np.square(psi - mean[:, None]) @ weights)
    np.testing.assert_allclose(mean, wanted[3], rtol=2e-3, atol=1e-6)
    np.testing.assert_allclose(std, np.sqrt(wanted[4]), rtol=1e-2, atol=1e-6)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_its_derivatives_are_those_of_differences(link):
    y, n, centre, variance = cases(0.05, 0.8)
    free = centre.requires_grad_(), variance.requires_grad_()
    found = torch.autograd.grad(binomial_normal(y, n, *free, link).sum(), free)
    with torch.no_grad():
        for k, h in ((0, 1e-3), (1, 1e-3 * variance)):
            more, less = ([one + sign * h if j == k else one for j, one in enumerate(free)]
                          for sign in (1, -1))
            slope = (binomial_normal(y, n, *more, link) - binomial_normal(y, n, *less, link))
            np.testing.assert_allclose(found[k], slope / (2 * h), rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_nobody_tested_leaves_the_prior_and_no_variance_the_centre(link):
    zero, one, c = (torch.tensor(v).double() for v in ([0.0] * 3, [1.0] * 3, [-3.0, 0.0, 2.0]))
    np.testing.assert_allclose(binomial_normal(zero, zero, c, one, link), 0, atol=1e-7)
    location, scale, gain = effect_posterior(zero, zero, c, one, link)
    np.testing.assert_allclose(location, 0, atol=2e-3)
    np.testing.assert_allclose(scale, 1, atol=2e-3)
    np.testing.assert_allclose(gain, 0, atol=1e-6)
    alone = 3 * LOG_PSI[link](c.numpy()) + 5 * LOG_PSI[link](-c.numpy())
    np.testing.assert_allclose(binomial_normal(3 * one, 8 * one, c, zero, link), alone, atol=1e-6)
    # Far from what the values say the search for the middle of the nodes stays between its bounds.
    far = torch.tensor([-60.0, 60.0]).double()
    found = binomial_normal(torch.tensor([900.0, 0]).double(), torch.full((2,), 1000.0).double(),
                            far, torch.full((2,), 4.0).double(), link)
    assert torch.isfinite(found).all()
