"""Totals that maps stand for: expected counts that add up, and `over`'s coverage."""

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.gp.data.bags import Source, Targets
from workbench.gp.expectations.exponentials import _about_the_mean, _pairwise, matched, moment
from workbench.gp.fields.geometry import Geometry, geometry
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.models.registry import MODELS
from workbench.gp.models.vbagg.model import VBAgg

EFFECTS = {
    "area": ({"overdispersion": "area"}, {"area.std": 0.8}),
    "nugget": ({"nugget": 0.8}, {}),
    "both": ({"overdispersion": "area", "nugget": 0.5}, {"area.std": 0.6}),
    "negative binomial": ({"likelihood": "negative-binomial"}, {"dispersion": 1.5}),
}


@pytest.mark.parametrize("link", ["exp", "square"])
@pytest.mark.parametrize("effects", EFFECTS)
def test_the_map_adds_up_to_the_observed_total(effects, link):
    """Counts of 1,500 areas drawn from the model; each leaves out E e^a = 1.38 if the map does."""
    options, given = EFFECTS[effects]
    bags = made.bags((3,) * 1500, seed=4)
    rng, tau, nu = np.random.default_rng(2), given.get("area.std", 0.0), options.get("nugget", 0.0)
    if link == "exp":
        f, known = np.full(4500, 2.0), {"mean": 2.0}
    else:
        f, known = np.full(4500, 2.7), {"mean": 2.7}
    members = bags.membership.numpy()
    f = f + tau * rng.standard_normal(1500)[members] + nu * rng.standard_normal(4500)
    rate = np.exp(f) if link == "exp" else f**2
    if "dispersion" in given:
        rate = rate * rng.gamma(1.5, 1 / 1.5, 1500)[members]
    total = rng.poisson(np.bincount(members, rate * bags.weight.numpy())).astype(float)
    source = Source(bags, Targets(torch.as_tensor(total)))
    known |= given | {"matern32.variance": 1e-6, "matern32.lengthscale": 50.0}
    fit = VBAgg(link=link, inducing=4, **options).condition(source, known)
    expected = float((fit.at(bags).mean * bags.weight).sum())
    error = 5 * total.std() * np.sqrt(1500) / total.sum()
    assert expected == pytest.approx(total.sum(), rel=error)
    assert float(fit.over(bags).mean.sum()) == pytest.approx(expected, rel=1e-9)
    # Given the totals they are met far more closely, one by one.
    law = fit.at(bags, torch.arange(1500), True)
    over = fit.over(bags, torch.arange(1500), True)
    each = OPERATORS["sum"](bags)(law.mean)
    torch.testing.assert_close(each, over.mean)
    assert float((each - torch.as_tensor(total)).abs().mean()) < 0.3 * np.abs(
        total - total.mean()).mean()


# Least and greatest coverage of nominal 95 % over the grid below, `moment`'s and `matched`'s: the
# log-normal of a wide sum errs on the wide side.
BOUNDS = {0.5: (94.0, 96.0), 1.0: (94.0, 97.0), 1.5: (94.0, 98.5)}


