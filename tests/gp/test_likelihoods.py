"""Expected log-probabilities against numerical integration and Monte Carlo."""

import numpy as np
import pytest
import torch
from scipy import integrate, optimize, special, stats

from tests.gp import made
from workbench.checks import InputError
from workbench.gp.data.bags import Bags, Columns
from workbench.gp.expectations import BOUNDS
from workbench.gp.likelihoods import (
    BagMoments,
    Binomial,
    Exponential,
    NegativeBinomial,
    Normal,
    Poisson,
    Units,
    binomial_log_prob,
    effect_mode,
    effect_posterior,
    exponential_lognormal,
    poisson_lognormal,
    require_counts,
    require_positive,
)
from workbench.gp.likelihoods.noise import NoiseModel, noise_factor
from workbench.papers.law2018.gaps import REGIMES, brute_force, explicit_view, view_of_regime


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


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")   # its error is asserted
@pytest.mark.parametrize("tau", [0.01, 0.1, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("y", [0, 1, 3, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("shift", [-4.0, -2.0, 0.0, 2.0, 4.0])
def test_poisson_lognormal_is_the_integral(y, tau, shift):
    log_rate = np.log(y + 0.5) + shift * max(tau, 0.1)
    got = float(poisson_lognormal(t(y), t(log_rate), t(tau**2)))
    # Of a million, rounding: terms of 1e7 cancel, here and in the integral itself.
    assert got == pytest.approx(log_integral(y, log_rate, tau), abs=3e-8 if y < 1e5 else 1e-7)


def test_poisson_lognormal_sums_to_one_and_stays_finite_at_the_ends():
    y = torch.arange(20_000).double()
    for rate, variance in ((0.5, 4.0), (2.0, 9.0)):
        mass = poisson_lognormal(y, t(np.log(rate)), t(variance)).exp()
        beyond = stats.norm.sf(np.log(len(y) / rate), scale=np.sqrt(variance))
        assert 1 - float(mass.sum()) == pytest.approx(beyond, abs=2e-3 * beyond + 1e-7)
    # A rate that underflows: no event is certain, and log p(0) is zero.
    assert float(poisson_lognormal(t(0.0), t(-900.0), t(4.0))) == pytest.approx(0.0, abs=1e-8)
    # Narrow and wide effects in one call, as of bags of few and of many individuals.
    both = t(1e-8, 1e-3, 9.0)
    alone = [float(poisson_lognormal(t(7.0), t(1.6), v)) for v in both]
    np.testing.assert_allclose(poisson_lognormal(t(7.0), t(1.6), both), alone, atol=1e-7)
    single = poisson_lognormal(t(7.0).float(), t(1.6).float(), both.float())
    np.testing.assert_allclose(single, alone, atol=1e-4)


@pytest.mark.parametrize("y", [0.0, 3.0, 1e4])
@pytest.mark.parametrize("tau", [0.05, 0.5, 1.5, 3.0])
def test_gradient_of_poisson_lognormal(y, tau):
    """The derivative of log ∫ is an expectation under the posterior of a."""
    log_rate, variance = np.log(y + 0.5) + 0.3, tau**2
    inputs = t(log_rate).requires_grad_(), t(variance).requires_grad_()
    got = torch.autograd.grad(poisson_lognormal(t(y), *inputs).sum(), inputs)

    def integral(g, v):
        return log_integral(y, g, np.sqrt(v))

    step = 1e-4
    slope = (integral(log_rate + step, variance) - integral(log_rate - step, variance)) / 2 / step
    assert float(got[0]) == pytest.approx(slope, rel=1e-5, abs=1e-6)
    step = 1e-3 * variance
    slope = (integral(log_rate, variance + step) - integral(log_rate, variance - step)) / 2 / step
    assert float(got[1]) == pytest.approx(slope, rel=5e-3, abs=5e-4)


def test_poisson_lognormal_without_effect_is_poisson():
    y, g = t(0, 4, 200.0), t(-1.0, 1.2, 5.2)
    got = poisson_lognormal(y, g, torch.zeros(3).double())
    np.testing.assert_allclose(got, stats.poisson.logpmf(y, g.exp()), atol=1e-6)


def test_the_mode_of_the_effect_solves_its_equation():
    y = t(0, 3, 1e7, 0, 50, 0, 2, 1e6, 0)
    g = t(2.0, 0.0, 16.0, -30.0, 20.0, -900.0, -300.0, -200.0, 250.0)
    v = t(0.5, 4.0, 0.01, 1.0, 0.3, 4.0, 2.0, 9.0, 1e-8)
    mode, precision = effect_mode(y, g, v)
    np.testing.assert_allclose((y - (g + mode).exp() - mode / v) / precision, 0, atol=1e-8)
    np.testing.assert_allclose(precision, (g + mode).exp() + 1 / v)


def posterior_of_effect(log_density, tau):
    """Mean of exp(a), variance and central 95 % mass of a Gaussian law, all by quadrature."""
    a = np.linspace(-14 * tau, 14 * tau + 10, 400_001)
    logs = log_density(a)
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    mean, cumulative = shares @ a, shares.cumsum()

    def inside(location, variance):
        ends = location + np.sqrt(variance) * stats.norm.ppf([0.025, 0.975])
        return np.diff(np.interp(ends, a, cumulative))[0]

    return shares @ np.exp(a), shares @ np.square(a - mean), inside


@pytest.mark.parametrize("tau", [0.3, 1.0, 1.5, 2.5])
@pytest.mark.parametrize("y", [0, 1, 3, 20, 5_000])
@pytest.mark.parametrize("rate", [0.4, 7.4, 60.0])
def test_law_of_the_effect_has_the_posterior_mean_of_its_multiplier(y, rate, tau):
    location, spread = effect_posterior(t(y), t(np.log(rate)), t(tau**2))
    multiplier, variance, inside = posterior_of_effect(
        lambda a: stats.poisson.logpmf(y, rate * np.exp(a)) - a**2 / (2 * tau**2), tau)
    assert float((location + spread / 2).exp()) == pytest.approx(multiplier, rel=1e-6)
    assert float(spread) == pytest.approx(variance, rel=1e-5)
    assert 0.945 < inside(float(location), float(spread)) < (0.956 if tau < 2 else 0.963)


def test_effect_of_one_event_is_not_overstated():
    """One event where 13.5 were expected: mode and curvature put the rate a fifth too high."""
    y, rate, variance = t(1.0), t(13.5), t(2.25)

    def moment(power):
        return integrate.quad(lambda a: np.exp(
            power * a + stats.poisson.logpmf(1, 13.5 * np.exp(a)) - a**2 / 4.5), -21, 8,
            points=[-3, -2, -1], epsrel=1e-11)[0]

    exact = 13.5 * moment(1) / moment(0)
    location, spread = effect_posterior(y, rate.log(), variance)
    assert float((location + spread / 2).exp() * rate) == pytest.approx(exact, rel=1e-7)
    assert exact == pytest.approx(1.95, abs=0.01)
    mode, precision = effect_mode(y, rate.log(), variance)
    assert float((mode + 0.5 / precision).exp() * rate) == pytest.approx(2.33, abs=0.01)


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
    # Exact of a log-normal, and a bag's value is never zero.
    assert_mean(stats.expon.logpdf(y + 0.1, scale=eta),
                Exponential().expected_log_prob(t(y + 0.1), law))


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
    generator, units = np.random.default_rng(0), Units(made.bags((1,)), False, True)
    parameter = torch.full((n, 1), mean).double()
    multiplied = parameter * torch.as_tensor(generator.gamma(r, 1 / r, (n, 1)))
    certain = BagMoments(t(mean), t(0.0))
    for likelihood, eta in ((Poisson(), parameter),
                            (NegativeBinomial(lambda: t(r)[0]), multiplied)):
        values = likelihood.observe(eta, units, generator).numpy()[:, 0]
        assert_mean(values, mean)
        assert_mean(np.square(values - mean), float(likelihood.total_variance(certain)))


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


@pytest.mark.parametrize("aggregation", ["sum", "mean"])
def test_normal_conventions_are_those_of_individuals_with_noise_of_their_own(aggregation):
    """Law notes, section 3: N_a σ² of a sum and σ²/N_a of a mean are Σ a_i² σ², equal weights.

    And `Normal` with that variance has the expected log-density of simulated totals.
    """
    sizes, sigma, rng = [3, 8], 0.7, np.random.default_rng(0)
    root = 0.4 * rng.standard_normal((11, 11))
    view = explicit_view(sizes, rng.normal(1, 1, 11), root, average=aggregation == "mean")
    a = view.operator.dense().numpy()
    variance = sigma**2 * noise_factor("size", view.operator.bags, aggregation, 1.0).numpy()
    np.testing.assert_allclose(variance, sigma**2 * np.square(a).sum(1))
    f = view.projection.offset.numpy() + rng.standard_normal((200_000, 11)) @ root.T
    noisy = f + sigma * rng.standard_normal(f.shape)
    np.testing.assert_allclose((noisy @ a.T - f @ a.T).var(0), variance, rtol=0.02)
    law = BOUNDS["identity", "gaussian"].moments(
        view, torch.zeros(11).double(), torch.eye(11).double())
    y = t(3.0, 2.0)
    got = Normal(lambda: torch.as_tensor(variance)).expected_log_prob(y, law)
    density = stats.norm.logpdf(y.numpy(), f @ a.T, np.sqrt(variance))
    error = 4.5 * density.std(0) / np.sqrt(len(density))
    assert (np.abs(density.mean(0) - got.numpy()) < error).all()
    # The others are one variance for all, and inversely to weight: the same as size for weights
    # of one, up to their unit.
    assert noise_factor("constant", view.operator.bags, aggregation, 1.0).tolist() == [1, 1]
    np.testing.assert_allclose(
        noise_factor("weight", view.operator.bags, aggregation, 1.0) * sigma**2, variance)


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
    for likelihood in (Poisson(), NegativeBinomial(lambda: t(1.0)[0]), Exponential()):
        with pytest.raises(InputError, match="link='exp' or link='square'"):
            likelihood.expected_log_prob(t(1.0), BagMoments(t(1.0), t(1.0)))


def test_positive_values_must_be_positive():
    require_positive(t(1e-12, 3.0))
    with pytest.raises(InputError, match="2 values are not positive, the first at bag 1"):
        require_positive(t(1.0, 0.0, -2.0))


@pytest.mark.parametrize("tau", [0.05, 0.6, 1.5])
@pytest.mark.parametrize("ratio", [0.02, 1.0, 30.0])
def test_exponential_lognormal_is_the_integral(ratio, tau):
    y, log_mean = 3.0 * ratio, np.log(3.0)

    def integrand(a):
        return stats.expon.pdf(y, scale=np.exp(log_mean + a)) * stats.norm.pdf(a, scale=tau)

    expected, _ = integrate.quad(integrand, -12 * tau, 12 * tau, epsabs=0, epsrel=1e-10, limit=400)
    got = float(exponential_lognormal(t(y), t(log_mean), t(tau**2)))
    assert got == pytest.approx(np.log(expected), abs=2e-4 if tau == 1.5 else 1e-5)


def test_exponential_with_effect():
    mean, log_std, effect, y = 5.0, 0.3, 0.4, 11.0
    eta = draws(mean, log_std, 4000)
    inner = exponential_lognormal(t(y), torch.log(torch.as_tensor(eta)), t(effect)).numpy()
    assert_mean(inner, Exponential().expected_log_prob(t(y), moments(mean, log_std, effect)))
    # The law of the effect has the variance and the mean multiplier of its density given y.
    location, spread = Exponential().effect_posterior(t(y), t(np.log(mean)), t(effect))
    multiplier, variance, inside = posterior_of_effect(
        lambda a: stats.expon.logpdf(y, scale=mean * np.exp(a)) - a**2 / (2 * effect), effect**0.5)
    assert float((location + spread / 2).exp()) == pytest.approx(multiplier, rel=1e-6)
    assert float(spread) == pytest.approx(variance, rel=1e-6)
    assert 0.945 < inside(float(location), float(spread)) < 0.956


def moments_of(link, bound, view):
    width = view.projection.features.shape[1]
    return BOUNDS[link, bound].moments(view, torch.zeros(width).double(), torch.eye(width).double())


@pytest.mark.parametrize("name", REGIMES)
def test_exponential_by_jensen_is_a_lower_bound(name):
    """Section 5 of the notes: E log η <= log E η, E 1/η <= 1/Σ w exp(m - S/2)."""
    view = view_of_regime(REGIMES[name], "exp")
    eta = brute_force(view, "exp", 100_000)
    y = 1.5 * eta.mean(0)
    truth = stats.expon.logpdf(y, scale=eta)
    error = 4.5 * truth.std(0) / np.sqrt(len(truth))
    got = Exponential().expected_log_prob(torch.as_tensor(y), moments_of("exp", "jensen", view))
    assert (got.numpy() <= truth.mean(0) + error).all()
    # The moment form is far closer.
    close = Exponential().expected_log_prob(torch.as_tensor(y), moments_of("exp", "moment", view))
    slack = 0.25 if name == "very wide" else 0.05
    assert (np.abs(close.numpy() - truth.mean(0)) < error + slack).all()


@pytest.mark.parametrize("name, tolerance", [("narrow", 0.01), ("individual", 0.05),
                                             ("common", 0.5)])
def test_exponential_under_the_square_link_by_the_delta_method(name, tolerance):
    """Of bags of four and more: of fewer, E 1/η does not exist. Poor where bags vary as one."""
    view = view_of_regime(REGIMES[name], "square")
    eta = brute_force(view, "square", 200_000)[:, 1:]
    y = eta.mean(0)
    got = Exponential().expected_log_prob(t(1.0, *y), moments_of("square", "taylor", view))[1:]
    truth = stats.expon.logpdf(y, scale=eta)
    error = 4.5 * truth.std(0) / np.sqrt(len(truth))
    assert (np.abs(got.numpy() - truth.mean(0)) < error + tolerance).all()


def three(weight=(1.0, 1.0, 1.0), trials=None) -> Bags:
    """Two individuals in one bag and one in another."""
    return Bags(torch.zeros(3, 0).double(), torch.tensor([0, 0, 1]), t(*weight), 2, Columns(()),
                trials=trials)


def test_exponential_draws():
    generator = np.random.default_rng(0)
    whole, fine = (Units(three(), individual, False) for individual in (False, True))
    rates = torch.full((100_000, 2), 4.0).double()
    values = Exponential.observe(rates, whole, generator).numpy().ravel()
    assert_mean(values, 4.0)
    assert_mean(np.square(values - 4), 16.0)
    means = torch.full((100_000, 3), 2.0).double()
    fine = Exponential.observe(means, fine, generator).numpy()
    assert stats.kstest(fine[:, 0], stats.expon(scale=2).cdf).pvalue > 1e-4
    assert stats.kstest(fine[:, :2].sum(1), stats.expon(scale=4).cdf).pvalue > 1e-4


# In nats, for 200 trials of which a third more than expected are positive.
_BINOMIAL = {"narrow": 0.02, "common": 0.05, "individual": 0.05, "wide": 0.3, "heavy weights": 0.05,
             "very wide": 0.9, "few individuals": 0.3}


@pytest.mark.parametrize("link", ["logit", "probit"])
@pytest.mark.parametrize("name", REGIMES)
def test_binomial_against_monte_carlo(name, link):
    view, n = view_of_regime(REGIMES[name], link), 200.0
    probability = brute_force(view, link, 100_000)
    y = np.round(1.3 * n * probability.mean(0))
    truth = stats.binom.logpmf(y, n, probability)
    error = 4.5 * truth.std(0) / np.sqrt(len(truth))
    # Under the probit link the moment form of a wide posterior is rough in bags of many.
    rough = 0.25 * truth.std(0) if link == "probit" and name != "narrow" else 0.0
    for bound, slack in (("moment", rough), ("monte-carlo", 0.05 * truth.std(0))):
        got = Binomial(lambda: t(n, n, n)).expected_log_prob(
            torch.as_tensor(y), moments_of(link, bound, view))
        assert (np.abs(got.numpy() - truth.mean(0)) < error + _BINOMIAL[name] + slack).all(), bound


@pytest.mark.parametrize("n, y", [(1.0, 0.0), (1.0, 1.0), (12.0, 3.0)])
@pytest.mark.parametrize("m, s", [(-4.0, 1.0), (0.3, 0.5), (2.0, 2.0)])
def test_singleton_binomial_is_the_logit_gaussian_expectation(n, y, m, s):
    view = explicit_view([1], [m], [[np.sqrt(s)]], average=True, weight=[7.0])
    got = Binomial(lambda: t(n)).expected_log_prob(t(y), moments_of("logit", "moment", view))
    z, weight = np.polynomial.hermite_e.hermegauss(100)
    rate = special.expit(m + np.sqrt(s) * z)
    expected = weight @ stats.binom.logpmf(y, n, rate) / np.sqrt(2 * np.pi)
    assert float(got) == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("n, y", [(1.0, 0.0), (1.0, 1.0), (12.0, 3.0)])
@pytest.mark.parametrize("m, s", [(-2.5, 1.0), (0.3, 0.5), (2.0, 2.0), (9.0, 0.3), (-20.0, 0.3)])
def test_singleton_probit_is_the_gaussian_expectation(n, y, m, s):
    view = explicit_view([1], [m], [[np.sqrt(s)]], average=True, weight=[7.0])
    found = moments_of("probit", "moment", view)
    got = Binomial(lambda: t(n)).expected_log_prob(t(y), found)
    z, weight = np.polynomial.hermite_e.hermegauss(100)
    f = m + np.sqrt(s) * z
    expected = weight @ (y * special.log_ndtr(f) + (n - y) * special.log_ndtr(-f)
                         + np.log(special.comb(n, y))) / np.sqrt(2 * np.pi)
    assert float(got) == pytest.approx(expected, abs=1e-7)
    assert float(found.probit_mean) == pytest.approx(m, rel=1e-9)
    assert float(found.probit_variance) == pytest.approx(s, rel=1e-8)
    assert float(found.mean) == pytest.approx(special.ndtr(m / np.sqrt(1 + s)), rel=1e-12)


def test_binomial_probabilities_and_draws():
    y, n, p = t(0, 3, 12, 0, 5), t(4, 9, 12, 0, 5), t(0.0, 0.3, 1.0, 0.4, 0.01)
    np.testing.assert_allclose(binomial_log_prob(y, n, p), stats.binom.logpmf(y, n, p), atol=1e-12)
    assert float(binomial_log_prob(t(1), t(4), t(0.0))) == -np.inf
    generator, trials = np.random.default_rng(0), t(50, 7)
    likelihood = Binomial(lambda: trials)
    bags = three((0.25, 0.75, 1.0), trials)
    drawn = likelihood.observe(torch.tensor([[0.2, 0.9]]).double().expand(100_000, 2),
                               Units(bags, False, False), generator).numpy()
    np.testing.assert_allclose(drawn.mean(0), [10.0, 6.3], rtol=0.01)
    np.testing.assert_allclose(drawn.var(0), [8.0, 0.63], rtol=0.03)
    # Positives of individuals add up to binomial positives of their bag.
    rates = t(0.4, 1 / 3, 0.6).expand(50_000, 3)
    fine = likelihood.observe(rates, Units(bags, True, False), generator).numpy()
    np.testing.assert_allclose(fine.mean(0), [5.0, 12.5, 4.2], rtol=0.02)
    np.testing.assert_allclose(fine[:, 0].var(), 50 * 0.1 * 0.9, rtol=0.04)
    np.testing.assert_allclose(fine[:, :2].sum(1).var(), 50 * 0.35 * 0.65, rtol=0.04)
