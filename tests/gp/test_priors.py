"""Priors: they integrate to one on the log scale and keep their promises about tails."""

import math

import numpy as np
import pytest
import torch
from scipy import integrate

from workbench.checks import InputError
from workbench.gp.optimisation.hyperparameters import HyperparameterSet, scalar_hyperparameter
from workbench.gp.optimisation.priors import (
    LogNormal,
    Multiple,
    PCLengthscale,
    PCStd,
    log_prior,
    parse,
)

PRIORS = {
    "log-normal": (LogNormal(130.0, 0.8), 130.0, 0.5),
    "lengthscale 1": (PCLengthscale(3.0, 0.05, 1), 3.0, 0.05),
    "lengthscale 2": (PCLengthscale(12.0, 0.1, 2), 12.0, 0.1),
    "std": (PCStd(2.5, 0.05), 2.5, 0.95),
    "variance": (PCStd(2.5, 0.02, of_variance=True), 2.5**2, 0.98),
}


def probability(prior, low, high):
    def density(log_value):
        value = torch.tensor(math.exp(log_value), dtype=torch.float64)
        return math.exp(float(prior.log_density(value)))

    return integrate.quad(density, math.log(low), math.log(high), limit=400)[0]


@pytest.mark.parametrize("name", PRIORS)
def test_total_and_tail_probability(name):
    prior, threshold, below = PRIORS[name]
    assert probability(prior, 1e-9, threshold) == pytest.approx(below, abs=1e-3)
    assert probability(prior, 1e-9, threshold) + probability(prior, threshold, 1e9) == (
        pytest.approx(1.0, abs=1e-3))


def test_a_median_per_entry():
    value = torch.tensor([2.0, 500.0]).double()
    joint = LogNormal((1.0, 700.0), 0.5).log_density(value)
    single = [LogNormal(m, 0.5).log_density(v) for m, v in zip((1.0, 700.0), value, strict=True)]
    torch.testing.assert_close(joint, torch.stack(single))


def test_priors_are_read_from_text():
    assert parse("none", "rbf.lengthscale") is None
    assert parse("lognormal:2:1", "rbf.variance") == LogNormal(2.0, 1.0)
    assert parse("pc:0.5:0.05", "rbf.lengthscale") == PCLengthscale(0.5, 0.05)
    assert parse("pc:0.5:0.05", "rbf.variance") == PCStd(0.5, 0.05, of_variance=True)
    assert parse("pc:0.5:0.05", "area.std") == PCStd(0.5, 0.05)


@pytest.mark.parametrize("text", ["gamma:1:2", "pc:1", "lognormal", "pc:a:b", "lognormal:0:1",
                                  "lognormal:1:-1", "pc:1:1.5", "pc:-1:0.1"])
def test_errors_of_priors(text):
    with pytest.raises(InputError, match="prior.*of area.std"):
        parse(text, "area.std")


def test_log_prior_sums_entries():
    value = torch.tensor([1.0, 2.0, 3.0]).double()
    prior = LogNormal(2.0, 1.0)
    assert float(log_prior(prior, value)) == pytest.approx(float(prior.log_density(value).sum()))
    assert float(log_prior(None, value)) == 0
    assert "median 2" in str(prior)
    assert "P(std > 3) = 0.05" in str(PCStd(3.0))
    assert "P(lengthscale < 3) = 0.05" in str(PCLengthscale(3.0))
    assert np.isfinite(float(log_prior(PCStd(3.0), value)))


@pytest.mark.parametrize("prior", [
    LogNormal(2.0, 0.5), PCLengthscale(0.3, 0.1, 2), PCLengthscale(0.3, 0.1, 1), PCStd(1.5, 0.05),
    PCStd(1.5, 0.05, of_variance=True)], ids=str)
def test_quantiles_are_those_of_the_density(prior):
    at = torch.tensor([0.05, 0.5, 0.9], dtype=torch.float64)
    ends = prior.quantile(at).log()
    for end, probability in zip(ends, at, strict=True):
        grid = torch.linspace(float(end) - 40, float(end), 200_001, dtype=torch.float64)
        mass = torch.trapezoid(prior.log_density(grid.exp()).exp(), grid)
        assert float(mass) == pytest.approx(float(probability), abs=1e-4)


def of_two(first=0.3, second=0.2):
    """A std of areas whose prior goes by that of individuals."""
    like = torch.zeros((), dtype=torch.float64)
    return HyperparameterSet([
        scalar_hyperparameter("area.std", second, "", Multiple(("nugget.std",), 0.5, 0.4), like),
        scalar_hyperparameter("nugget.std", first, "", PCStd(0.6), like)])


