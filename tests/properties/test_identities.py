"""Identities of operators, links and distributions, for any numbers that they may be given."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from workbench.gp.data.bags import Bags, Columns
from workbench.gp.kernels.operators import SegmentMean, SegmentSum
from workbench.gp.likelihoods.links import LINKS
from workbench.gp.predictive import Gamma, LogNormal, Normal, Point

IDENTITIES = settings(max_examples=60, deadline=None, derandomize=True)
SIZES = st.lists(st.integers(1, 30), min_size=1, max_size=12)
POWERS = st.floats(-12, 12)


@st.composite
def weighted_bags(draw) -> Bags:
    """Ragged bags, weights from 1e-12 to 1e12."""
    sizes = draw(SIZES)
    count = sum(sizes)
    powers = draw(arrays.arrays(float, count, elements=POWERS))
    x = np.random.default_rng(count).normal(size=(count, 2))
    return Bags(torch.as_tensor(x), torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes)),
                torch.as_tensor(10.0 ** powers), len(sizes), Columns(("a", "b"), (), ("", "")),
                tuple(f"b{i}" for i in range(len(sizes))))


@IDENTITIES
@given(weighted_bags(), st.integers(0, 1000), st.floats(-6, 6))
def test_operators_are_linear_and_agree_with_their_matrix(bags, seed, power):
    rng = np.random.default_rng(seed)
    f, g = torch.as_tensor(rng.normal(size=(2, len(bags.x))) * 10.0**power)
    for operator in (SegmentSum(bags), SegmentMean(bags)):
        matrix = operator.dense()
        size = matrix.abs() @ (f.abs() + 2 * g.abs())
        assert ((operator(f + 2 * g) - operator(f) - 2 * operator(g)).abs() <= 1e-12 * size).all()
        assert ((operator(f) - matrix @ f).abs() <= 1e-12 * size).all()
        torch.testing.assert_close(operator.rows(f[:, None])[:, 0], operator(f))
    ones = torch.ones(len(bags.x), dtype=torch.float64)
    torch.testing.assert_close(SegmentMean(bags)(ones), torch.ones(bags.count).double())
    torch.testing.assert_close(SegmentSum(bags)(ones), bags.totals)


@IDENTITIES
@given(weighted_bags(), st.floats(-12, 12))
def test_a_mean_does_not_see_the_unit_of_the_weights(bags, power):
    from dataclasses import replace

    f = bags.x[:, 0]
    scaled = replace(bags, weight=bags.weight * 10.0**power)
    torch.testing.assert_close(SegmentMean(scaled)(f), SegmentMean(bags)(f))


@IDENTITIES
@given(st.sampled_from(sorted(LINKS)), st.floats(-30, 30))
def test_a_link_and_its_inverse(name, value):
    link = LINKS[name]
    f = torch.tensor([value], dtype=torch.float64)
    if name in ("square",):
        f = f.abs()
    if name in ("logit", "probit"):         # where a probability is not yet rounded to one
        f = f.clamp(-30, 5)
    rate = link.psi(f)
    assert torch.isfinite(rate).all() and (name == "identity" or (rate >= 0).all())
    assume(float(rate) != 0)
    torch.testing.assert_close(link.inverse(rate), f, rtol=1e-8, atol=1e-8)


@IDENTITIES
@given(st.sampled_from([Normal, LogNormal, Gamma]), st.floats(-8, 8), st.floats(-4, 1),
       st.floats(0.001, 0.999))
def test_a_quantile_is_where_the_distribution_function_has_its_level(kind, size, power, level):
    spread = torch.tensor([10.0**power], dtype=torch.float64)
    first = torch.tensor([size], dtype=torch.float64)
    made = kind(first.exp(), first.exp() ** 2 * spread) if kind is Gamma else kind(first, spread)
    assert float(made.cdf(made.quantile([level])[0])) == pytest.approx(level, abs=1e-6)
    assert float(made.exceedance(made.quantile([level])[0])) == pytest.approx(1 - level, abs=1e-6)
    assert torch.isfinite(made.mean).all() and (made.variance >= 0).all()


@IDENTITIES
@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=5), st.floats(0, 1))
def test_a_point_has_no_spread(values, level):
    point = Point(torch.tensor(values, dtype=torch.float64))
    assert (point.variance == 0).all() and torch.equal(point.quantile([level])[0], point.mean)
