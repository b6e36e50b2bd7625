"""Averaging over hyperparameters against a dense grid, and what it must keep of a fit."""


import numpy as np
import pytest
import torch

from tests.torch import made
from workbench.interrupt import Cancelled
from workbench.models.averaging import AveragedFit
from workbench.models.vbagg import VBAgg

HELD = {"mean": 2.5, "matern32.variance": 0.3, "matern32.lengthscale": 40.0}


@pytest.fixture(scope="module")
def source():
    return made.counts(made.bags((6,) * 12), scale=20.0)


@pytest.fixture(scope="module")
def averaged(source):
    """All but the area effect's standard deviation are held: one dimension to average over."""
    model = VBAgg(inducing=8, overdispersion="area", nugget=0.0, hyperparameters=HELD, average=32)
    return model.fit(source)


def on_a_grid(source):
    """Area effects' standard deviations, their posterior weights and fits, by brute force."""
    grid = np.exp(np.linspace(np.log(0.005), np.log(3.0), 80))
    model = VBAgg(inducing=8, overdispersion="area", nugget=0.0)
    fits = [model.condition(source, HELD | {"area.std": float(std)}) for std in grid]
    prior = fits[0].state.hyperparameters["area.std"].prior
    # log_density is of the logarithm, on which the grid is even.
    logs = np.array([fit.objective + float(prior.log_density(torch.tensor(std)).sum())
                     for fit, std in zip(fits, grid, strict=True)])
    weights = np.exp(logs - logs.max())
    return grid, weights / weights.sum(), fits


def test_it_is_the_integral_over_the_posterior(source, averaged):
    grid, weights, fits = on_a_grid(source)
    got = averaged.weights.numpy()
    at = np.array([m.hyperparameters["area.std"]["value"] for m in averaged.members])
    for function in (np.log, np.square):
        wanted = weights @ function(grid)
        spread = np.sqrt(weights @ np.square(function(grid) - wanted))
        assert got @ function(at) == pytest.approx(wanted, abs=0.1 * spread)
    laws = [fit.at(source.bags, torch.arange(12), area_effect=True) for fit in fits]
    mean = sum(w * law.mean for w, law in zip(weights, laws, strict=True))
    law = averaged.at(source.bags, torch.arange(12), area_effect=True)
    torch.testing.assert_close(law.mean, mean, rtol=0.01, atol=0)
    second = sum(w * (law.variance + law.mean.square())
                 for w, law in zip(weights, laws, strict=True))
    torch.testing.assert_close(law.std, (second - mean.square()).sqrt(), rtol=0.05, atol=0)


def test_what_is_reported_is_the_best_setting(source, averaged):
    plain = VBAgg(inducing=8, overdispersion="area", nugget=0.0, hyperparameters=HELD).fit(source)
    assert averaged.hyperparameters == plain.hyperparameters
    assert averaged.objective == pytest.approx(plain.objective)
    assert "averaged over" in averaged.history.notes[-1]
    assert float(averaged.weights.sum()) == pytest.approx(1)


def test_draws_follow_the_mixture(source, averaged):
    trained = torch.arange(12)
    bags = averaged.simulate_bags(source.bags, trained, 20_000, seed=1)
    law = averaged.over(source.bags, trained, area_effect=True)
    error = (law.variance + law.mean).sqrt() / len(bags) ** 0.5
    assert ((bags.mean(0) - law.mean).abs() < 5 * error).all()
    parts = averaged.simulate_individuals(source.bags, trained, 20_000, seed=1)
    sums = torch.zeros(len(parts), 12).double().index_add(1, source.bags.membership, parts)
    assert ((sums.mean(0) - law.mean).abs() < 6 * error + 0.01 * law.mean).all()
    assert torch.equal(bags, averaged.simulate_bags(source.bags, trained, 20_000, seed=1))


def test_log_density_is_that_of_the_mixture(source, averaged):
    y, trained = source.targets.value, torch.arange(12)
    rows = averaged.log_density(y, source.bags, trained, "bag", 100, seed=0)
    got = rows.logsumexp(0) - np.log(len(rows))
    single = [m.log_density(y, source.bags, trained, "bag", 100, seed=0)[0]
              for m in averaged.members]
    wanted = sum(w * s.exp() for w, s in zip(averaged.weights, single, strict=True)).log()
    torch.testing.assert_close(got, wanted)


def test_a_cancelled_average_keeps_the_best_setting(source):
    fractions = []

    def callback(step, objective, fraction):
        fractions.append(fraction)
        if len(fractions) > steps + 4:
            raise Cancelled

    model = VBAgg(inducing=8, overdispersion="area", nugget=0.0, hyperparameters=HELD, average=16)
    steps = len(VBAgg(inducing=8, overdispersion="area", nugget=0.0, hyperparameters=HELD)
                .fit(source).history.objective)
    fit = model.fit(source, callback=callback)
    assert not isinstance(fit, AveragedFit)
    assert fit.history.cancelled and "averaging" in fit.history.notes[-1]
    assert torch.isfinite(fit.latent(source.bags).mean).all()


def test_intervals_of_what_is_averaged_are_wider(source, averaged):
    """Law of total variance: the mixture has the spread of its members' means besides."""
    law = averaged.latent(source.bags)
    within = sum(w * m.latent(source.bags).variance
                 for w, m in zip(averaged.weights, averaged.members, strict=True))
    assert (law.variance >= within - 1e-12).all()
    assert float((law.variance / within).max()) > 1.0001
