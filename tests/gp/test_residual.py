"""The residual that inducing features leave: pairs, products, draws, and the bag's variance."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.data.compression import compress
from workbench.gp.fields import residual
from workbench.gp.fields.geometry import Geometry
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState


@pytest.fixture(scope="module")
def seen():
    """Sparse inducing inputs for a short lengthscale: much is left unexplained."""
    rng = np.random.default_rng(0)
    sizes = [7, 1, 12, 4]
    members = np.repeat(np.arange(len(sizes)), sizes)
    x = torch.as_tensor(rng.uniform(0, 100, (len(members), 2)))
    bags = Bags(x, torch.as_tensor(members), torch.as_tensor(rng.uniform(1, 5, len(x))),
                len(sizes), Columns(("x", "y"), (0, 1), ("km", "km")))
    source = Source(bags, Targets(torch.as_tensor(rng.poisson(50, len(sizes)).astype(float))))
    state = VariationalState(VBAgg(kernel="matern32", inducing=4, initial={
        "matern32.lengthscale": 25.0, "matern32.variance": 0.5}), source)
    return state, state.project().detach()


def dense(state, view):
    """Prior minus explained covariance, zero between bags, by its definition."""
    phi = view.projection.features
    full = (state.field.prior(state.x, state.x) - phi @ phi.mT).detach()
    members = state.bags.membership
    return full * (members[:, None] == members[None])


def test_products_are_those_of_the_dense_matrix(seen):
    state, view = seen
    values = torch.linspace(-1, 2, len(state.x), dtype=torch.float64)
    torch.testing.assert_close(view.residual.times(values), dense(state, view) @ values)


def test_draws_have_the_covariance(seen):
    state, view = seen
    has_covariance(view.residual, dense(state, view))


def has_covariance(residual, wanted):
    drawn = residual.draw(60_000, np.random.default_rng(0))
    spread = wanted.diagonal().outer(wanted.diagonal()) + wanted.square()
    assert ((drawn.T.cov() - wanted).abs() < 5 * (spread / len(drawn)).sqrt() + 1e-9).all()


def test_sparse_inducing_inputs_do_not_make_totals_certain(seen):
    state, view = seen
    mean, covariance = torch.zeros_like(state.field.q_mean), torch.eye(len(state.field.q_mean))
    moments = state.bound.moments(view, mean, covariance.double())
    share = state.bags.weight / state.bags.totals[state.bags.membership]
    prior = state.field.prior(state.x, state.x).detach()
    for bag in range(state.bags.count):
        inside = state.bags.membership == bag
        s = share[inside]
        # With constant mean and variance the shares are the weights.
        wanted = s @ prior[inside][:, inside] @ s
        assert float(moments.log_variance[bag]) == pytest.approx(float(wanted), rel=1e-8)


def matrix(residual):
    """The covariance that a residual stands for, column by column."""
    units = torch.eye(len(residual.diagonal)).double()
    return torch.stack([residual.times(unit) for unit in units], 1)


@pytest.fixture(scope="module")
def clustered():
    """Large bags of a smooth field, with all pairs and with at most 20 clusters each."""
    rng = np.random.default_rng(1)
    sizes = [150, 3, 90]
    members = np.repeat(np.arange(len(sizes)), sizes)
    x = torch.as_tensor(rng.uniform(0, 30, (len(members), 2)) + 40 * members[:, None])
    bags = Bags(x, torch.as_tensor(members), torch.as_tensor(rng.uniform(1, 5, len(x))),
                len(sizes), Columns(("x", "y"), (0, 1), ("km", "km")))
    source = Source(bags, Targets(torch.as_tensor(rng.poisson(50, len(sizes)).astype(float))))
    state = VariationalState(VBAgg(kernel="matern32", inducing=5, initial={
        "matern32.lengthscale": 30.0, "matern32.variance": 0.5}), source)
    seen = Geometry(state.x, state.operator, compress(replace(state.bags, x=state.x), 20))
    return state, state.project().detach(), state.project(seen).detach()


def test_clusters_stand_for_all_pairs(clustered):
    state, exact, near = clustered
    wanted, got = matrix(exact.residual), matrix(near.residual)
    torch.testing.assert_close(wanted, dense(state, exact))
    torch.testing.assert_close(got.diagonal(), wanted.diagonal())
    assert float(torch.linalg.eigvalsh((got + got.mT) / 2).min()) > -1e-10
    seen = Geometry(state.x, state.operator, compress(replace(state.bags, x=state.x), 80))
    finer = state.project(seen).detach()
    gaps = [float((m - wanted).norm() / wanted.norm()) for m in (got, matrix(finer.residual))]
    assert gaps[1] < gaps[0] / 2 and gaps[0] < 0.25
    share = state.bags.weight / state.bags.totals[state.bags.membership]
    variance = [v.sum(share * v.residual.times(share)) for v in (exact, near, finer)]
    torch.testing.assert_close(variance[1], variance[0], rtol=0.12, atol=0)
    torch.testing.assert_close(variance[2], variance[0], rtol=0.02, atol=0)


@pytest.mark.slow
def test_clustered_draws_have_the_clustered_covariance(clustered):
    _, _, near = clustered
    has_covariance(near.residual, matrix(near.residual))


@pytest.mark.parametrize("which", ["pairs", "clusters", "diagonal"])
def test_traces_are_those_of_the_dense_matrix(clustered, which):
    state, exact, near = clustered
    residual = {"pairs": exact.residual, "clusters": near.residual,
                "diagonal": exact.residual.diagonal_part()}[which]
    weight, phi = state.bags.weight, exact.projection.features
    right = phi * torch.linspace(1, 2, phi.shape[1]).double()
    inside = state.bags.membership[:, None] == state.bags.membership[None]
    weighted = weight[:, None] * matrix(residual) * weight
    square = (weighted * matrix(residual)).sum(1)
    cross = (weighted * (phi @ right.mT) * inside).sum(1)
    torch.testing.assert_close(residual.trace_squared(weight), exact.sum(square))
    torch.testing.assert_close(residual.trace_with(weight, phi, right), exact.sum(cross))


def test_large_bags_are_clustered_by_themselves(clustered, monkeypatch):
    state, *_ = clustered
    assert state.geometry.clusters is None
    monkeypatch.setattr("workbench.gp.fields.geometry.MOST_PAIRS", 1000)
    assert state.geometry_of(state.bags).clusters.bags.sizes.tolist() == [18, 3, 18]


@pytest.mark.parametrize("which", ["seen", "clustered"])
def test_draws_are_the_same_however_many_bags_are_worked_on_at_once(which, request, monkeypatch):
    view = request.getfixturevalue(which)[-1]

    def draws() -> torch.Tensor:
        residual.forget_roots()
        return view.residual.draw(50, np.random.default_rng(3))

    wanted = draws()
    monkeypatch.setattr(residual, "_ENTRIES", 1)
    torch.testing.assert_close(draws(), wanted, rtol=1e-12, atol=1e-12)


def test_square_roots_are_let_go_of_and_found_again(seen):
    _, view = seen
    drawn = view.residual.draw(5, np.random.default_rng(0))
    assert view.residual._kept
    residual.forget_roots()
    assert not view.residual._kept
    torch.testing.assert_close(view.residual.draw(5, np.random.default_rng(0)), drawn)
