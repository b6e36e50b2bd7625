"""q on clusters whose mean rates are those of their members: near q on all individuals."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.gp.data.bags import Source, Targets
from workbench.gp.models.vbagg.correcting import lacking
from workbench.gp.models.vbagg.model import VBAgg

pytestmark = pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")

OPTIONS = {"kernel": "rbf(covariates)+matern32(coordinates)", "inducing": 30, "compress": 3}
LINKS = {
    "exp": {"likelihood": "poisson", "overdispersion": "none", "nugget": 0.0},
    "square": {"likelihood": "poisson", "overdispersion": "none", "nugget": 0.0},
    "identity": {"likelihood": "normal"},
    "logit": {"likelihood": "binomial"},
}


@pytest.fixture(scope="module")
def wide():
    """Bags of thirty unlike individuals each."""
    return made.bags((30,) * 40)


def observed(bags, link: str) -> Source:
    if link == "identity":
        return made.continuous(bags, aggregation="sum")
    if link != "logit":
        return made.counts(bags, scale=20.0)
    rng, members = np.random.default_rng(3), bags.membership.numpy()
    weight, share = bags.weight.numpy(), 1 / (1 + 2 / made.rates(bags))
    mean = np.bincount(members, weight * share) / np.bincount(members, weight)
    trials = np.full(bags.count, 400.0)
    value = torch.as_tensor(rng.binomial(400, mean).astype(float))
    return Source(replace(bags, trials=torch.as_tensor(trials)), Targets(value), "mean", "count")


@pytest.fixture(params=LINKS)
def fits(request, wide, monkeypatch):
    """On all individuals, on clusters as they are, and corrected, at the same hyperparameters."""
    monkeypatch.setattr("workbench.gp.models.vbagg.design.SMALL", 10)
    monkeypatch.setattr("workbench.gp.models.vbagg.design.FEW_PAIRS", 10)
    source, link = observed(wide, request.param), request.param
    options = {**OPTIONS, **LINKS[link], "link": link, "max_steps": 5}
    with monkeypatch.context() as patched:
        patched.setattr("workbench.gp.models.vbagg.state.MOST_FEATURES", 100)
        corrected = VBAgg(**options).fit(source)
        patched.setattr("workbench.gp.models.vbagg.state.correct", lambda *given: None)
        plain = VBAgg(**options).fit(source)
    values = made.values(corrected)
    assert values == made.values(plain)
    whole = VBAgg(**options | {"compress": 0}).condition(source, values)
    return source, whole, plain, corrected


def test_maps_are_nearer_to_those_that_saw_all_individuals(fits):
    source, whole, plain, corrected = fits
    exact = whole.at(source.bags).mean
    errors = [float((one.at(source.bags).mean - exact).square().mean().sqrt())
              for one in (plain, corrected)]
    assert errors[1] < 0.7 * errors[0], errors
    assert any("mean rates of their members" in note for note in corrected.history.notes)
    assert not any("members" in note for note in plain.history.notes)


def test_totals_of_clusters_are_those_of_their_members(fits):
    source, _, _, corrected = fits
    state = corrected.state
    clusters = state.design.clusters
    with torch.no_grad():
        f = state.field.project(state.x).marginals(state.field.q_mean, state.field.q_covariance)
        draws = f[0] + f[1].sqrt() * torch.randn(
            20_000, len(state.x), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        rate = state.link.psi(draws).mean(0)
        seen = state.project(state.learning).projection.marginals(
            state.field.q_mean, state.field.q_covariance)
        own = state.link.distribution(*seen).mean
    total = torch.zeros_like(own).index_add(0, clusters.of, state.bags.weight * rate)
    torch.testing.assert_close(own, total / clusters.bags.weight, rtol=0.03, atol=0.03)


def test_given_hyperparameters_find_the_same(wide, monkeypatch):
    monkeypatch.setattr("workbench.gp.models.vbagg.design.SMALL", 10)
    monkeypatch.setattr("workbench.gp.models.vbagg.state.MOST_FEATURES", 100)
    source = observed(wide, "exp")
    fit = VBAgg(max_steps=5, **OPTIONS).fit(source)
    again = VBAgg(**OPTIONS).condition(source, made.values(fit))
    torch.testing.assert_close(again.at(wide).mean, fit.at(wide).mean, rtol=1e-3, atol=0)
    assert again.history.notes[-1] == fit.history.notes[-1]


def test_nothing_is_lacking_where_clusters_are_individuals(wide, monkeypatch):
    monkeypatch.setattr("workbench.gp.models.vbagg.design.SMALL", 10)
    monkeypatch.setattr("workbench.gp.models.vbagg.design.FEW_PAIRS", 10)
    source = made.counts(replace(wide, x=wide.x[wide.membership * 30]))     # all alike in a bag
    fit = VBAgg(max_steps=3, **OPTIONS | {"compress": 1}).fit(source)
    assert fit.state.learning is not fit.state.geometry
    with torch.no_grad():
        assert float(lacking(fit.state).abs().max()) < 1e-9
