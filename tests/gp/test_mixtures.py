"""Mixtures of laws: moments and quantiles by other means, draws, and what they refuse."""

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from tests.gp.distributions import DRAWS, EVERY, samples_of, t
from workbench.checks import InputError
from workbench.gp import predictive
from workbench.gp.predictive import Gamma, LogNormal, Mixture, Normal, Point, Samples

LEVELS = [1e-6, 0.025, 0.3, 0.5, 0.9, 0.975, 1 - 1e-6]
MIXED = {
    "alike": Mixture(t(0.3, 0.7), [Normal(t(0.0, 1.0), t(1.0, 2.0)),
                                   Normal(t(0.5, 1.0), t(0.7, 2.0))]),
    "apart": Mixture(t(0.5, 0.5), [Normal(t(-50.0, 0.0), t(1.0, 1e-3)),
                                   Normal(t(50.0, 1e6), t(1.0, 10.0))]),
    "many decades": Mixture(t(0.2, 0.5, 0.3), [LogNormal(t(-9.0, 0.0), t(0.1, 1.0)),
                                               LogNormal(t(0.0, 3.0), t(1.0, 0.01)),
                                               LogNormal(t(9.0, -3.0), t(0.5, 2.0))]),
    "of two kinds": Mixture(t(0.9, 0.1), [
        Gamma(t(1.0, 500.0), t(2.0, 10.0)),
        predictive.ScaledNoncentralChi2(t(1.0, 20.0), t(0.5, 2.0))]),
    "a mixture in it": Mixture(t(0.6, 0.4), [
        Mixture(t(0.5, 0.5), [Normal(t(0.0, 5.0), t(1.0, 1.0)), Normal(t(3.0, 5.5), t(1.0, 2.0))]),
        Normal(t(1.0, 2.0), t(0.1, 3.0))]),
}
mixed = pytest.mark.parametrize("law", MIXED.values(), ids=MIXED)


@pytest.mark.parametrize("law", EVERY.values(), ids=EVERY)
def test_one_component_is_that_component(law):
    alone = Mixture(t(1.0), [law])
    torch.testing.assert_close(alone.mean, law.mean)
    torch.testing.assert_close(alone.variance, law.variance)
    torch.testing.assert_close(alone.quantile(LEVELS), law.quantile(LEVELS))
    torch.testing.assert_close(torch.stack(alone.interval(0.8)), torch.stack(law.interval(0.8)))
    middle = law.quantile(0.4)[0]
    torch.testing.assert_close(alone.cdf(middle), law.cdf(middle))
    torch.testing.assert_close(alone.exceedance(middle), law.exceedance(middle))
    # Components that are copies of one law change nothing either.
    twice = Mixture(t(0.25, 0.75), [law, law])
    torch.testing.assert_close(twice.quantile(LEVELS), law.quantile(LEVELS))
    torch.testing.assert_close(twice.std, law.std)


@mixed
def test_cdf_of_quantile_is_the_level(law):
    quantiles = law.quantile(LEVELS)
    assert (quantiles.diff(dim=0) > 0).all()
    for level, quantile in zip(LEVELS, quantiles, strict=True):
        np.testing.assert_allclose(law.cdf(quantile), level, rtol=1e-7)
        np.testing.assert_allclose(law.exceedance(quantile), 1 - level, rtol=1e-7)


def test_moments_and_probabilities_by_integration_of_the_density():
    weight, mean, spread = (0.2, 0.5, 0.3), (-1.0, 0.5, 4.0), (0.5, 1.0, 2.0)
    law = Mixture(t(*weight), [Normal(t(m), t(s)) for m, s in zip(mean, spread, strict=True)])

    def density(v):
        return sum(w * stats.norm.pdf(v, m, s)
                   for w, m, s in zip(weight, mean, spread, strict=True))

    def integral(function, low=-30.0, high=30.0):
        return integrate.quad(lambda v: function(v) * density(v), low, high, limit=400)[0]

    first = integral(lambda v: v)
    assert float(law.mean) == pytest.approx(first, rel=1e-8)
    assert float(law.variance) == pytest.approx(integral(lambda v: (v - first) ** 2), rel=1e-8)
    for value in (-2.0, 0.3, 5.0):
        below = integral(lambda v: 1.0, high=value)
        assert float(law.cdf(value)) == pytest.approx(below, abs=1e-8)
        assert float(law.exceedance(value)) == pytest.approx(1 - below, abs=1e-8)
    for level in (0.05, 0.5, 0.9):
        quantile = float(law.quantile(level))
        assert integral(lambda v: 1.0, high=quantile) == pytest.approx(level, abs=1e-8)


