"""Expected log-probabilities against numerical integration and Monte Carlo."""

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, special, stats

from tests.torch import made
from workbench.checks import InputError
from workbench.likelihoods import (
    BagMoments,
    NegativeBinomial,
    Normal,
    Poisson,
    effect_posterior,
    poisson_lognormal,
    require_counts,
)
from workbench.models.assembly import NoiseModel, noise_factor


def t(*values):
    return torch.tensor(values, dtype=torch.float64)


def log_integral(y, log_rate, tau):
    """Log ∫ Poisson(y | exp(log_rate + a)) N(a; 0, tau²) da by adaptive quadrature."""

    def log_integrand(a):
        rate = log_rate + a
        return (y * rate - np.exp(rate) - special.gammaln(y + 1)
                + stats.norm.logpdf(a, scale=tau))

    mode = optimize.minimize_scalar(lambda a: -log_integrand(a), bracket=(-tau, tau),
                                    tol=1e-13).x
    width = 1 / np.sqrt(np.exp(log_rate + mode) + tau**-2)
    top = log_integrand(mode)
    value, error = integrate.quad(lambda a: np.exp(log_integrand(a) - top), mode - 14 * width,
                                  mode + 14 * width, epsabs=0, epsrel=1e-11, limit=400)
    assert error < 1e-9 * value
    return top + np.log(value)


