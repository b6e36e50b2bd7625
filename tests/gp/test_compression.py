"""Clusters of identical individuals lose nothing: the objective is that of all individuals."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.gp.data.compression import compress
from workbench.gp.fields.geometry import MOST_PAIRS, Geometry
from workbench.gp.models.vbagg import design
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState

PLACES, COPIES, MOST = 5, 7, 30


def crowded(count=8, seed=0):
    """Counts of bags of places, at each of which live individuals that differ in weight alone."""
    rng = np.random.default_rng(seed)
    places = made.bags((PLACES,) * count, seed=seed)
    order = torch.arange(count * PLACES).repeat_interleave(COPIES)
    return made.counts(replace(places, x=places.x[order], membership=places.membership[order],
                               weight=torch.as_tensor(rng.lognormal(0, 1, len(order)))))


def gaussian(width, seed=1):
    """Some q."""
    rng = np.random.default_rng(seed)
    root = rng.normal(0, 0.2, (width, width)) + np.diag(rng.uniform(0.2, 0.6, width))
    return torch.as_tensor(rng.normal(0, 0.5, width)), torch.as_tensor(root @ root.T)


# Not under square with bound="jensen": its Var T is of marginals alone, with or without a nugget.
OBJECTIVES = {
    "exp": {}, "exp, jensen": {"bound": "jensen"}, "a nugget alone": {"overdispersion": "none"},
    "square": {"link": "square"}, "square, taylor": {"link": "square", "bound": "taylor"},
    "negative binomial": {"likelihood": "negative-binomial", "nugget": "learn"},
    "Normal": {"likelihood": "normal", "nugget": "learn"},
}


@pytest.mark.parametrize("case", OBJECTIVES)
def test_the_objective_with_a_nugget_is_that_of_all_individuals(case, monkeypatch):
    monkeypatch.setattr(design, "SMALL", 100)
    source = crowded()
    model = VBAgg(inducing=4, compress=MOST, initial={"nugget.std": 0.7}, **OBJECTIVES[case])
    state = VariationalState(model, source)
    learning = state.learning
    assert len(learning.x) < len(state.x) == 8 * PLACES * COPIES
    clusters = compress(replace(state.bags, x=state.x), MOST)     # none of unlike individuals
    torch.testing.assert_close(clusters.bags.x[clusters.of], state.x, rtol=0, atol=1e-12)
    assert float(state.nugget_variance.detach()) == pytest.approx(0.49)
    q = gaussian(len(state.field.q_mean))

    def objective(seen: Geometry) -> float:
        with torch.no_grad():
            return float(state.objective(state.project(seen), *q))

    whole = objective(state.geometry)
    assert objective(learning) == pytest.approx(whole, rel=1e-11)
    if case != "negative binomial" and case != "Normal":
        # A nugget of clusters, not of their members, is another model.
        assert abs(objective(replace(learning, concentration=None)) - whole) > 1e-2


def test_gradients_of_hyperparameters_are_those_of_all_individuals(monkeypatch):
    monkeypatch.setattr(design, "SMALL", 100)
    state = VariationalState(VBAgg(inducing=4, compress=MOST), crowded())
    q, gradients = gaussian(len(state.field.q_mean)), []
    for seen in (state.geometry, state.learning):
        for item in state.hyperparameters.free:
            item.raw.grad = None
        state.objective(state.project(seen), *q).backward()
        gradients.append(state.hyperparameters.gradient().copy())
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-9)
    assert np.abs(gradients[0]).min() > 1e-6


def test_concentration_is_the_sum_of_squared_shares():
    source = crowded(count=3)
    clusters = compress(source.bags, MOST)
    found = clusters.concentration(source.bags.weight)
    for k in range(len(found)):
        weight = source.bags.weight[clusters.of == k]
        assert float(found[k]) == pytest.approx(float((weight / weight.sum()).square().sum()))
    assert bool((found > 0).all() and (found <= 1 + 1e-12).all()) and float(found.min()) < 0.9
    alone = compress(source.bags, 1000)
    torch.testing.assert_close(alone.concentration(source.bags.weight),
                               torch.ones(len(source.bags.x)).double())


def test_large_bags_keep_their_concentration_where_pairs_are_too_many(monkeypatch):
    """Clusters of clusters: the nugget counts by members still."""
    monkeypatch.setattr(design, "SMALL", 100)
    monkeypatch.setattr("workbench.gp.fields.geometry.MOST_PAIRS", 100)
    state = VariationalState(VBAgg(inducing=4, compress=MOST), crowded())
    assert state.geometry.clusters is not None and MOST_PAIRS > 100
    assert state.learning.concentration is not None
    assert len(state.learning.concentration) == len(state.learning.x)


def test_other_hyperparameters_are_answered_with_pairs_of_clusters(monkeypatch):
    """Several times as fast as with all pairs, and near: inducing inputs leave little of f."""
    monkeypatch.setattr(design, "SMALL", 100)
    source = made.counts(made.bags((60,) * 10, seed=3))
    values = {"mean": -2.0, "matern32.variance": 1.0, "matern32.lengthscale": 1.0,
              "area.std": 0.3, "nugget.std": 0.3}
    model = VBAgg(inducing=60, compress=40, overdispersion="area", nugget="learn", seed=0)
    moved = model.condition(source, values).with_hyperparameters({"matern32.lengthscale": 1.5})
    trained = torch.arange(source.bags.count)
    near = [getattr(moved, ask)(source.bags, trained, True) for ask in ("at", "over")]
    assert moved.individual_view(source.bags).residual.clusters.most == 40
    moved.state.rough = False
    assert moved.individual_view(source.bags).residual.clusters is None
    for rough, ask in zip(near, ("at", "over"), strict=True):
        exact = getattr(moved, ask)(source.bags, trained, True)
        torch.testing.assert_close(rough.mean, exact.mean, rtol=0.02, atol=0)
        torch.testing.assert_close(rough.variance, exact.variance, rtol=0.2, atol=0)
