"""Draws that preserve totals: exact sums, and exact conditional distributions of small cases."""

from dataclasses import fields

import numpy as np
import pytest
import torch
from scipy import stats

from tests.gp import made
from tests.gp.test_effects import conditioned, exact, tiny
from workbench.checks import InputError
from workbench.gp.likelihoods.sharing import allocate
from workbench.gp.models.exact.bagged_gp import AggregatedGP
from workbench.gp.models.registry import MODELS
from workbench.gp.models.summaries.model import QuasiLikelihoodGP
from workbench.gp.models.vbagg.model import VBAgg

# Few steps and few areas are enough for what is tested here.
pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")

COUNTS = {"mean": 3.0, "matern32.variance": 0.3, "matern32.lengthscale": 40.0}
SUMS = {
    "poisson": {}, "area": {"overdispersion": "area"}, "nugget": {"nugget": 0.4},
    "both": {"overdispersion": "area", "nugget": 0.3},
    "negative binomial": {"likelihood": "negative-binomial"}, "square": {"link": "square"},
    "averaged": {"overdispersion": "area", "average": 4},
}


def sums(values, bags, aggregation="sum"):
    weight = torch.ones_like(bags.weight) if aggregation == "sum" else bags.weight
    total = torch.zeros(len(values), bags.count).double().index_add(
        1, bags.membership, values * weight)
    return total if aggregation == "sum" else total / bags.totals


@pytest.mark.parametrize("case", SUMS)
def test_counts_add_up_to_the_totals_exactly(case):
    source = made.counts(made.bags((5,) * 12))
    fit = VBAgg(inducing=8, max_steps=5, **SUMS[case]).fit(source)
    y = source.targets.value
    for trained in (torch.arange(12), None):
        expected, drawn = fit.preserve(source.bags, trained, y, 300, 1)
        assert torch.equal(sums(drawn, source.bags), y.expand(300, -1))
        assert torch.equal(drawn, drawn.round()) and (drawn >= 0).all()
        torch.testing.assert_close(sums(expected, source.bags), y.expand(300, -1))
    same = fit.preserve(source.bags, None, y, 300, 1)[1]
    assert torch.equal(drawn, same)


@pytest.mark.parametrize("name", ["constant", "bag-constant", "nystrom", "neural-network",
                                  "bag-pixel", "centre-point", "quasi-likelihood", "aggregated-gp",
                                  "gpr", "bagg-gp"])
def test_other_models_preserve_totals(name):
    source = made.counts(made.bags((5,) * 12))
    kind, options = MODELS[name], {"inducing": 8, "max_steps": 5, "boundary": "half"}
    known = {one.name for one in fields(kind.options_type)}
    fit = kind(**{k: v for k, v in options.items() if k in known}).fit(source)
    y = source.targets.value
    for values in fit.preserve(source.bags, torch.arange(12), y, 50, 2):
        torch.testing.assert_close(sums(values, source.bags), y.expand(50, -1))


def test_models_of_several_fields_refuse():
    fit = MODELS["mr-gp"](max_steps=2).fit(made.continuous(made.bags((3, 3))))
    with pytest.raises(InputError, match="mr-gp has no draws that preserve totals"):
        fit.preserve(made.bags((3, 3)), None, torch.ones(2), 5, 0)


@pytest.mark.parametrize("aggregation", ["mean", "sum"])
@pytest.mark.parametrize("model", [
    VBAgg(likelihood="normal", link="identity", inducing=10), AggregatedGP()], ids=["vb", "exact"])
def test_values_meet_means_and_sums(aggregation, model):
    source = made.continuous(made.bags((5,) * 10), aggregation)
    fit = model.condition(source, {"mean": 1.0, "matern32.variance": 0.3,
                                   "matern32.lengthscale": 40.0, "noise.variance": 0.05})
    y = source.targets.value
    for values in fit.preserve(source.bags, None, y, 200, 1):
        torch.testing.assert_close(sums(values, source.bags, aggregation), y.expand(200, -1))


def test_known_noise_is_spread_over_the_individuals():
    source = made.continuous(made.bags((5,) * 4), known=[0.1, 0.2, 0.1, 0.3])
    fit = AggregatedGP(noise="known").condition(
        source, {"mean": 1.0, "matern32.variance": 0.3, "matern32.lengthscale": 40.0})
    _, drawn = fit.preserve(source.bags, None, source.targets.value, 50, 1)
    torch.testing.assert_close(sums(drawn, source.bags, "mean"),
                               source.targets.value.expand(50, -1))


def test_normal_draws_are_the_exact_conditional():
    """Individuals f + e given Σ (f + e) = y, against Gaussian conditioning of the prior."""
    bags = made.bags((3, 4), weights=False)
    source = made.continuous(bags, "sum")
    theta = {"mean": 0.5, "rbf.variance": 1.3, "rbf.lengthscale": 1.5, "noise.variance": 0.4}
    fit = AggregatedGP(kernel="rbf", noise="size").condition(source, theta)
    y = source.targets.value.numpy()
    with torch.no_grad():
        prior = fit.state.field.prior(*(2 * (fit.state.transform(bags.x),))).numpy()
    prior = prior + 0.4 * np.eye(7)                 # of single observations
    a = (bags.membership.numpy() == np.arange(2)[:, None]).astype(float)
    gain = prior @ a.T @ np.linalg.inv(a @ prior @ a.T)
    mean, covariance = 0.5 + gain @ (y - a @ np.full(7, 0.5)), prior - gain @ a @ prior
    _, drawn = fit.preserve(bags, None, source.targets.value, 60_000, 3)
    std = np.sqrt(covariance.diagonal())
    assert (np.abs(drawn.mean(0).numpy() - mean) < 5 * std / np.sqrt(60_000)).all()
    np.testing.assert_allclose(np.cov(drawn.numpy().T), covariance, atol=0.02)


