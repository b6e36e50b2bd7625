"""The residual that inducing features leave: pairs, products, draws, and the bag's variance."""

import numpy as np
import pytest
import torch

from workbench.bags import Bags, Columns, Source, Targets
from workbench.models.state import VariationalState
from workbench.models.vbagg import VBAgg
from workbench.residual import residual_of


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
    return state, state.view().detach()


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
    noise = torch.randn(60_000, len(state.x), dtype=torch.float64,
                        generator=torch.Generator().manual_seed(0))
    drawn, wanted = view.residual.draw(noise), dense(state, view)
    spread = wanted.diagonal().outer(wanted.diagonal()) + wanted.square()
    assert ((drawn.T.cov() - wanted).abs() < 5 * (spread / len(noise)).sqrt() + 1e-9).all()


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


def test_beyond_the_budget_only_the_diagonal_is_kept(seen, monkeypatch):
    state, view = seen
    monkeypatch.setattr("workbench.residual.MOST_PAIRS", 10)
    kept = residual_of(state.bags, state.x, view.projection.features, view.projection.residual,
                       state.field.prior)
    assert kept.pairs is None
    values = torch.ones(len(state.x), dtype=torch.float64)
    torch.testing.assert_close(kept.times(values), view.projection.residual)
