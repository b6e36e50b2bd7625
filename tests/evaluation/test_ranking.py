"""Ranks from joint draws: exact cases, what independence would get wrong, and refusals."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import workbench as wb
from workbench.checks import InputError
from workbench.evaluation import exceedances


def of(values, **attrs):
    return xr.DataArray(np.asarray(values, dtype=float), dims=("sample", "bag"), attrs=attrs)


def test_ranks_of_known_draws():
    found = wb.ranks(of([[3, 2, 1], [3, 1, 2], [1, 2, 3], [3, 2, 1]]), top=1, level=0.5)
    assert found["rank_mean"].values.tolist() == [1.5, 2.25, 2.25]
    assert found["rank_median"].values.tolist() == [1, 2, 2.5]
    assert found["top_probability"].values.tolist() == [0.75, 0, 0.25]
    assert found.attrs == {"top": 1, "level": 0.5, "samples": 4}
    tied = wb.ranks(of([[2, 2, 1], [5, 5, 5]]), top=1)
    assert tied["rank_mean"].values.tolist() == [1.75, 1.75, 2.5]
    assert tied["top_probability"].values == pytest.approx([5 / 12, 5 / 12, 1 / 6])


def test_two_normal_units_have_the_closed_form():
    """P(first is higher) = Φ((m1 - m2) / sqrt(s1² + s2² - 2 c)), where the two go together."""
    mean, covariance = [0.3, 0.0], [[1.0, 0.9], [0.9, 1.0]]
    drawn = np.random.default_rng(0).multivariate_normal(mean, covariance, 40_000)
    found = wb.ranks(of(drawn), top=1)
    exact = stats.norm.cdf(0.3 / np.sqrt(2 - 1.8))
    assert float(found["top_probability"][0]) == pytest.approx(exact, abs=0.008)
    apart = stats.norm.cdf(0.3 / np.sqrt(2))
    assert abs(exact - apart) > 0.1             # what marginal intervals would have said
    assert float(found["rank_mean"][0]) == pytest.approx(2 - exact, abs=0.008)


def test_sums_and_bounds_hold_for_any_draws():
    drawn = np.random.default_rng(1).normal(size=(300, 40)) + np.arange(40) / 10
    found = wb.ranks(of(drawn), top=0.25)
    assert found.attrs["top"] == 10
    assert float(found["top_probability"].sum()) == pytest.approx(10)
    assert float(found["rank_mean"].mean()) == pytest.approx(20.5)
    assert (found["rank_lower"] <= found["rank_median"]).all()
    assert (found["rank_median"] <= found["rank_upper"]).all()
    assert stats.spearmanr(found["rank_mean"], -np.arange(40)).statistic > 0.9


def test_several_thresholds_at_once():
    drawn = of([[1, 5], [2, 6], [3, 7], [4, 8]])
    found = exceedances(drawn, [2, 5.5])
    assert found.dims == ("threshold", "bag")
    assert found.values.tolist() == [[0.5, 1], [0, 0.75]]
    with pytest.raises(InputError, match="finite"):
        exceedances(drawn, [np.nan])


@pytest.mark.parametrize("draws, options, message", [
    (of(np.ones((5, 3)), draws="of single units"), {}, "of single units"),
    (of(np.full((5, 3), np.nan)), {}, "not finite"), (of(np.ones((1, 3))), {}, "at least 2 draws"),
    (of(np.ones((5, 3))), {"top": 3}, "top must be 1 to 2"),
    (of(np.ones((5, 3))), {"level": 90}, "level must lie"),
    (of(np.ones((5, 3))).rename(sample="draw"), {}, r"expected draws \(sample, unit\)"),
])
def test_draws_that_cannot_be_ranked_are_refused(draws, options, message):
    with pytest.raises(InputError, match=message):
        wb.ranks(draws, **options)


@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning",
                            "ignore::workbench.checks.ConvergenceWarning",
                            "ignore::workbench.checks.ExtrapolationWarning")
def test_a_fit_ranks_its_areas_and_its_pixels():
    ds = wb.load("simulated-country", pixels=240, districts=24, regions=4, provinces=2)
    fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)
    found = fit.ranks(ds, samples=500, top=3, area_effect=True)
    rate = ds["value"].values / np.bincount(ds["membership"], ds["weight"])
    assert stats.spearmanr(found["rank_median"], -rate).statistic > 0.8
    assert found["rank_median"].dims == ("bag",) and "bag_name" in found.coords
    pixels = fit.ranks(ds, unit="individual", samples=200)
    assert float(pixels["top_probability"].sum()) == pytest.approx(24)
    assert "x" in pixels.coords