@pytest.mark.parametrize("area, nugget, slack", [(0.4, 0.0, 0.03), (0.0, 0.4, 0.08)])
def test_counts_against_importance_sampling_of_the_exact_conditional(area, nugget, slack):
    source = tiny()
    fit = conditioned(source, area, nugget)
    _, both, w, effective = exact(fit, source, area, nugget)
    rate = np.exp(both) * source.bags.weight.numpy()
    members = source.bags.membership.numpy()
    share = rate / np.stack([rate[:, members == b].sum(1) for b in (0, 1)], 1)[:, members]
    y = source.targets.value.numpy()[members]
    mean = w @ (share * y)
    variance = w @ np.square(share * y - mean) + w @ (y * share * (1 - share))
    _, drawn = fit.preserve(source.bags, torch.tensor([0, 1]), source.targets.value, 40_000, 1)
    error = 4.5 * np.sqrt(variance) * np.sqrt(1 / effective + 1 / 40_000)
    assert (np.abs(drawn.mean(0).numpy() - mean) < error + slack * np.sqrt(variance)).all()
    np.testing.assert_allclose(drawn.std(0), np.sqrt(variance), rtol=0.05 + slack)


def test_the_multinomial_is_one():
    p = torch.tensor([[0.2, 0.3, 0.5]]).double().expand(50_000, -1)
    expected, drawn = allocate(7 * p, torch.zeros(3, dtype=torch.int64),
                               torch.tensor([4.0]).double(), np.random.default_rng(0))
    torch.testing.assert_close(expected, 4 * p)
    for i, share in enumerate((0.2, 0.3, 0.5)):
        seen = np.bincount(drawn[:, i].long(), minlength=5) / 50_000
        np.testing.assert_allclose(seen, stats.binom.pmf(range(5), 4, share), atol=0.012)


def test_fractions_zeros_and_bad_totals():
    p = torch.rand(200, 5, generator=torch.Generator().manual_seed(1)).double() + 0.1
    members, rng = torch.tensor([0, 0, 1, 1, 2]), np.random.default_rng(0)
    totals = torch.tensor([2.4, 0.3, 0.0], dtype=torch.float64)
    _, drawn = allocate(p, members, totals, rng)
    got = torch.zeros(200, 3).double().index_add(1, members, drawn)
    torch.testing.assert_close(got, totals.expand(200, -1))
    units = drawn[:, :2] / 0.8                      # three units of 0.8 each
    torch.testing.assert_close(units, units.round(), atol=1e-9, rtol=0)
    with pytest.raises(InputError, match="totals of zero or more, got -1 at bag 1"):
        allocate(p, members, torch.tensor([1.0, -1.0, 0.0]).double(), rng)
    with pytest.raises(InputError, match="nothing is expected"):
        allocate(p * torch.tensor([1.0, 1, 0, 0, 1]), members, totals, rng)


def test_joint_draws_have_the_covariance_of_the_posterior():
    source = made.continuous(made.bags((4,) * 6), "mean")
    fit = AggregatedGP().condition(source, {"mean": 1.0, "matern32.variance": 0.5,
                                            "matern32.lengthscale": 40.0, "noise.variance": 0.05})
    mean, covariance = fit.state.field.joint(fit.state.transform(source.bags.x))
    drawn = fit.draw_rates(source.bags, None, 40_000, 0)
    np.testing.assert_allclose(np.cov(drawn.numpy().T), covariance.numpy(), atol=0.02)
    whole = fit.draw_totals(source.bags, None, 40_000, 0)
    np.testing.assert_allclose(whole.std(0), fit.over(source.bags).std, rtol=0.03)
    # Independent draws of places would make sums far too narrow.
    alone = sums(fit.at(source.bags).sample(40_000), source.bags, "mean").std(0)
    assert float((alone / whole.std(0)).mean()) < 0.8


def test_joint_draws_of_the_quasi_likelihood_share_the_white_noise_of_an_area():
    source = made.counts(made.bags((4,) * 8))
    fit = QuasiLikelihoodGP(nugget=0.5, max_steps=5).fit(source)
    new = made.bags((4,) * 3, seed=5)
    drawn = fit.draw_rates(new, torch.full((3,), -1), 20_000, 1).log()
    latent = fit.draw_latent(new, 20_000, 2)
    gap = np.cov(drawn.numpy().T) - np.cov(latent.numpy().T)
    same = (new.membership[:, None] == new.membership).numpy()
    np.testing.assert_allclose(gap[same], 0.25, atol=0.035)
    np.testing.assert_allclose(gap[~same], 0.0, atol=0.035)


def test_more_individuals_than_are_drawn_jointly_come_in_runs_of_bags(monkeypatch):
    monkeypatch.setattr("workbench.gp.models.joint.MOST_JOINT", 8)
    source = made.continuous(made.bags((4,) * 6), "mean")
    fit = AggregatedGP().condition(source, {"mean": 1.0, "matern32.variance": 0.5,
                                            "matern32.lengthscale": 40.0, "noise.variance": 0.05})
    drawn = fit.draw_totals(source.bags, None, 20_000, 0)
    np.testing.assert_allclose(drawn.std(0), fit.over(source.bags).std, rtol=0.04)
