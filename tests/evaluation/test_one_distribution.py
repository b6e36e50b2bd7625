"""Contract of every scoreable model: mean, intervals, density and draws are of one distribution."""

from dataclasses import fields

import numpy as np
import pytest
import torch

from workbench.datasets import load
from workbench.evaluation.baselines import PopulationSplit
from workbench.evaluation.folding import subset
from workbench.evaluation.units import crps_of, score_units, targets
from workbench.labelled import models

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings(
    "ignore::workbench.checks.ConvergenceWarning",
    "ignore::workbench.checks.ExtrapolationWarning")

SAMPLES, LEVELS = 2000, (0.1, 0.5, 0.9)
SMALL = {"inducing": 10, "max_steps": 8, "boundary": "half", "restarts": 1,
         "effort": "quick", "workers": 1}

CASES = {name: (name, {}) for name in models()} | {
    "area": ("vbagg", {"overdispersion": "area"}),
    "area and nugget": ("vbagg", {"overdispersion": "area", "nugget": 0.3}),
    "negative binomial": ("vbagg", {"likelihood": "negative-binomial"}),
    "averaged": ("vbagg", {"overdispersion": "area", "average": 4}),
    "square": ("vbagg", {"link": "square", "overdispersion": "none", "nugget": 0.0}),
    "square, area and nugget": ("vbagg", {"link": "square", "overdispersion": "area",
                                          "nugget": "learn"}),
    "identity": ("vbagg", {"likelihood": "normal", "link": "identity", "nugget": 0.1}),
    "white noise of areas": ("quasi-likelihood", {"nugget": 0.4}),
}


@pytest.fixture(scope="module")
def counts():
    """Counts of 24 bags; every second bag is new to the fits."""
    made = load("swiss-roll", n_bags=24, mean_size=5, size_std=3)
    rng = np.random.default_rng(0)
    rate = np.exp(1.0 + 0.3 * np.sin(made["covariates"].values[:, 0] / 4))
    effect = np.exp(0.5 * rng.standard_normal(24))[made["membership"].values]
    fine = rng.poisson(rate * effect * made["weight"].values).astype(float)
    total = np.bincount(made["membership"].values, fine)
    return made.assign(
        individual_value=("individual", fine), truth=("individual", rate),
        value=made["value"].copy(data=total).assign_attrs(kind="count", aggregation="sum"))


def fitted(case, ds):
    name, options = CASES[case]
    kind = models()[name]
    known = {one.name for one in fields(kind.torch_model.options_type)}
    model = kind(**{k: v for k, v in (SMALL | options).items() if k in known})
    return model.fit(ds)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the values are counts, but")
@pytest.mark.parametrize("case", CASES)
def test_mean_quantiles_and_draws_agree(case, counts):
    train = subset(counts, np.arange(24) % 2 == 0)
    fit = fitted(case, train)
    judged = score_units(fit, counts, targets(counts), 200, 0)
    rate = fit.at(counts, area_effect=True)
    draws = {
        "bag": fit.simulate(counts, "bag", SAMPLES, 7).values,
        "individual": fit.simulate(counts, "individual", SAMPLES, 8).values,
        "rate": rate.sample(SAMPLES, 9).values,
    }
    for target, drawn in draws.items():
        error = drawn.std(0) / np.sqrt(SAMPLES) + 1e-9
        gap = np.abs(drawn.mean(0) - judged[target]["mean"].values)
        # Beside the Monte Carlo error: area effects and nuggets act on an area to first order.
        slack = 0.02 * np.abs(judged[target]["mean"].values)
        assert (gap < 5 * error + slack).all(), f"{target}: {gap.max()}"
    # The rate's quantiles are of a stated distribution; the others are the draws' own. Draws of
    # Point predictors are all at their one quantile.
    point = bool((rate.std.values == 0).all())
    for level, ends in zip(LEVELS, rate.quantile(list(LEVELS)).values, strict=True):
        share = (draws["rate"] <= ends + 1e-12).mean(0)
        wanted = 1.0 if point else level
        limit = 5 * np.sqrt(level * (1 - level) / SAMPLES)
        # GPRN's field is a product, which `at` takes as Normal: its first moments are exact.
        gap = np.abs(share - wanted)
        if "gprn" in case:
            assert gap.mean() < 0.1
        elif case == "square, area and nugget":
            # To first order the effects of an area whose total is known act on its logarithm:
            # coarse where f is not far from zero, which is a matter of a few individuals.
            assert gap.mean() < 0.03 and gap.max() < 0.13
        else:
            assert (gap < limit + 0.03).all(), f"{level}: {gap.max()}"