def test_a_prior_by_another_hyperparameter_is_a_density_of_both():
    """It integrates to one over both logarithms, and has a gradient in both."""
    grid = torch.linspace(-14, 4, 901, dtype=torch.float64)
    own = PCStd(0.6).log_density(grid.exp()).exp()
    given = torch.stack([Multiple(("",), 0.5, 0.4).given(one).log_density(grid.exp()).exp()
                         for one in grid.exp()])
    step = float(grid[1] - grid[0])
    assert float((own[:, None] * given).sum() * step**2) == pytest.approx(1.0, abs=2e-3)
    both = of_two()
    joint = both.log_prior()
    expected = LogNormal(0.15, 0.4).log_density(torch.tensor(0.2).double()) + PCStd(
        0.6).log_density(torch.tensor(0.3).double())
    torch.testing.assert_close(joint.reshape(()), expected)
    joint.backward()
    slope = math.log(0.2 / 0.15) / 0.4**2
    assert both["area.std"].raw.grad.item() == pytest.approx(-slope)
    assert both["nugget.std"].raw.grad.item() == pytest.approx(
        slope + 1 + 0.3 * math.log(0.05) / 0.6)


def test_of_several_others_it_is_the_root_of_the_sum_of_their_variances():
    like = torch.zeros((), dtype=torch.float64)
    three = HyperparameterSet([
        scalar_hyperparameter("persistent.variance", 0.09, "", PCStd(1.0, of_variance=True), like),
        scalar_hyperparameter("area.std", 0.4, "", PCStd(1.0), like),
        scalar_hyperparameter("nugget.std", 0.3, "", Multiple(
            ("persistent.variance", "area.std"), 2.0, 0.4), like)])
    nugget = three["nugget.std"]
    assert float(three.prior_of(nugget).median) == pytest.approx(2 * 0.5)
    assert float(three.prior_of(nugget, {"area.std": 0.0}).median) == pytest.approx(2 * 0.3)
    assert str(nugget.prior) == (
        "log-normal(median 2 × √(persistent.variance + area.std²), sigma 0.4)")
    three.log_prior().backward()
    slope = math.log(0.3 / 1.0) / 0.4**2 * 0.09 / 0.5**2 / 2      # by log of the variance
    own = 0.5 * (1 + 0.3 * math.log(0.05))
    assert three["persistent.variance"].raw.grad.item() == pytest.approx(slope + own)
    drawn = three.draw(np.random.default_rng(0), {"persistent.variance": 9.0, "area.std": 4.0})
    assert 3 < drawn["nugget.std"] < 33         # three sigma about ten
    three["area.std"].fixed = three["persistent.variance"].fixed = True
    assert three.judged == [nugget]
    nugget.fixed, three["area.std"].fixed = True, False
    assert nugget in three.judged               # what is known of it says what effects are


def test_where_one_is_fixed_the_others_prior_is_that_at_its_value():
    both = of_two()
    both.fix({"nugget.std": 0.8})
    at = torch.tensor(0.2).double()
    torch.testing.assert_close(both.log_prior().reshape(()), LogNormal(0.4, 0.4).log_density(at))
    both = of_two()
    both.fix({"area.std": 0.8})
    torch.testing.assert_close(both.log_prior().reshape(()), PCStd(0.6).log_density(
        torch.tensor(0.3).double()) + LogNormal(0.15, 0.4).log_density(torch.tensor(0.8).double()))
    both.fix({"nugget.std": 0.3})
    assert float(both.log_prior()) == 0
    assert str(both["area.std"].prior) == "log-normal(median 0.5 × nugget.std, sigma 0.4)"


def test_draws_of_both_go_together():
    both, generator = of_two(), np.random.default_rng(0)
    drawn = [both.draw(generator) for _ in range(2000)]
    area, nugget = (np.log([one[name] for one in drawn]) for name in ("area.std", "nugget.std"))
    assert (area - nugget).mean() == pytest.approx(math.log(0.5), abs=0.04)
    assert (area - nugget).std() == pytest.approx(0.4, abs=0.03)
    assert np.mean(np.exp(nugget) > 0.6) == pytest.approx(0.05, abs=0.02)
    given = [both.draw(generator, {"nugget.std": 5.0})["area.std"] for _ in range(500)]
    assert np.log(given).mean() == pytest.approx(math.log(2.5), abs=0.08)
