"""Laws of predictions: quantiles against cdfs, moments by quadrature, extreme parameters."""

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from tests.gp.distributions import samples_of
from workbench.checks import InputError
from workbench.gp.likelihoods.links import LINKS
from workbench.gp.predictive import (
    Gamma,
    LogitNormal,
    LogNormal,
    Normal,
    Point,
    ProbitNormal,
    Samples,
    ScaledNoncentralChi2,
)

LEVELS = [0.001, 0.025, 0.2, 0.5, 0.9, 0.975, 0.999]


def t(*values):
    return torch.tensor(values, dtype=torch.float64)


LAWS = {
    "normal": Normal(t(0.0, -3.0, 1e6), t(1.0, 1e-9, 50.0)),
    "log-normal": LogNormal(t(0.0, -8.0, 12.0), t(1.0, 0.01, 2.0)),
    "chi2": ScaledNoncentralChi2(t(0.0, -1.5, 3.0), t(1.0, 0.4, 1e-3)),
    "chi2 far": ScaledNoncentralChi2(t(1e3, -1e5, 1e-6), t(1.0, 0.5, 1e-8)),
    "gamma": Gamma(t(1.0, 500.0, 1e-3), t(2.0, 10.0, 1e-7)),
    "logit-normal": LogitNormal(t(0.0, -6.0, 2.0), t(1.5, 0.8, 0.01)),
    "probit-normal": ProbitNormal(t(0.0, -3.0, 1.0), t(1.5, 0.8, 0.01)),
    "scaled probit-normal": ProbitNormal(t(-1.0, 0.5, -4.0), t(0.2, 1.0, 2.0)).scaled(t(5, 2, 1e3)),
    "scaled logit-normal": LogitNormal(t(-1.0, 0.5, -3.0), t(0.2, 1.0, 0.7)).scaled(t(50, 2, 1e4)),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_cdf_of_quantile_is_the_level(law):
    quantiles = law.quantile(LEVELS)
    assert (quantiles.diff(dim=0) > 0).all()
    for level, quantile in zip(LEVELS, quantiles, strict=True):
        np.testing.assert_allclose(law.cdf(quantile), level, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(law.exceedance(quantile), 1 - level, rtol=1e-6, atol=1e-7)
    low, high = law.interval(0.95)
    torch.testing.assert_close(torch.stack([low, high]), quantiles[[1, 5]])


@pytest.mark.parametrize(("law", "frozen"), [
    (Normal(t(0.0, -3.0), t(1.0, 0.2)), lambda: stats.norm([0.0, -3.0], [1.0, 0.2])),
    (LogNormal(t(0.0, -8.0), t(1.0, 0.2)), lambda: stats.lognorm(
        [1.0, 0.2], scale=np.exp([0.0, -8.0]))),
    (Gamma(t(1.0, 500.0), t(2.0, 10.0)), lambda: stats.gamma(
        [0.5, 25_000.0], scale=[2.0, 0.02]))], ids=["normal", "log-normal", "gamma"])
def test_they_are_those_that_scipy_freezes_and_freeze_none(monkeypatch, law, frozen):
    """To freeze one takes as long as thousands of probabilities, and mixtures ask for many."""
    theirs = frozen()
    monkeypatch.setattr(stats.rv_continuous, "freeze", lambda *_, **named: pytest.fail("frozen"))
    value = theirs.ppf(0.3) * np.array([1.0, 1.1])
    np.testing.assert_array_equal(law.cdf(torch.as_tensor(value)), theirs.cdf(value))
    np.testing.assert_array_equal(law.exceedance(torch.as_tensor(value)), theirs.sf(value))
    np.testing.assert_array_equal(law.quantile(LEVELS), [theirs.ppf(one) for one in LEVELS])
    np.testing.assert_array_equal(law.sample(9, 3), theirs.rvs(
        size=(9, 2), random_state=np.random.default_rng(3)))


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_mean_and_variance_by_quadrature_of_the_quantile_function(law):
    # E g(X) = ∫ g(F⁻¹(u)) du, with u = Φ(z) so that the tails are resolved; trapezia on a smooth,
    # rapidly decaying integrand are spectrally accurate.
    z = np.linspace(-9, 9, 241)
    weight = stats.norm.pdf(z) * (z[1] - z[0])
    # The survival side loses digits as u approaches one: 1 - 1e-16 is where doubles end.
    quantiles = law.quantile(np.clip(stats.norm.cdf(z), 1e-19, 1 - 1e-15)).numpy()
    mean = weight @ quantiles
    np.testing.assert_allclose(mean, law.mean, rtol=1e-5, atol=1e-12)
    variance = weight @ np.square(quantiles - law.mean.numpy())
    np.testing.assert_allclose(variance, law.variance, rtol=2e-2)
    np.testing.assert_allclose(law.std**2, law.variance, rtol=1e-12)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_samples_follow_the_law_and_the_seed(law):
    assert len(samples_of(law, 4000, 1e-5)) == 4000


def test_chi2_is_the_square_of_a_gaussian_in_scipys_words():
    m, s = 1.7, 0.6
    law, scipy_law = ScaledNoncentralChi2(t(m), t(s)), stats.ncx2(1, m**2 / s**2, scale=s**2)
    for value in (0.01, 0.5, 3.0, 9.0):
        assert float(law.cdf(value)) == pytest.approx(scipy_law.cdf(value), rel=1e-9)
    assert float(law.mean) == pytest.approx(scipy_law.mean())
    assert float(law.variance) == pytest.approx(scipy_law.var())
    mean, _ = integrate.quad(lambda v: v**2 * stats.norm.pdf(v, m, s), -10, 10)
    assert float(law.mean) == pytest.approx(mean)
    assert float(law.cdf(-1.0)) == 0


def test_logit_normal_beyond_its_support_and_selected():
    law = LogitNormal(t(0.3, -2.0), t(1.0, 0.5), t(1.0, 40.0))
    assert law.cdf(t(-0.1, 0.0)).tolist() == [0, 0] and law.cdf(t(1.0, 41.0)).tolist() == [1, 1]
    assert law.exceedance(t(0.0, 39.999999)).tolist() == [1, pytest.approx(0)]
    assert law.quantile([0.0, 1.0]).tolist() == [[0, 0], [1, 40]]
    second = law.select([1])
    assert float(second.mean) == float(law.mean[1]) and float(second.factor) == 40
    mean, _ = integrate.quad(
        lambda v: 40 / (1 + np.exp(-v)) * stats.norm.pdf(v, -2.0, 0.5), -8, 4)
    assert float(second.mean) == pytest.approx(mean)


def test_far_exceedances_keep_their_digits():
    far = float(Normal(t(0.0), t(1.0)).exceedance(12.0))
    assert far == pytest.approx(stats.norm.sf(12), rel=1e-9, abs=0)
    law = ScaledNoncentralChi2(t(0.0), t(1.0))
    assert float(law.exceedance(144.0)) == pytest.approx(
        2 * stats.norm.sf(12), rel=1e-9, abs=0)
    # A large negative f squares to the same law as a large positive one.
    minus, plus = ScaledNoncentralChi2(t(-9.0), t(1.0)), ScaledNoncentralChi2(t(9.0), t(1.0))
    assert float(minus.cdf(0.01)) == pytest.approx(float(plus.cdf(0.01)), rel=1e-9, abs=0)


@pytest.mark.parametrize("link, value", [("identity", 1.5), ("exp", np.exp(1.5)), ("square", 2.25),
                                         ("logit", 1 / (1 + np.exp(-1.5)))])
def test_without_variance_a_law_is_a_point(link, value):
    law = LINKS[link].distribution(t(1.5, 1.5), t(0.0, -1e-18))
    np.testing.assert_allclose(law.quantile([0.025, 0.5, 0.975]), value, rtol=1e-12)
    np.testing.assert_allclose(law.mean, value)
    np.testing.assert_array_equal(law.variance, 0)
    np.testing.assert_array_equal(law.cdf(value * 1.001), 1)
    np.testing.assert_array_equal(law.cdf(value * 0.999), 0)
    np.testing.assert_array_equal(law.exceedance(value * 0.999), 1)
    np.testing.assert_allclose(law.sample(3), value, rtol=1e-12)


def test_a_gamma_without_variance_is_a_point():
    law = Gamma(t(3.0), t(0.0))
    np.testing.assert_allclose(law.quantile([0.1, 0.9]), 3.0, rtol=1e-6)
    np.testing.assert_allclose(law.cdf(3.01), 1)


def test_point_and_samples():
    point = Point(t(2.0, 5.0))
    assert point.cdf(2.0).tolist() == [1, 0]
    assert point.exceedance(2.0).tolist() == [0, 1]
    assert point.quantile([0.1, 0.9]).tolist() == [[2, 5], [2, 5]]
    assert point.sample(3).shape == (3, 2)
    assert point.variance.tolist() == [0, 0]
    draws = torch.randn(500, 2, generator=torch.manual_seed(0), dtype=torch.float64)
    law = Samples(draws)
    np.testing.assert_allclose(law.mean, draws.mean(0))
    np.testing.assert_allclose(law.variance, np.var(draws.numpy(), axis=0, ddof=1))
    np.testing.assert_allclose(law.quantile(0.3)[0], np.quantile(draws, 0.3, axis=0))
    np.testing.assert_allclose(law.cdf(0.2) + law.exceedance(0.2), 1)
    rows = {tuple(row) for row in draws.tolist()}
    assert all(tuple(row) in rows for row in law.sample(50, seed=1).tolist())


def test_levels_outside_zero_and_one_are_refused():
    with pytest.raises(InputError, match=r"levels must lie in \[0, 1\]"):
        LAWS["normal"].quantile([0.5, 1.5])


def test_edge_levels():
    assert LAWS["log-normal"].quantile([0.0, 1.0]).tolist() == [[0] * 3, [np.inf] * 3]
    assert LAWS["chi2"].quantile([0.0, 1.0])[1].tolist() == [np.inf] * 3
    np.testing.assert_allclose(LAWS["chi2"].quantile(0.0), 0, atol=1e-12)