@pytest.mark.slow
@pytest.mark.parametrize("case", ["vbagg", "area", "negative binomial", "area and nugget",
                                  "averaged", "quasi-likelihood", "white noise of areas"])
@pytest.mark.parametrize("unit", ["bag", "individual"])
def test_the_density_is_that_of_the_draws(case, unit, counts):
    """The cdf that densities add up to, at each unit's median draw, against the draws' own."""
    train = subset(counts, np.arange(24) % 2 == 0)
    fit = fitted(case, train)
    drawn = fit.simulate(counts, unit, SAMPLES, 5).values
    middle = np.quantile(drawn, 0.5, axis=0, method="inverted_cdf").astype(int)
    below = np.zeros(drawn.shape[1])
    name = "value" if unit == "bag" else "individual_value"
    data = fit._data(counts)
    bags, trained = fit._bags(data), fit._trained(data)         # values stay the training ones
    for k in range(int(middle.max()) + 1):
        y = torch.full((drawn.shape[1],), float(k)).double()
        logs = fit.inner.log_density(y, bags, trained, unit, 1000, 3).detach().numpy()
        below += np.exp(logs).mean(0) * (k <= middle)
    share = (drawn <= middle).mean(0)
    assert name in counts and (np.abs(below - share) < 5 * 0.5 / np.sqrt(1000) + 0.01).all()


def surveys(counts):
    """Positives out of trials, of bags and of individuals among their bag's participants."""
    rng, members = np.random.default_rng(2), counts["membership"].values
    trials = np.full(24, 40.0)
    share = counts["weight"].values / np.bincount(members, counts["weight"].values)[members]
    chance = 1 / (1 + np.exp(-np.sin(counts["covariates"].values[:, 0] / 4)))
    fine = rng.binomial(40, share * chance).astype(float)
    value = np.minimum(np.bincount(members, fine), trials)
    return counts.drop_vars("truth").assign(
        trials=("bag", trials), individual_value=("individual", fine),
        value=counts["value"].copy(data=value).assign_attrs(aggregation="mean"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["binomial", "exponential"])
def test_other_likelihoods_agree_and_preserve_totals(kind, counts):
    if kind == "binomial":
        ds = surveys(counts)
    else:
        ds = counts.assign(value=counts["value"] + 1.0,
                           individual_value=counts["individual_value"] + 0.1)
        ds["value"].attrs |= {"kind": "continuous", "aggregation": "sum"}
        ds["individual_value"].attrs |= {"kind": "continuous", "aggregation": "sum"}
    fit = models()["vbagg"](likelihood=kind, inducing=10, max_steps=8).fit(ds)
    judged = score_units(fit, ds, ["bag", "individual"], 200, 0)
    for unit, found in judged.items():
        drawn = fit.simulate(ds, unit, SAMPLES, 4).values
        error = drawn.std(0) / np.sqrt(SAMPLES)
        assert (np.abs(drawn.mean(0) - found["mean"].values) < 5 * error).all()
    kept = fit.sample(ds, 50, preserve_totals=True).values
    for row in kept:
        np.testing.assert_allclose(np.bincount(ds["membership"].values, row), ds["value"].values)


def test_the_crps_alone_is_that_of_all_scores_to_the_bit(counts, monkeypatch):
    monkeypatch.setattr("workbench.evaluation.units.BUDGET", 100 * 40)      # in several pieces
    for fit in (fitted("area", counts), PopulationSplit().fit(counts).given_totals()):
        for target in targets(counts):
            whole = score_units(fit, counts, [target], 100, 5)[target]["crps"].values
            np.testing.assert_array_equal(crps_of(fit, counts, target, 100, 5), whole)