@mixed
def test_large_samples_have_the_law(law):
    draws = samples_of(law, 20_000, 1e-4)
    error = law.std / 20_000**0.5
    inside = (draws.mean(0) - law.mean).abs() < 5 * error
    # A log-normal of scale 2 has its mean in draws too rare for this error; its median tells.
    assert inside.all() or isinstance(law.components[0], LogNormal)
    np.testing.assert_allclose(
        (draws <= law.quantile(0.5)[0]).double().mean(0), 0.5, atol=5 * 0.5 / 20_000**0.5)


def test_units_of_one_draw_come_from_one_component():
    law = Mixture(t(0.3, 0.7), [Normal(t(-100.0, 100.0), t(1.0, 1.0)),
                                Normal(t(100.0, -100.0), t(1.0, 1.0))])
    first, second = law.sample(4000, seed=1).T
    assert (first.sign() == -second.sign()).all()
    share = float((first < 0).double().mean())
    assert abs(share - 0.3) < 5 * (0.3 * 0.7 / 4000) ** 0.5


def test_steps_of_the_cdf_have_quantiles_too():
    points = Mixture(t(0.2, 0.5, 0.3), [Point(t(1.0)), Point(t(0.0)), Point(t(-4.0))])
    quantiles = points.quantile([0.1, 0.29, 0.31, 0.6, 0.79, 0.81, 1.0])[:, 0]
    np.testing.assert_allclose(quantiles, [-4, -4, 0, 0, 0, 1, 1], atol=1e-9)
    draws = Mixture(t(0.5, 0.5), [Samples(DRAWS[:200]), Samples(DRAWS[200:])])
    np.testing.assert_allclose(draws.quantile([0.1, 0.5, 0.9]),
                               np.quantile(DRAWS, [0.1, 0.5, 0.9], axis=0), rtol=0.05)


def test_levels_at_the_ends_and_components_without_weight():
    law = Mixture(t(0.5, 0.5, 0.0), [LogNormal(t(0.0), t(1.0)), LogNormal(t(1.0), t(1.0)),
                                     Normal(t(-1e9), t(1.0))])
    assert law.quantile([0.0, 1.0])[:, 0].tolist() == [0, np.inf]
    assert float(law.quantile(0.001)) > 0
    with pytest.raises(InputError, match=r"levels must lie in \[0, 1\]"):
        law.quantile(1.2)


@pytest.mark.slow
def test_a_component_beyond_the_largest_number_leaves_the_others_their_quantiles():
    law = Mixture(t(0.8, 0.2), [LogNormal(t(0.0), t(1.0)), LogNormal(t(700.0), t(10.0))])
    with np.errstate(over="ignore"):
        low, high = law.quantile([0.4, 0.999])[:, 0].tolist()
    assert low == pytest.approx(stats.lognorm(1.0).ppf(0.5), rel=1e-9)
    assert high == np.inf


def test_single_precision_is_kept():
    law = Mixture(torch.tensor([0.5, 0.5]), [Normal(torch.zeros(2), torch.ones(2)),
                                             Normal(torch.ones(2), torch.ones(2))])
    assert law.mean.dtype == law.quantile(0.3).dtype == law.sample(3).dtype == torch.float32
    np.testing.assert_allclose(law.cdf(law.quantile(0.3)[0]), 0.3, atol=1e-6)


@pytest.mark.parametrize("law", {**EVERY, "mixture": MIXED["of two kinds"]}.values(),
                         ids=[*EVERY, "mixture"])
def test_laws_of_some_units_and_of_multiples(law):
    last = law.select(torch.tensor([1]))
    torch.testing.assert_close(last.mean, law.mean[1:2])
    mask = np.arange(len(law.mean)) == 1
    torch.testing.assert_close(law.select(mask).quantile(0.3), law.quantile(0.3)[:, 1:2])
    factor = torch.arange(1, len(law.mean) + 1).double() * 2.5
    for times in (factor, 2.5):
        more = law.scaled(times)
        torch.testing.assert_close(more.mean, law.mean * times)
        torch.testing.assert_close(more.std, law.std * times)
        torch.testing.assert_close(more.quantile([0.2, 0.7]), law.quantile([0.2, 0.7]) * times)


@pytest.mark.parametrize("weights, components, message", [
    (t(), [], "at least one component"),
    (t(0.5, 0.5), [Point(t(1.0)), Point(t(1.0, 2.0))], "distributions of 1 and 2 units"),
    (t(1.0), [Point(t(1.0)), Point(t(1.0))], "one weight for each of 2 components"),
    (t(1.5, -0.5), [Point(t(1.0)), Point(t(1.0))], "zero or more and add up to one"),
    (t(1.0, 2.0), [Point(t(1.0)), Point(t(1.0))], "divide them by their sum, 3"),
    (t(float("nan"), 1.0), [Point(t(1.0)), Point(t(1.0))], "zero or more and add up to one"),
])
def test_what_is_no_mixture_is_refused(weights, components, message):
    with pytest.raises(InputError, match=message):
        Mixture(weights, components)
