"""Draws of sums over groups: the distribution of sums of individuals' draws, and exact totals."""

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.gp.data.bags import Bags, Columns
from workbench.gp.likelihoods.preserving import Groups
from workbench.gp.models.joint import sum_runs
from workbench.gp.models.vbagg import draws
from workbench.gp.models.vbagg.model import VBAgg

CASES = {
    "nugget and area": dict(overdispersion="area", nugget=0.4),
    "negative binomial": dict(likelihood="negative-binomial", nugget=0.3),
    "square": dict(link="square", nugget=0.3),
    "averaged": dict(overdispersion="area", average=3),
    "means": dict(likelihood="normal", link="identity"),
}


def fitted(case):
    bags = made.bags((6, 5, 7, 1))
    source = made.continuous(bags, noise=0.4) if case == "means" else made.counts(bags, scale=1.0)
    return source, VBAgg(inducing=8, max_steps=5, **CASES[case]).fit(source)


def groups_across(bags, shares=None):
    """Five groups, most of which lie in several bags."""
    of = torch.as_tensor(np.random.default_rng(3).integers(5, size=len(bags.x)))
    return Groups(of, 5, shares)


def has_moments(one, other):
    """Means, variances and covariances agree within 4.5 standard errors."""
    centre = torch.cat([one, other]).mean(0)

    def moments(values):
        centred = values - centre
        pairs = (centred[:, :, None] * centred[:, None, :]).flatten(1)
        return torch.cat([values, pairs], 1)

    left, right = moments(one), moments(other)
    error = (left.var(0) / len(left) + right.var(0) / len(right)).sqrt()
    assert ((left.mean(0) - right.mean(0)).abs() <= 4.5 * error + 1e-9).all()


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("known", [True, False], ids=["trained", "new"])
@pytest.mark.parametrize("case", CASES)
def test_sums_are_distributed_as_those_of_individuals(case, known, monkeypatch):
    monkeypatch.setattr(draws, "_ENTRIES", 20_000)      # many parts, as where data are large
    source, fit = fitted(case)
    bags, y = source.bags, source.targets.value
    share = bags.weight / bags.weight.sum() if case == "means" else None
    groups, trained = groups_across(bags, share), torch.arange(4) if known else None
    got = fit.preserve_sums(bags, trained, y, groups, 20_000, 1)
    wanted = groups.sums(fit.preserve(bags, trained, y, 20_000, 2)[1])
    assert got.shape == (20_000, 5) and got.std(0).min() > 0
    has_moments(got, wanted)
    if case != "means":
        torch.testing.assert_close(got.sum(1), y.sum().expand(20_000))
        assert torch.equal(got, got.round()) and (got >= 0).all()


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
@pytest.mark.parametrize("case", [case for case in CASES if case != "means"])
def test_groups_inside_bags_add_up_to_the_totals(case):
    source, fit = fitted(case)
    bags = source.bags
    of = 2 * bags.membership + torch.arange(len(bags.x)) % 2
    names, of = torch.unique(of, return_inverse=True)
    y = source.targets.value + torch.tensor([0.0, 0.4, 0.0, 0.0])       # one is not whole
    drawn = fit.preserve_sums(bags, None, y, Groups(of, len(names)), 200, 4)
    totals = torch.zeros(200, 4).double().index_add(1, names // 2, drawn)
    torch.testing.assert_close(totals, y.expand(200, -1), rtol=1e-12, atol=1e-12)
    again = fit.preserve_sums(bags, None, y, Groups(of, len(names)), 200, 4)
    assert torch.equal(drawn, again)


@pytest.mark.filterwarnings("ignore::workbench.checks.ConvergenceWarning")
def test_parts_of_bags_share_the_function(monkeypatch):
    """Where features do not fit into memory bags are taken in parts: draws stay joint."""
    monkeypatch.setattr("workbench.gp.models.vbagg.fit.MOST_FEATURES", 8 * 7)
    source, fit = fitted("nugget and area")
    bags, y = source.bags, source.targets.value
    assert len(list(fit.parts(bags, None))) > 1
    groups = groups_across(bags)
    got = fit.preserve_sums(bags, None, y, groups, 20_000, 1)
    monkeypatch.undo()
    has_moments(got, groups.sums(fit.preserve(bags, None, y, 20_000, 2)[1]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_runs_are_added_also_of_empty_bags(dtype):
    members = torch.tensor([0, 0, 2, 2, 2, 5])
    bags = Bags(torch.zeros(6, 1), members, torch.ones(6), 7, Columns(("a",), (), ("",)))
    values = torch.arange(12, dtype=dtype).reshape(6, 2).mT        # not contiguous
    wanted = torch.zeros(2, 7, dtype=dtype).index_add(1, members, values)
    got = sum_runs(values, bags)
    assert got.dtype == dtype
    torch.testing.assert_close(got, wanted, rtol=0, atol=0)
