"""Numbers that stand for missing values are told from values, and values from them."""

import numpy as np
import pytest

import workbench as wb
from workbench.bagging.like_marks import like_marks
from workbench.checks import DataWarning, InputError

NAMES = [f"a{k}" for k in range(60)]
RNG = np.random.default_rng(0)
INCOMES, LAND = RNG.normal(30_000, 4_000, 60), RNG.normal(288, 2, 60)
MONEY, DEGREES = np.exp(RNG.normal(3, 1.5, 60)), RNG.normal(4, 5, 60)
CASES = RNG.poisson(60, 60).astype(float)


def found(values, counts=False, **changed):
    values = values.copy()
    for at, value in changed.items():
        values[int(at[1:])] = value
    return like_marks(NAMES, values, counts)


@pytest.mark.parametrize("values, mark, counts", [
    (INCOMES, -9999, False), (INCOMES, 999999, False), (INCOMES, 0, False), (INCOMES, -1, False),
    (LAND, -9999, False), (LAND, 0, False), (LAND, 9999, False), (LAND, 1e20, False),
    (DEGREES, -99, False), (DEGREES, -99.9, False), (DEGREES, 999, False), (MONEY, -999, False),
    (CASES, 9999, True), (INCOMES, -9999999, False)])
def test_marks_are_found_by_area(values, mark, counts):
    [one] = found(values, counts, a7=mark, a9=mark)
    assert one.code == "value-mark" and list(one.where) == ["a7", "a9"] and one.count == 2
    assert "2 of 60 values are" in str(one) and "first: area 'a7'" in str(one)


def test_values_are_none():
    for values in (INCOMES, LAND, MONEY, DEGREES, CASES, np.exp(RNG.normal(0, 2, 60)),
                   RNG.standard_cauchy(60), np.zeros(60), np.arange(60.0)):
        assert found(values) == []
        assert found(values, counts=True) == []
    assert found(DEGREES, a7=0.0) == [] and found(CASES, True, a7=0.0, a8=99.0) == []
    assert found(CASES, a7=99.0, a8=99.0) == []         # near the others
    assert found(RNG.uniform(0, 6, 60), a7=-9.9) == []
    assert like_marks(NAMES[:5], [1, 2, 3, 4, -9999], False) == []      # too few say nothing
    for size in (6, 8, 12, 30):         # nearly all the same, sparse, and with heavy tails
        one = np.zeros(size - 1)
        for others, odd in ((one, 5), (one + 1, 2), (one + 100, 99), (one + 100, 101), (one, 1),
                            (one + 1, 0.99), (one + 3, 99), (one, 99)):
            assert like_marks(NAMES[:size], [*others, odd], False) == []
        for seed in range(200):
            random = np.random.default_rng(seed)
            for drawn in (random.poisson(0.15, size), random.integers(1, 3, size),
                          np.exp(random.normal(0, 2, size)), random.gamma(0.3, 1, size),
                          random.standard_t(2, size), 100 * random.beta(5, 0.5, size),
                          np.round(random.normal(0.3, 1, size), 0)):
                assert like_marks(NAMES[:size], drawn, False) == []
    for broken in ([], [np.nan] * 9, [*np.arange(9.0), np.inf]):
        assert like_marks(NAMES[:len(broken)], broken, False) == []


def test_a_mark_among_targets_is_said_before_learning():
    ds = wb.add_mediators(wb.load("swiss-roll", n_bags=12, mean_size=6, size_std=3), ["z1"])
    bags, targets = wb.unmatch(ds, share=0.5)
    value = targets["value"].values.astype(float)
    value[2] = -9999
    targets = targets.assign(value=targets["value"].copy(data=value))
    with pytest.warns(DataWarning, match=r"1 of 6 values is -9,999 \(first: target"):
        wb.VarCMP().starting_values(bags, targets)
    value[3] = np.nan
    with pytest.raises(InputError, match="not finite"):
        wb.VarCMP().fit(bags, targets.assign(value=targets["value"].copy(data=value)))
