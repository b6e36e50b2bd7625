"""Whole models with exponential and binomial observations: fits, predictions, errors."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import special, stats

from tests.gp import made
from workbench.checks import InputError
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.models.registry import MODELS
from workbench.gp.models.vbagg.model import CentrePointGP, Constant, VBAgg
from workbench.gp.predictive import LogitNormal, LogNormal

SMALL = {"inducing": 12, "max_steps": 60, "tolerance": 1e-3}
GIVEN = {"mean": -1.0, "matern32.variance": 0.8, "matern32.lengthscale": 25.0}


def survey(sizes=(4, 3, 6, 2, 5, 4), trials=60, seed=0, level=-2.5):
    """Positives out of trials whose probability is the weighted mean over the bag."""
    bags = made.bags(sizes, seed=seed)
    log_odds = level + np.log(made.rates(bags))
    weight, members = bags.weight.numpy(), bags.membership.numpy()
    share = weight / np.bincount(members, weight)[members]
    probability = np.bincount(members, share * special.expit(log_odds))
    rng = np.random.default_rng(seed + 1)
    number = rng.integers(trials // 2, 2 * trials + 1, len(sizes))
    value = rng.binomial(number, probability).astype(float)
    bags = replace(bags, trials=torch.as_tensor(number.astype(float)))
    return Source(bags, Targets(torch.as_tensor(value)), "mean", "count", "made survey")


def waits(sizes=(4, 3, 6, 2, 5, 4), seed=0):
    """Exponential totals."""
    bags = made.bags(sizes, seed=seed)
    mean = np.bincount(bags.membership.numpy(), bags.weight.numpy() * made.rates(bags))
    value = mean * np.random.default_rng(seed + 1).standard_exponential(len(sizes))
    return Source(bags, Targets(torch.as_tensor(value)), "sum", "continuous", "made waits")


@pytest.mark.parametrize("name", ["vbagg", "constant", "centre-point"])
def test_a_survey_is_binomial_with_the_logit_link_by_itself(name):
    source = survey()
    options = SMALL if name != "constant" else {"max_steps": 60, "tolerance": 1e-3}
    fit = MODELS[name](**options).fit(source)
    assert fit.state.likelihood.name == "binomial" and fit.state.link.name == "logit"
    law, over = fit.at(source.bags), fit.over(source.bags)
    assert isinstance(law, LogitNormal) and isinstance(over, LogitNormal)
    observed = source.targets.value / source.bags.trials
    if name != "constant":
        error = (observed * (1 - observed) / source.bags.trials).sqrt() + 0.02
        assert ((over.mean - observed).abs() < 3 * error).all()
    else:
        assert float(law.mean[0]) == pytest.approx(
            float(source.targets.value.sum() / source.bags.trials.sum()), abs=0.02)
    # A map's weighted mean is the bag's probability.
    share = source.bags.weight / source.bags.totals[source.bags.membership]
    if name != "centre-point":
        total = torch.zeros(6).double().index_add(0, source.bags.membership, share * law.mean)
        torch.testing.assert_close(total, over.mean, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("link, psi", [("logit", special.expit), ("probit", special.ndtr)])
def test_singleton_surveys_are_a_gaussian_process_classifier(link, psi):
    """Two participants' groups, one individual each: the exact posterior by quadrature on a grid.

    A Gaussian q with exact expectations is close to it: this is the ordinary variational GP
    classifier (for one trial each, a Bernoulli likelihood).
    """
    x = torch.tensor([[0.0], [1.0]]).double()
    bags = Bags(x, torch.tensor([0, 1]), torch.tensor([3.0, 0.2]).double(), 2, Columns(("c",)),
                ("a", "b"), torch.tensor([9.0, 1.0]).double())
    y = torch.tensor([2.0, 1.0]).double()
    fit = VBAgg(kernel="rbf", link=link).condition(
        Source(bags, Targets(y), "mean"), {"mean": -0.5, "rbf.variance": 1.5,
                                           "rbf.lengthscale": 1.0})
    with torch.no_grad():
        gram = fit.state.field.prior(fit.state.x, fit.state.x).numpy()
    grid = np.linspace(-9, 8, 800)
    f = np.stack(np.meshgrid(grid, grid, indexing="ij"), -1)
    log_p = stats.multivariate_normal([-0.5, -0.5], gram).logpdf(f)
    log_p = log_p + stats.binom.logpmf([2, 1], [9, 1], psi(f)).sum(-1)
    evidence = special.logsumexp(log_p) + 2 * np.log(grid[1] - grid[0])
    p = np.exp(log_p - special.logsumexp(log_p))
    mean = np.array([(p * f[..., i]).sum() for i in (0, 1)])
    std = np.sqrt([(p * np.square(f[..., i] - mean[i])).sum() for i in (0, 1)])
    law = fit.latent(bags)
    np.testing.assert_allclose(law.mean, mean, atol=0.06)
    np.testing.assert_allclose(law.std, std, rtol=0.05)
    assert evidence - 0.05 < fit.objective < evidence + 1e-4


@pytest.mark.parametrize("unit", ["bag", "individual"])
def test_binomial_log_density_is_that_of_the_simulations(unit):
    source = survey(trials=12)
    fit = VBAgg(**SMALL).condition(source, GIVEN)
    bags, nobody = source.bags, torch.full((6,), -1)
    simulate = fit.simulate_bags if unit == "bag" else fit.simulate_individuals
    draws = simulate(bags, nobody, 20_000, 0).numpy()
    units = draws.shape[1]
    number = (bags.trials if unit == "bag" else bags.trials[bags.membership]).numpy()
    most = int(number.max())
    mass = np.zeros((most + 1, units))
    for value in range(most + 1):
        y = torch.as_tensor(np.minimum(value, number))
        rows = fit.log_density(y, bags, nobody, unit, 4000, 1)
        mass[value] = np.where(value <= number, np.exp(special.logsumexp(rows, 0)) / len(rows), 0)
    np.testing.assert_allclose(mass.sum(0), 1, atol=1e-9)
    for u in range(units):
        seen = np.bincount(draws[:, u].astype(int), minlength=most + 1) / len(draws)
        assert np.abs(seen - mass[:, u]).max() < 0.02
    if unit == "individual":        # positives of individuals add up to those of their bag
        totals = np.zeros((len(draws), 6))
        np.add.at(totals.T, bags.membership.numpy(), draws.T)
        bag = fit.simulate_bags(bags, nobody, 20_000, 2).numpy()
        np.testing.assert_allclose(totals.mean(0), bag.mean(0), rtol=0.03)
        np.testing.assert_allclose(totals.std(0), bag.std(0), rtol=0.05)


def test_surveys_without_positives_or_without_trials_are_fitted():
    source = survey()
    none = replace(source, targets=Targets(torch.zeros(6).double()))
    law = VBAgg(**SMALL).fit(none).at(source.bags)
    assert float(law.mean.max()) < 0.1
    every = replace(source, targets=Targets(source.bags.trials.clone()))
    assert float(VBAgg(**SMALL).fit(every).at(source.bags).mean.min()) > 0.9
    nobody = survey(trials=0)
    assert nobody.targets.value.tolist() == [0] * 6
    with pytest.raises(InputError, match="no trials at all"):
        VBAgg(**SMALL).fit(nobody)


@pytest.mark.slow
def test_a_survey_learns_a_map():
    """Many areas: better than the flat map at individuals, calibrated within reason."""
    source = survey(sizes=(5,) * 60, trials=150, level=-2.0, seed=4)
    truth = special.expit(-2.0 + np.log(made.rates(source.bags)))
    fit = VBAgg(kernel="linear+matern32", inducing=40).fit(source)
    flat = Constant().fit(source)
    law = fit.at(source.bags)
    errors = [np.square(f.at(source.bags).mean.numpy() - truth).mean() for f in (fit, flat)]
    assert errors[0] < 0.35 * errors[1]
    low, high = law.interval(0.9)
    inside = ((low.numpy() <= truth) & (truth <= high.numpy())).mean()
    assert 0.75 < inside <= 1
    exact = VBAgg(kernel="linear+matern32", inducing=40, bound="monte-carlo").condition(
        source, fit.hyperparameters)
    gap = (exact.latent(source.bags).mean - fit.latent(source.bags).mean).abs()
    assert float((gap / fit.latent(source.bags).std).max()) < 0.35


@pytest.mark.slow
@pytest.mark.parametrize("link, overdispersion, nugget", [
    ("exp", "none", 0.0), ("square", "none", 0.0), ("exp", "area", 0.0), ("exp", "none", 0.3)])
def test_exponential_observations(link, overdispersion, nugget):
    source = waits(sizes=(2,) * 150)
    options = dict(likelihood="exponential", link=link, overdispersion=overdispersion,
                   nugget=nugget, kernel="matern32", inducing=20, tolerance=1e-3)
    fit = VBAgg(**options).fit(source)
    truth = made.rates(source.bags)
    law, flat = fit.at(source.bags), source.mean_rate
    assert np.square(np.log(law.mean.numpy() / truth)).mean() < (
        np.square(np.log(float(flat) / truth)).mean())
    nobody, trained = torch.full((150,), -1), torch.arange(150)
    for known in (nobody, trained):
        bags = fit.simulate_bags(source.bags, known, 4000, 0)
        fine = fit.simulate_individuals(source.bags, known, 4000, 1)
        assert (bags > 0).all() and (fine > 0).all()
        totals = torch.zeros(4000, 150).double().index_add(1, source.bags.membership, fine)
        ratio = totals.log().mean(0) - bags.log().mean(0)
        assert float(ratio.abs().max()) < 0.15
        torch.testing.assert_close(totals.log().std(0), bags.log().std(0), rtol=0.1, atol=0.02)
        # Densities of what was simulated: they integrate to one over log y.
        grid = np.linspace(-8, 12, 1201)
        one = source.bags
        rows = np.stack([special.logsumexp(
            r := fit.log_density(torch.full((150,), float(np.exp(g))).double(), one, known, "bag",
                                 2000, 2), 0) - np.log(len(r)) for g in grid[::10]])
        mass = (np.exp(rows + grid[::10, None])).sum(0) * (grid[10] - grid[0])
        np.testing.assert_allclose(mass, 1, atol=0.01)


def test_exponential_with_a_known_effect_is_the_lognormal_integral():
    source = waits()
    fit = VBAgg(likelihood="exponential", overdispersion="area", **SMALL).condition(
        source, {"mean": 1.0, "matern32.variance": 0.3, "matern32.lengthscale": 40.0,
                 "area.std": 0.6})
    law = fit.over(source.bags, None, area_effect=True)
    assert isinstance(law, LogNormal)
    known = fit.over(source.bags, torch.arange(6), area_effect=True)
    assert (known.scale < law.scale).all()
    # Areas that were observed above the mean of the median area are expected above it: over()
    # has the effect's prior in it, whose mean factor is exp(τ²/2).
    higher = source.targets.value > fit.over(source.bags).mean / np.exp(0.6**2 / 2)
    assert ((known.location > law.location) == higher).all()


SURVEY, WAITS, COUNTS = survey(), waits(), made.counts(made.bags((4, 3, 6, 2, 5, 4)))


@pytest.mark.parametrize("source, options, message", [
    (COUNTS, dict(likelihood="binomial"), "needs the number of trials of every bag"),
    (COUNTS, dict(likelihood="poisson", link="logit"), "link 'logit' is for positives out of"),
    (COUNTS, dict(likelihood="negative-binomial", link="logit"), "link 'logit' is for positives"),
    (COUNTS, dict(likelihood="normal", link="logit"), "link 'logit' is for positives"),
    (COUNTS, dict(likelihood="exponential"), "continuous positive values, but these are counts"),
    (SURVEY, dict(link="exp"), "needs probabilities: use link='logit', not 'exp'"),
    (SURVEY, dict(link="identity"), "needs probabilities: use link='logit', not 'identity'"),
    (SURVEY, dict(likelihood="poisson"), "poisson likelihood cannot use"),
    (SURVEY, dict(likelihood="normal"), "normal likelihood cannot use"),
    (SURVEY, dict(overdispersion="area"), "is not available for these positives out of trials"),
    (SURVEY, dict(nugget=0.2), "a nugget of positives out of trials goes with effects that areas"),
    (SURVEY, dict(nugget="learn"), "here are none: use nugget=0"),
    (SURVEY, dict(bound="jensen"), "'jensen' is not for link 'logit'; use moment or monte-carlo"),
    (WAITS, dict(likelihood="exponential", link="identity"), "exponential likelihood needs posi"),
    (WAITS, dict(likelihood="exponential", link="logit"), "not for the exponential likelihood"),
    (WAITS, dict(likelihood="exponential", link="square", bound="jensen"), "gives no bound for"),
    (WAITS, dict(likelihood="binomial"), "needs the number of trials of every bag"),
    (WAITS, dict(likelihood="exponentail"), "did you mean 'exponential'"),
])
def test_refusals(source, options, message):
    with pytest.raises(InputError, match=message):
        VBAgg(**options).fit(source)


def test_values_that_cannot_be():
    zero = replace(WAITS, targets=Targets(torch.tensor([1.0, 0.0, 2.0, 3.0, 1.0, 1.0]).double()))
    with pytest.raises(InputError, match="1 values are not positive, the first at bag 1.*above ze"):
        VBAgg(likelihood="exponential").fit(zero)
    fit = VBAgg(likelihood="exponential", **SMALL).fit(WAITS)
    with pytest.raises(InputError, match="values are not positive"):
        fit.log_density(zero.targets.value, WAITS.bags, None, "bag", 10, 0)
    with pytest.raises(InputError, match="1 values do not lie between zero and the bag's trials"):
        replace(SURVEY, targets=Targets(torch.tensor([1e4, 0, 1, 1, 1, 1]).double()))
    with pytest.raises(InputError, match=r"one number of trials per bag \(6\), got 2 entries"):
        replace(SURVEY, bags=replace(SURVEY.bags, trials=torch.ones(2).double()))
    with pytest.raises(InputError, match="must be whole and zero or more, but 6 are not"):
        replace(SURVEY, bags=replace(SURVEY.bags, trials=torch.full((6,), 70.5).double()))
    with pytest.raises(InputError, match="positives out of trials are not rates"):
        MODELS["aggregated-gp"]().fit(SURVEY)
    fit = VBAgg(**SMALL).condition(SURVEY, GIVEN)
    blank = replace(SURVEY.bags, trials=None)
    assert torch.isfinite(fit.over(blank).mean).all()      # the probability needs no trials
    for simulate in (fit.simulate_bags, fit.simulate_individuals):
        with pytest.raises(InputError, match="no number of trials"):
            simulate(blank, None, 5, 0)
    with pytest.raises(InputError, match="more than the trials of their bag"):
        fit.log_density(torch.full((6,), 1e4).double(), SURVEY.bags, None, "bag", 10, 0)


def test_float32_and_merged_parts_of_a_survey(monkeypatch):
    monkeypatch.setattr("workbench.gp.models.vbagg.fit.MOST_FEATURES", 12 * 8)     # in parts
    fits = [VBAgg(dtype=dtype, **SMALL).condition(SURVEY, GIVEN)
            for dtype in ("float64", "float32")]
    for fit in fits:
        assert fit.simulate_individuals(SURVEY.bags, None, 3, 0).shape == (3, 24)
    single = fits[1].at(SURVEY.bags)
    assert single.mean.dtype == torch.float32
    torch.testing.assert_close(single.mean.double(), fits[0].at(SURVEY.bags).mean, rtol=0.01,
                               atol=1e-3)
    torch.testing.assert_close(fits[1].over(SURVEY.bags).mean.double(),
                               fits[0].over(SURVEY.bags).mean, rtol=0.01, atol=1e-3)
    assert isinstance(CentrePointGP(**SMALL).condition(SURVEY, GIVEN).over(SURVEY.bags),
                      LogitNormal)
