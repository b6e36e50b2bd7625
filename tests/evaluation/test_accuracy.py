import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import mean_poisson_deviance

import workbench as wb
from tests.reference import TruthModel, country
from workbench.checks import InputError
from workbench.evaluation import (
    bias,
    correlation,
    mae,
    poisson_deviance,
    poisson_nll,
    rescale_to_totals,
    rmse,
)


@pytest.fixture
def pairs():
    rng = np.random.default_rng(1)
    rate = rng.gamma(2.0, 3.0, 500)
    return rng.poisson(rate), rate


def test_exact_nll_is_scipys_poisson(pairs):
    y, rate = pairs
    assert poisson_nll(y, rate) == pytest.approx(-stats.poisson(rate).logpmf(y).mean(), rel=1e-12)


def test_stirling_nll_has_the_papers_convention():
    # log 2! by Stirling; log 0! = log 1! = 0
    stirling = 2 * np.log(2) - 2 + 0.5 * np.log(4 * np.pi)
    expected = (0.5 + (0.5 - np.log(0.5)) + (0.5 - 2 * np.log(0.5) + stirling)) / 3
    assert poisson_nll([0, 1, 2], [0.5] * 3, "stirling") == pytest.approx(expected, rel=1e-12)
    assert poisson_nll([0, 1], [2.0, 2.0], "stirling") == poisson_nll([0, 1], [2.0, 2.0])


def test_deviance_is_sklearns_and_infinite_where_nothing_was_expected(pairs):
    y, rate = pairs
    assert poisson_deviance(y, rate) == pytest.approx(mean_poisson_deviance(y, rate), rel=1e-12)
    assert poisson_deviance([0, 1], [0.0, 1.0]) == 0
    assert poisson_deviance([1, 1], [0.0, 1.0]) == np.inf


def test_simple_errors():
    y, p = [1.0, 2.0, 6.0], [2.0, 2.0, 3.0]
    assert rmse(y, p) == pytest.approx(np.sqrt(10 / 3))
    assert mae(y, p) == pytest.approx(4 / 3)
    assert bias(y, p) == pytest.approx(-2 / 3)
    assert correlation(y, p) == pytest.approx(stats.pearsonr(y, p)[0])
    assert np.isnan(correlation(y, [1.0, 1.0, 1.0]))


def test_shapes_and_conventions_are_named_in_errors():
    with pytest.raises(InputError, match=r"\(2,\).*\(3,\)"):
        rmse([1, 2], [1, 2, 3])
    with pytest.raises(InputError, match="did you mean 'stirling'"):
        poisson_nll([1], [1.0], "sterling")


def test_pinned_expectations_add_up_to_the_totals():
    ds = country()
    expected = TruthModel().at(ds).mean * ds["weight"]
    pinned = rescale_to_totals(ds, expected)
    totals = np.bincount(ds["membership"], weights=pinned)
    np.testing.assert_allclose(totals, ds["value"], rtol=1e-12)
    ratio = pinned.values / expected.values  # one factor per bag
    assert all(np.ptp(ratio[ds["membership"] == b]) < 1e-12 for b in range(ds.sizes["bag"]))
    assert pinned.attrs["units"] == "cases"


def test_pinning_refuses_what_cannot_be_pinned():
    ds = country(bags=3, size=2)
    with pytest.raises(InputError, match="b1"):
        rescale_to_totals(ds, np.array([1, 1, 0, 0, 1, 1.0]))
    with pytest.raises(InputError, match="zero or more"):
        rescale_to_totals(ds, np.array([1, 1, -1, 2, 1, 1.0]))
    ds["value"].attrs["aggregation"] = "mean"
    with pytest.raises(InputError, match="means"):
        rescale_to_totals(ds, np.ones(6))


def test_the_former_names_still_work_and_say_the_new_ones():
    ds = country(bags=6)
    with pytest.warns(DeprecationWarning, match="rescale_to_totals"):
        former = wb.pin_to_totals(ds, ds["weight"])
    np.testing.assert_array_equal(former, wb.rescale_to_totals(ds, ds["weight"]))
    with pytest.warns(DeprecationWarning, match="as_singleton_bags"):
        assert wb.separate(ds).sizes["bag"] == ds.sizes["individual"]
