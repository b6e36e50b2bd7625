"""Means of kernels over pairs of bags against the dense matrices, values and gradients."""

import gpytorch
import pytest
import torch

from tests.gp import made
from workbench.gp.kernels import bag_gram as module
from workbench.gp.kernels.bag_gram import bag_cross, bag_gram
from workbench.gp.kernels.grammar import Term, build
from workbench.gp.kernels.operators import SegmentMean

KERNELS = ("rbf", "ard-rbf", "matern12(coordinates)", "ard-matern32", "matern52", "linear+rbf",
           "rbf*periodic(x)", "rq", "constant+ard-matern52(coordinates)+rbf(c0)")


def gradients(terms, value):
    parameters = [p for term in terms for p in term.parameters() if p.requires_grad]
    return torch.autograd.grad(value, parameters)


@pytest.mark.parametrize("entries", [7, 60, 150_000])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("sizes", [(4, 1, 6, 2, 9), (1,) * 25], ids=["bags", "points"])
def test_gram_and_its_gradients_are_the_dense_ones(monkeypatch, kernel, sizes, entries):
    monkeypatch.setattr(module, "_ENTRIES", entries)
    monkeypatch.setattr(module, "_STORED", 4 * entries)
    bags = made.bags(sizes, covariates=2)
    x = (bags.x - bags.x.mean(0)) / bags.x.std(0)
    operator, terms = SegmentMean(bags), build(kernel, bags.columns, x)
    weights = torch.randn(bags.count, bags.count, generator=torch.manual_seed(1)).double()
    dense = operator.dense() @ sum(term(x, x) for term in terms) @ operator.dense().mT
    got = bag_gram(terms, x, bags, operator.coefficients())
    # GPyTorch's constants are right to 1e-9, and its Matérn 1/2 at short distances to 1e-7.
    torch.testing.assert_close(got, dense, rtol=1e-9, atol=1e-9)
    expected = gradients(terms, (weights * dense).sum())
    for ours, theirs in zip(gradients(terms, (weights * got).sum()), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=2e-6, atol=1e-9)
    new = x[:3] + 0.1
    cross = sum(term(new, x) for term in terms) @ operator.dense().mT
    torch.testing.assert_close(bag_cross(terms, new, x, bags, operator.coefficients()),
                               cross.detach(), rtol=1e-9, atol=1e-9)


def test_far_from_the_origin_nothing_is_lost():
    """Squared distances as differences of squares would lose all digits without centring."""
    bags = made.bags((5, 5, 5), coordinates=False)
    terms = build("rbf", bags.columns, bags.x)
    near = bag_gram(terms, bags.x, bags, bags.weight)
    far = bag_gram(terms, bags.x + 1e6, bags, bags.weight)
    torch.testing.assert_close(near, far, rtol=1e-8, atol=1e-8)
    torch.testing.assert_close(
        bag_cross(terms, bags.x + 1e6, bags.x + 1e6, bags, bags.weight),
        bag_cross(terms, bags.x, bags.x, bags, bags.weight), rtol=1e-8, atol=1e-8)


def test_a_kernel_of_the_users_own_goes_the_general_way():
    bags = made.bags((3, 4, 2), coordinates=False)
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(active_dims=[0])) + (
        gpytorch.kernels.LinearKernel())
    term, a = Term("kernel", kernel.double(), (0,)), SegmentMean(bags)
    dense = a.dense() @ term(bags.x, bags.x) @ a.dense().mT
    torch.testing.assert_close(a.gram([term], bags.x), dense)


@pytest.mark.parametrize("where", ["base", "scale", "both"])
def test_columns_are_those_that_gpytorch_takes(where):
    bags = made.bags((3, 4, 2), coordinates=False, covariates=2)
    inner = {"active_dims": [1]} if where != "scale" else {}
    outer = {"active_dims": [1]} if where != "base" else {}
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(**inner), **outer).double()
    term, a = Term("kernel", kernel, (0, 1)), SegmentMean(bags)
    dense = a.dense() @ term(bags.x, bags.x) @ a.dense().mT
    torch.testing.assert_close(a.gram([term], bags.x), dense)
    torch.testing.assert_close(a.cross([term], bags.x, bags.x),
                               (term(bags.x, bags.x) @ a.dense().mT).detach())


def test_single_precision_and_individuals_at_one_place():
    bags = made.bags((4, 4, 4), covariates=2)
    x = (bags.x - bags.x.mean(0)) / bags.x.std(0)
    x[4] = x[0]
    x[9] = x[8]
    found = []
    for dtype in (torch.float64, torch.float32):
        terms = build("matern12", bags.columns, x.to(dtype))
        value = bag_gram(terms, x.to(dtype), bags, bags.weight.to(dtype)).square().sum()
        found.append(torch.cat([g.reshape(-1) for g in gradients(terms, value)]).double())
    torch.testing.assert_close(found[1], found[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["matern12", "ard-matern12", "matern32"])
def test_in_single_precision_inputs_at_one_place_are_at_one_place(name):
    """Values and gradients of float32 against float64, half of all pairs at distance zero."""
    bags = made.bags((20, 16, 24), covariates=5, coordinates=False)
    places = torch.randn(6, 5, generator=torch.manual_seed(2)).float().double() + 5.0
    x = places[torch.arange(60) % 6]
    weights = torch.randn(60, 60, generator=torch.manual_seed(3)).double()
    found = {}
    for dtype in (torch.float64, torch.float32):
        at = x.to(dtype)
        terms = build(name, bags.columns, at)
        terms[0].kernel.base_kernel.lengthscale = 0.05
        a, z = torch.full((60,), 0.05, dtype=dtype), at[::7].clone()
        gram = bag_gram(terms, at, bags, a)
        dense, cross = terms[0](at, at), terms[0](at, z)
        parts = [gram, dense, cross, bag_cross(terms, at, at, bags, a)]
        slopes = [g.flatten() for value in (gram, dense, cross) for g in gradients(
            terms, (value * weights[:len(value), :value.shape[1]].to(dtype)).sum())]
        found[dtype] = [p.detach().double() for p in parts], torch.cat(slopes).double()
    for ours, exact in zip(found[torch.float32][0], found[torch.float64][0], strict=True):
        torch.testing.assert_close(ours, exact, rtol=0, atol=2e-3 if name == "matern32" else 2e-5)
    torch.testing.assert_close(found[torch.float32][1], found[torch.float64][1], rtol=0,
                               atol=0.05 if name == "matern32" else 2e-4)
    if name != "matern32":
        same = (torch.arange(60)[:, None] - torch.arange(60)) % 6 == 0
        torch.testing.assert_close(found[torch.float32][0][1][same], torch.ones(600).double(),
                                   rtol=0, atol=1e-6)