@pytest.mark.parametrize("sd", BOUNDS)
@pytest.mark.parametrize("common", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("size", [1, 3, 30])
def test_over_covers_what_it_says(sd, common, size):
    """A known covariance of f in each bag: a share that all have in common, the rest their own."""
    bags = made.bags((size,) * 40, seed=1)
    source = Source(bags, Targets(torch.full((40,), 50.0).double()))
    options = {"overdispersion": "area"} if common else {}
    given = {"mean": 1.0, "matern32.variance": 1e-8, "matern32.lengthscale": 50.0}
    given |= {"area.std": sd * np.sqrt(common)} if common else {}
    fit = VBAgg(nugget=float(sd * np.sqrt(1 - common)), inducing=4, **options).condition(
        source, given)
    draws = fit.draw_totals(bags, None, 4000, 0)
    law = fit.over(bags)
    low, high = law.interval(0.95)
    covered = 100 * float(((low <= draws) & (draws <= high)).double().mean())
    slack = 5 * 100 * np.sqrt(0.05 * 0.95 / draws.numel()) if size == 1 else 0.0
    least, most = BOUNDS[sd]
    assert least - slack <= covered <= most + slack
    assert ((draws.mean(0) - law.mean).abs() < 5 * draws.std(0) / np.sqrt(4000)).all()


def test_first_order_variance_is_too_little_where_individuals_vary_apart():
    """What `moment` covers of the same draws: the reason for `matched`."""
    bags = made.bags((30,) * 40, seed=1)
    fit = VBAgg(nugget=1.0, inducing=4).condition(
        Source(bags, Targets(torch.full((40,), 50.0).double())),
        {"mean": 1.0, "matern32.variance": 1e-8, "matern32.lengthscale": 50.0})
    draws = fit.draw_totals(bags, None, 4000, 0).log()
    moments = fit.moments(fit._view(bags))
    centre = moments.mean.log() - moments.effect_variance / 2
    z = (draws - centre) / moments.effect_variance.sqrt()
    assert float((z.abs() < 1.96).double().mean()) < 0.92


def test_the_form_for_large_bags_is_near_the_sum_over_pairs():
    bags = made.bags((12, 20, 7), seed=5)
    source = made.counts(bags)
    for variance, slack in ((0.2, 0.01), (1.0, 0.06)):
        fit = VBAgg(kernel="matern32", inducing=5).condition(
            source, {"mean": 1.0, "matern32.variance": variance, "matern32.lengthscale": 15.0})
        state = fit.state
        seen, q, width = fit._view(bags), state.field.q_mean, len(state.field.q_mean)
        prior = torch.eye(width).double()           # as wide as the prior
        share = torch.rand(39, generator=torch.Generator().manual_seed(0)).double()
        share = share / seen.sum(share)[bags.membership]
        exact, near = _pairwise(seen, prior, share), _about_the_mean(seen, prior, share)
        torch.testing.assert_close(near.log1p(), exact.log1p(), rtol=slack, atol=0)
        # A brute-force Gaussian: every pair of the dense covariance.
        phi, m = seen.projection.features, bags.membership
        dense = phi @ prior @ phi.mT + torch.diag(seen.residual.diagonal)
        whole = state.field.unexplained(state.transform(bags.x), phi) + phi @ prior @ phi.mT
        whole = torch.where(torch.eye(39, dtype=torch.bool), dense, whole)
        same = (m[:, None] == m).double()
        by_hand = torch.zeros(3).double().index_add(
            0, m, ((share[:, None] * share * whole.expm1()) * same).sum(1))
        torch.testing.assert_close(exact, by_hand, rtol=1e-9, atol=1e-12)
        wide, first = matched(seen, q, prior), moment(seen, q, prior)
        torch.testing.assert_close(wide.mean, first.mean)
        assert (wide.log_variance > first.log_variance).all()


def test_clustered_bags_take_the_form_for_large_bags(monkeypatch):
    monkeypatch.setattr("workbench.gp.fields.geometry.MOST_PAIRS", 100)
    bags = made.bags((30, 40), seed=6)
    fit = VBAgg(nugget=0.6, inducing=5).condition(
        made.counts(bags), {"mean": 1.0, "matern32.variance": 0.4, "matern32.lengthscale": 30.0})
    seen = geometry(fit.state.transform(bags.x), OPERATORS["sum"](bags))
    assert isinstance(seen, Geometry) and seen.clusters is not None
    new = made.bags((30, 40), seed=9)
    law, draws = fit.over(new), fit.draw_totals(new, None, 20_000, 0)
    assert ((draws.mean(0) - law.mean).abs() < 5 * draws.std(0) / np.sqrt(20_000)).all()
    np.testing.assert_allclose(draws.std(0), law.std, rtol=0.05)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("name", ["aggregated-gp", "cmp", "var-cmp"])
def test_totals_of_exact_models_are_drawn_from_the_covariance_of_the_bags(name):
    source = made.continuous(made.bags((4, 3, 6, 2)))
    field = MODELS[name](kernel="linear+matern32", max_steps=2, tolerance=1.0).fit(
        source).state.field
    new = made.bags((30, 5, 1), seed=8)
    operator = OPERATORS["mean"](new)
    mean, covariance = field.joint(new.x)
    got = field.joint_of_bags(new.x, operator)
    torch.testing.assert_close(got[0], operator(mean))
    torch.testing.assert_close(got[1], operator.dense() @ covariance @ operator.dense().mT)
