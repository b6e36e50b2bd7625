"""Aggregation operators against dense matrices, and a bag's variance under inducing fields."""

import pytest
import torch

from tests.gp import made
from workbench.checks import InputError
from workbench.gp.data.bags import Bags, Columns, Source, Targets
from workbench.gp.fields.exact import ExactField
from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels import operators
from workbench.gp.kernels.grammar import build, inducing_inputs

SIZES = (3, 1, 7, 2, 12, 1)


def operator(name):
    if name == "identity":
        return operators.Identity(made.bags((1,) * 9))
    return operators.OPERATORS[name](made.bags(SIZES))


@pytest.fixture(params=["sum", "mean", "identity"])
def aggregate(request):
    return operator(request.param)


def squared_exponential(x1, x2):
    return torch.exp(-0.5 * torch.cdist(x1, x2).square() / 15.0**2)


def test_operator_is_its_dense_matrix(aggregate):
    f = torch.randn(4, len(aggregate.bags.x), generator=torch.manual_seed(0), dtype=torch.float64)
    torch.testing.assert_close(aggregate(f), f @ aggregate.dense().mT)
    torch.testing.assert_close(aggregate(f[0]), aggregate.dense() @ f[0])
    torch.testing.assert_close(aggregate.rows(f.mT), aggregate.dense() @ f.mT)


def test_dense_entries_are_the_definitions():
    weight, members = made.bags(SIZES).weight, made.bags(SIZES).membership
    total, mean = operator("sum").dense(), operator("mean").dense()
    for i, b in enumerate(members.tolist()):
        assert total[b, i] == weight[i]
        assert float(mean[b, i]) == pytest.approx(float(weight[i] / weight[members == b].sum()))
    assert (total != 0).sum() == (mean != 0).sum() == len(weight)
    torch.testing.assert_close(mean.sum(1), torch.ones(len(SIZES), dtype=mean.dtype))
    torch.testing.assert_close(operator("identity").dense(), torch.eye(9, dtype=mean.dtype))


def test_quad_diag_is_the_dense_diagonal(aggregate):
    x = aggregate.bags.x
    gram = aggregate.dense() @ squared_exponential(x, x) @ aggregate.dense().mT
    torch.testing.assert_close(aggregate.quad_diag(squared_exponential, x), gram.diagonal())


@pytest.mark.parametrize("pairs", [1, 4, 50, 10_000])
def test_blocks_hold_every_individual_once_within_the_pair_budget(pairs):
    bags = made.bags(SIZES)
    seen, parts = [], []
    for index, mask in operators.blocks(bags, pairs):
        real = mask.bool()
        seen.append(index[real])
        parts.append(bags.membership[index[:, 0]])
        assert (bags.membership[index] == bags.membership[index[:, :1]]).all()
        assert len(index) == 1 or index.shape[0] * index.shape[1] ** 2 <= pairs
    assert torch.cat(seen).sort().values.tolist() == list(range(len(bags.x)))
    assert operators.restore_order(bags, parts).tolist() == list(range(bags.count))


def test_bags_bigger_than_the_pair_budget_keep_their_variance(monkeypatch):
    aggregate = operator("mean")
    x = aggregate.bags.x
    whole = aggregate.quad_diag(squared_exponential, x)
    monkeypatch.setattr(operators, "_PAIRS", 9)
    torch.testing.assert_close(aggregate.quad_diag(squared_exponential, x), whole)


def test_wrong_shapes_raise_with_both_in_the_message():
    aggregate = operator("sum")
    with pytest.raises(InputError, match=r"26 individuals.*\(2, 25\)"):
        aggregate(torch.ones(2, 25))
    with pytest.raises(InputError, match=r"26 individuals in 6 bags"):
        operators.Identity(made.bags(SIZES))
    bags = made.bags(SIZES)
    with pytest.raises(InputError, match=r"weight per individual \(26\), got 25"):
        Bags(bags.x, bags.membership, bags.weight[1:], 6, bags.columns)
    with pytest.raises(InputError, match=r"2 input columns \(a, b\), got x with 3"):
        Bags(bags.x, bags.membership, bags.weight, 6, Columns(("a", "b")))
    with pytest.raises(InputError, match=r"value per bag \(6\), got 5"):
        Source(bags, Targets(torch.ones(5)))
    with pytest.raises(InputError, match="sorted ascending"):
        Bags(bags.x, bags.membership.flip(0), bags.weight, 6, bags.columns)


def test_centres_are_weighted_means_and_totals_sums():
    bags, dense = made.bags(SIZES), operator("mean").dense()
    centres = bags.centres()
    torch.testing.assert_close(centres.x, dense @ bags.x)
    torch.testing.assert_close(centres.weight, operator("sum").dense().sum(1))
    assert bags.sizes.tolist() == list(SIZES)
    assert centres.names == bags.names


