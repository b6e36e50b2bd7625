"""Averaging over hyperparameters against a dense grid, and what it must keep of a fit."""

import warnings

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.checks import ApproximationWarning, Cancelled, InputError
from workbench.gp.models.exact.bagged_gp import AggregatedGP
from workbench.gp.models.vbagg.averaged_fit import AveragedFit
from workbench.gp.models.vbagg.averaging import affordable
from workbench.gp.models.vbagg.exploring import Explorer
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.proposal import SplitT

HELD = {"mean": 2.5, "matern32.variance": 0.3, "matern32.lengthscale": 40.0}


@pytest.fixture(scope="module")
def source():
    return made.counts(made.bags((6,) * 12), scale=20.0)


@pytest.fixture(scope="module")
def averaged(source):
    """All but the area effect's standard deviation are held: one dimension to average over."""
    model = VBAgg(inducing=8, overdispersion="area", nugget=0.0, hyperparameters=HELD, average=128)
    return model.fit(source)


def on_a_grid(source):
    """Area effects' standard deviations, their posterior weights and fits, by brute force."""
    grid = np.exp(np.linspace(np.log(0.005), np.log(3.0), 40))
    model = VBAgg(inducing=8, overdispersion="area", nugget=0.0)
    fits = [model.condition(source, HELD | {"area.std": float(std)}) for std in grid]
    prior = fits[0].state.hyperparameters["area.std"].prior
    # log_density is of the logarithm, on which the grid is even.
    logs = np.array([fit.objective + float(prior.log_density(torch.tensor(std)).sum())
                     for fit, std in zip(fits, grid, strict=True)])
    weights = np.exp(logs - logs.max())
    return grid, weights / weights.sum(), fits


@pytest.mark.slow
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


@pytest.mark.slow
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
    assert fractions == sorted(fractions) and fractions[steps - 1] < 0.334 < fractions[-1] < 1
    assert torch.isfinite(fit.latent(source.bags).mean).all()


def test_intervals_of_what_is_averaged_are_wider(source, averaged):
    """Law of total variance: the mixture has the spread of its members' means besides."""
    law = averaged.latent(source.bags)
    within = sum(w * m.latent(source.bags).variance
                 for w, m in zip(averaged.weights, averaged.members, strict=True))
    assert (law.variance >= within - 1e-12).all()
    assert float((law.variance / within).max()) > 1.0001


@pytest.mark.slow
def test_it_agrees_with_the_exact_evidence_of_a_normal_likelihood():
    """Means and sds of two hyperparameters against quadrature on a grid of another model."""
    source = made.continuous(made.bags((4,) * 15), noise=0.3)
    options = dict(noise="constant", hyperparameters={"mean": 1.0, "matern32.variance": 0.5},
                   priors={"noise.variance": "lognormal:0.1:1"})
    fit = VBAgg(likelihood="normal", link="identity", inducing=60, average=192,
                **options).fit(source)
    names = ("matern32.lengthscale", "noise.variance")
    priors = [fit.state.hyperparameters[name].prior for name in names]
    axes = [torch.logspace(lo, hi, 30).double() for lo, hi in ((-2, 2.5), (-2.7, 0.7))]
    exact, prior = AggregatedGP(**options), [p.log_density(a)
                                             for p, a in zip(priors, axes, strict=True)]
    logs = torch.tensor([[exact.condition(source, options["hyperparameters"] | {
        names[0]: float(a), names[1]: float(b)}).objective for b in axes[1]] for a in axes[0]],
                        dtype=torch.float64)
    logs = logs + prior[0][:, None] + prior[1]
    weights = (logs - logs.max()).exp()
    weights = weights / weights.sum()
    for name, axis, grid in zip(names, axes, (weights.sum(1), weights.sum(0)), strict=True):
        assert float(grid[[0, -1]].max()) < 1e-3            # the grid holds the posterior
        at = torch.tensor([m.hyperparameters[name]["value"] for m in fit.members],
                          dtype=torch.float64).log()
        mean, got = grid @ axis.log(), fit.weights @ at
        std = (grid @ (axis.log() - mean).square()).sqrt()
        size = fit.effective_number
        assert abs(float(got - mean)) < 3 * float(std) / size ** 0.5
        spread = (fit.weights @ (at - got).square()).sqrt()
        assert float(spread / std) == pytest.approx(1, abs=3 / (2 * size) ** 0.5)
    assert size > 64