@pytest.mark.parametrize("tau", [0.01, 0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("y", [0, 3, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("shift", [-2.0, 0.0, 2.0])
def test_poisson_lognormal_is_the_integral(y, tau, shift):
    log_rate = np.log(y + 0.5) + shift * max(tau, 0.1)
    got = float(poisson_lognormal(t(y), t(log_rate), t(tau**2)))
    # Twelve nodes: exact but for few counts with a very wide effect (a skewed integrand).
    assert got == pytest.approx(log_integral(y, log_rate, tau), abs=5e-4 if tau == 2 else 5e-6)


@pytest.mark.parametrize("y", [0.0, 3.0, 1e4])
@pytest.mark.parametrize("tau", [0.05, 0.5, 1.5])
def test_gradient_of_poisson_lognormal(y, tau):
    """The derivative of log ∫ is an expectation under the posterior of a."""
    log_rate, variance = np.log(y + 0.5) + 0.3, tau**2
    inputs = t(log_rate).requires_grad_(), t(variance).requires_grad_()
    got = torch.autograd.grad(poisson_lognormal(t(y), *inputs).sum(), inputs)

    def integral(g, v):
        return log_integral(y, g, np.sqrt(v))

    step = 1e-4
    slope = (integral(log_rate + step, variance) - integral(log_rate - step, variance)) / 2 / step
    assert float(got[0]) == pytest.approx(slope, rel=2e-3, abs=2e-4)
    step = 1e-3 * variance
    slope = (integral(log_rate, variance + step) - integral(log_rate, variance - step)) / 2 / step
    assert float(got[1]) == pytest.approx(slope, rel=5e-3, abs=5e-4)


def test_poisson_lognormal_without_effect_is_poisson():
    y, g = t(0, 4, 200.0), t(-1.0, 1.2, 5.2)
    got = poisson_lognormal(y, g, torch.zeros(3).double())
    np.testing.assert_allclose(got, stats.poisson.logpmf(y, g.exp()), atol=1e-6)


def test_effect_posterior_solves_its_equation():
    y, g, v = t(0, 3, 1e7, 0, 50), t(2.0, 0.0, 16.0, -30.0, 20.0), t(0.5, 4.0, 0.01, 1.0, 0.3)
    mode, precision = effect_posterior(y, g, v)
    np.testing.assert_allclose((y - (g + mode).exp() - mode / v) / precision, 0, atol=1e-8)
    np.testing.assert_allclose(precision, (g + mode).exp() + 1 / v)


MOMENTS = [(5.0, 0.3), (400.0, 0.05), (0.4, 0.8)]


def moments(mean, log_std, effect=None):
    variance = mean**2 * np.expm1(log_std**2)
    return BagMoments(t(mean), t(variance), t(np.log(mean) - log_std**2 / 2),
                      None if effect is None else t(effect))


def draws(mean, log_std, count=200_000):
    normal = np.random.default_rng(0).standard_normal(count)
    return np.exp(np.log(mean) - log_std**2 / 2 + log_std * normal)


def assert_mean(values, expected, extra=0.0):
    error = values.std(ddof=1) / np.sqrt(values.size)
    assert abs(values.mean() - float(expected)) < 4.5 * error + extra


@pytest.mark.parametrize("mean, log_std", MOMENTS)
@pytest.mark.parametrize("ratio", [0.0, 0.7, 1.5])
def test_expected_log_probabilities_against_monte_carlo(mean, log_std, ratio):
    y = float(round(ratio * mean))
    law, eta = moments(mean, log_std), draws(mean, log_std)
    assert_mean(stats.poisson.logpmf(y, eta), Poisson().expected_log_prob(t(y), law))
    r = 7.0
    assert_mean(stats.nbinom.logpmf(y, r, r / (r + eta)),
                NegativeBinomial(lambda: t(r)[0]).expected_log_prob(t(y), law))
    assert_mean(stats.norm.logpdf(y, eta, 2.0), Normal(lambda: t(4.0)).expected_log_prob(t(y), law))


@pytest.mark.parametrize("mean, log_std", MOMENTS)
def test_poisson_with_effect_against_monte_carlo(mean, log_std):
    y, effect = float(round(1.4 * mean)), 0.3
    eta = draws(mean, log_std, 4000)
    inner = poisson_lognormal(t(y), torch.as_tensor(np.log(eta)), t(effect)).numpy()
    got = Poisson().expected_log_prob(t(y), moments(mean, log_std, effect))
    assert_mean(inner, got)
    # And the inner integral once more, by brute force over the effect.
    a = np.random.default_rng(1).normal(0, np.sqrt(effect), 400_000)
    g = np.log(mean)
    likelihood = stats.poisson.pmf(y, np.exp(g + a))
    assert_mean(likelihood, poisson_lognormal(t(y), t(g), t(effect)).exp())


def test_negative_binomial_with_large_dispersion_is_poisson():
    law = moments(30.0, 0.2)
    got = NegativeBinomial(lambda: t(1e7)[0]).expected_log_prob(t(25.0), law)
    assert float(got) == pytest.approx(float(Poisson().expected_log_prob(t(25.0), law)), abs=1e-3)


def test_counts_drawn_have_the_right_mean_and_variance():
    mean, r, n = 40.0, 5.0, 200_000
    generator = np.random.default_rng(0)
    parameter = torch.full((n,), mean).double()
    poisson = Poisson().sample(parameter, generator).numpy()
    negative = NegativeBinomial(lambda: t(r)[0]).sample(parameter, generator).numpy()
    for values, variance in ((poisson, mean), (negative, mean + mean**2 / r)):
        assert_mean(values, mean)
        assert_mean(np.square(values - mean), variance)


def test_noise_conventions():
    """Law 2018 notes, section 3: N_a σ² for a sum, σ²/N_a for a mean; σ² and V_a as they are."""
    bags = made.bags((3, 5, 1))
    totals = bags.totals
    expect = {
        ("constant", "sum"): t(1, 1, 1), ("constant", "mean"): t(1, 1, 1),
        ("size", "sum"): t(3, 5, 1), ("size", "mean"): 1 / t(3, 5, 1),
        ("weight", "sum"): totals / 2.0, ("weight", "mean"): 2.0 / totals,
    }
    for (convention, aggregation), factor in expect.items():
        torch.testing.assert_close(noise_factor(convention, bags, aggregation, 2.0), factor)


def test_known_variances_are_used_for_the_bags_they_belong_to():
    bags = made.bags((3, 5, 1))
    source = made.continuous(bags, known=[0.1, 0.2, 0.3])
    noise = NoiseModel("known", source)
    assert noise().tolist() == [0.1, 0.2, 0.3]
    torch.testing.assert_close(noise.std(bags).square(), t(0.1, 0.2, 0.3))
    with pytest.raises(InputError, match="noise variance for bags outside the training data"):
        noise.std(made.bags((3, 5)))
    with pytest.raises(InputError, match="noise variance for bags outside the training data"):
        noise.std(bags.singletons())
    elsewhere = made.bags((2, 2, 2))
    object.__setattr__(elsewhere, "names", ("u", "v", "w"))
    with pytest.raises(InputError, match="noise variance for bags outside the training data"):
        noise.std(elsewhere)     # as many bags, but others
    with pytest.raises(InputError, match="positive noise_variance"):
        NoiseModel("known", made.continuous(bags, known=[0.1, 0.0, 0.3]))
    with pytest.raises(InputError, match="positive noise_variance"):
        NoiseModel("known", made.continuous(bags))


def test_counts_must_be_counts():
    require_counts(t(0, 2.5, 1e7))
    with pytest.raises(InputError, match="2 counts are negative or not finite.*bag 1"):
        require_counts(t(1, -1, np.nan))


def test_identity_link_has_no_log_mean():
    for likelihood in (Poisson(), NegativeBinomial(lambda: t(1.0)[0])):
        with pytest.raises(InputError, match="link='exp' or link='square'"):
            likelihood.expected_log_prob(t(1.0), BagMoments(t(1.0), t(1.0)))