def dense_posterior(field, x, test):
    """Mean and full covariance of f(test) under q, from kernel matrices alone."""
    z = field.inducing[0]
    kernel = field.terms[0]
    inverse = torch.linalg.inv(kernel(z, z))
    root = torch.linalg.cholesky(kernel(z, z))
    mean_u, cov_u = root @ field.q_mean, root @ field.q_covariance @ root.mT
    a = kernel(test, z) @ inverse
    return field.mean + a @ mean_u, kernel(test, test) - a @ kernel(z, test) + a @ cov_u @ a.mT


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_variance_of_a_bag_with_fewer_inducing_points_than_individuals(name):
    bags = made.bags((40, 25, 3), coordinates=False, covariates=2)
    aggregate = operators.OPERATORS[name](bags)
    term = build("matern32", bags.columns, bags.x)[0]
    field = InducingField([term], [inducing_inputs(term, bags.x, 6)])
    raw = torch.randn(6, 6, generator=torch.manual_seed(3), dtype=torch.float64)
    field.set_q(raw[0], 0.05 * raw @ raw.mT + 0.1 * torch.eye(6))
    mean, covariance = dense_posterior(field, bags.x, bags.x)
    got_mean, got_variance = field.aggregate(bags.x, aggregate)
    torch.testing.assert_close(got_mean, aggregate.dense() @ mean, rtol=1e-6, atol=1e-7)
    expected = (aggregate.dense() @ covariance @ aggregate.dense().mT).diagonal()
    # The field's Cholesky adds a relative jitter of 1e-8.
    torch.testing.assert_close(got_variance, expected, rtol=1e-5, atol=1e-7)
    _, marginal = field.marginals(bags.x)
    torch.testing.assert_close(marginal, covariance.diagonal(), rtol=1e-5, atol=1e-7)


def test_exact_field_is_block_kriging():
    bags = made.bags((4, 2, 6), coordinates=False, covariates=2)
    new = made.bags((3, 3), seed=5, coordinates=False, covariates=2)
    a, b = operators.SegmentMean(bags), operators.SegmentMean(new)
    term = build("rbf", bags.columns, bags.x)[0]
    field = ExactField([term], bags.x, a)
    with torch.no_grad():
        field.mean.fill_(0.7)
    y, noise = torch.tensor([1.0, 0.2, 0.5]).double(), torch.tensor([0.1, 0.2, 0.05]).double()
    field.condition(y, noise)
    gram = a.dense() @ term(bags.x, bags.x) @ a.dense().mT + torch.diag(noise)
    cross = term(new.x, bags.x) @ a.dense().mT
    mean = 0.7 + cross @ torch.linalg.solve(gram, y - 0.7)
    covariance = term(new.x, new.x) - cross @ torch.linalg.solve(gram, cross.mT)
    with torch.no_grad():
        got = field.marginals(new.x)
        torch.testing.assert_close(got[0], mean, rtol=1e-6, atol=1e-7)
        torch.testing.assert_close(got[1], covariance.diagonal(), rtol=1e-6, atol=1e-6)
        got = field.aggregate(new.x, b)
        torch.testing.assert_close(got[0], b.dense() @ mean, rtol=1e-6, atol=1e-7)
        torch.testing.assert_close(
            got[1], (b.dense() @ covariance @ b.dense().mT).diagonal(), rtol=1e-6, atol=1e-6)
        centre = torch.full((3,), 0.7, dtype=torch.float64)
        law = torch.distributions.MultivariateNormal(centre, gram)
        torch.testing.assert_close(field.evidence(y, noise), law.log_prob(y), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("entries", [1, 7, 10_000])
def test_weighted_rows_are_their_sum_and_so_are_the_gradients(monkeypatch, entries):
    monkeypatch.setattr("workbench.gp.kernels.operators._ENTRIES", entries)
    bags = made.bags(SIZES)
    generator = torch.Generator().manual_seed(0)
    values = torch.randn(len(bags.x), generator=generator, dtype=torch.float64, requires_grad=True)
    table = torch.randn(len(bags.x), 3, generator=generator, dtype=torch.float64,
                        requires_grad=True)
    plain = torch.zeros(bags.count, 3, dtype=torch.float64).index_add(
        0, bags.membership, values[:, None] * table)
    torch.testing.assert_close(operators.weighted_rows(values, table, bags), plain)
    assert torch.autograd.gradcheck(
        lambda v, t: operators.weighted_rows(v, t, bags), (values, table))