@pytest.mark.slow
def test_six_hyperparameters_are_covered():
    """40 bags: where draws from a Gaussian by curvature were worth one setting of 32."""
    source = made.counts(made.bags((6,) * 40, seed=1), seed=2, scale=2.0)
    model = VBAgg(kernel="linear+matern32", overdispersion="area", nugget="learn", average=32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit = model.fit(source)
    assert fit.effective_number >= 32 / 3
    assert "effective number" in fit.history.notes[-1]


def misplaced(by, scale):
    """A proposal that lies beside the best setting of one hyperparameter."""
    return lambda explorer: SplitT(explorer._best - by, np.eye(1), np.full((2, 1), scale))


def test_a_poor_average_warns(source, monkeypatch):
    monkeypatch.setattr(Explorer, "proposal", misplaced(2.5, 0.5))
    model = VBAgg(inducing=8, overdispersion="area", nugget=0.0, hyperparameters=HELD, average=16)
    with pytest.warns(ApproximationWarning, match="effective number .* raise average"):
        fit = model.fit(source)
    assert "is poor" in fit.history.notes[-1]


def test_a_bad_proposal_is_adapted(source, averaged, monkeypatch):
    """The second half is drawn where mass has been found."""
    monkeypatch.setattr(Explorer, "proposal", misplaced(0.8, 0.15))
    fit = VBAgg(inducing=8, overdispersion="area", nugget=0.0, hyperparameters=HELD,
                average=64).fit(source)
    assert fit.effective_number > 16 and fit.tail < 0.7
    (mean, std), (wanted, _) = (moments(one) for one in (fit, averaged))
    assert mean == pytest.approx(wanted, abs=3 * std / fit.effective_number ** 0.5)


def moments(fit):
    """Mean and sd of the logarithm of the area effect's standard deviation."""
    at = np.log([m.hyperparameters["area.std"]["value"] for m in fit.members])
    weights = fit.weights.numpy()
    return weights @ at, np.sqrt(weights @ np.square(at - weights @ at))


def test_a_member_has_the_best_q_at_its_setting(source, averaged):
    for member in (averaged.members[0], averaged.members[-1]):
        again = averaged.with_hyperparameters(member.hyperparameters)
        got, wanted = member.latent(source.bags), again.latent(source.bags)
        torch.testing.assert_close(got.std, wanted.std, rtol=1e-2, atol=0)
        assert ((got.mean - wanted.mean).abs() < 0.02 * wanted.std).all()


def test_a_setting_does_not_depend_on_those_before_it(source):
    fit = VBAgg(inducing=8, overdispersion="area", nugget=0.0, hyperparameters=HELD).fit(source)
    fit.state.hyperparameters["area.std"].fixed = False
    explorer = Explorer(fit.state, lambda: None)
    best = fit.state.hyperparameters.vector()
    first = explorer.at(best + 1).value
    explorer.at(best - 5)
    assert explorer.at(best + 1).value == first
    assert explorer.at(best).value > first


def test_auto_averages_by_counts(source):
    assert affordable(2, 1000, 100) == 32
    assert affordable(6, 1000, 100) == 48
    assert affordable(12, 100, 10) == 96
    assert affordable(13, 100, 10) == 0
    assert affordable(6, 100_000, 100) == 0
    options = dict(inducing=8, overdispersion="area", hyperparameters=HELD, average="auto")
    fit = VBAgg(**options).fit(source)
    assert isinstance(fit, AveragedFit) and fit.effective_number >= 12
    with pytest.raises(InputError, match="option average a whole number"):
        VBAgg(average="all")


def test_auto_says_when_it_does_not_average(source, monkeypatch):
    monkeypatch.setattr("workbench.gp.models.vbagg.averaging._AFFORDABLE", 100)
    fit = VBAgg(inducing=8, overdispersion="area", nugget=0.0, hyperparameters=HELD,
                average="auto").fit(source)
    assert not isinstance(fit, AveragedFit)
    assert "takes too long" in fit.history.notes[-1]
