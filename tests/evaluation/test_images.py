"""Structural similarity and the scores of fields, on images worked out by hand."""

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from workbench.checks import InputError
from workbench.evaluation.images import (
    field_scores,
    rank_correlation,
    structural_similarity,
    to_image,
)


def by_hand(x, y, span):
    """SSIM of the one window of 11 x 11, from the definition."""
    along = np.exp(-np.arange(-5, 6)**2 / (2 * 1.5**2))
    w = np.outer(along, along) / along.sum()**2
    mx, my = (w * x).sum(), (w * y).sum()
    vx, vy = (w * (x - mx)**2).sum(), (w * (y - my)**2).sum()
    both = (w * (x - mx) * (y - my)).sum()
    c1, c2 = (0.01 * span)**2, (0.03 * span)**2
    return (2 * mx * my + c1) * (2 * both + c2) / ((mx**2 + my**2 + c1) * (vx + vy + c2))


@pytest.mark.parametrize("span", [None, 1.0, 40.0])
def test_one_window_by_hand(span):
    rng = np.random.default_rng(0)
    x = 270 + rng.normal(size=(11, 11))
    y = x + rng.normal(size=(11, 11))
    found = structural_similarity(x, y, span)
    assert found == pytest.approx(by_hand(x, y, span or np.ptp(x)), rel=1e-9)


def test_a_wide_image_is_the_mean_over_its_windows():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 13, 15))
    windows = [by_hand(x[i:i + 11, j:j + 11], y[i:i + 11, j:j + 11], 2.0)
               for i in range(3) for j in range(5)]
    assert structural_similarity(x, y, 2.0) == pytest.approx(np.mean(windows), rel=1e-9)
    x[0, 0] = np.nan            # one window is not whole
    assert structural_similarity(x, y, 2.0) == pytest.approx(np.mean(windows[1:]), rel=1e-9)


def test_equal_and_constant_images():
    x = 50 + np.random.default_rng(2).normal(size=(20, 20))
    assert structural_similarity(x, x) == pytest.approx(1)
    assert structural_similarity(x, -x + 2 * x.mean()) < 0
    # Two flat images: luminance alone is compared.
    flat = structural_similarity(np.full((11, 11), 2.0), np.full((11, 11), 1.0), 1.0)
    assert flat == pytest.approx((4 + 1e-4) / (5 + 1e-4))
    for a, b, message in ((x, x[:5], "one shape"), (x[:5], x[:5], "no window"),
                          (x, x * np.nan, "not finite"), (0 * x, x, "range of values")):
        with pytest.raises(InputError, match=message):
            structural_similarity(a, b)


def test_rank_correlation():
    assert rank_correlation([1, 2, 3, 4], [1, 10, 100, 1000]) == pytest.approx(1)
    assert rank_correlation([1, 2, 3], [1, 3, 2]) == pytest.approx(0.5)
    assert np.isnan(rank_correlation([1, 2, 3], [1, 1, 1]))


@pytest.fixture
def world():
    rng = np.random.default_rng(3)
    fields = xr.Dataset({"t": (("y", "x"), 270 + rng.normal(size=(24, 36)), {"units": "K"})},
                        coords={"y": np.arange(24.0), "x": np.arange(36.0)})
    return fields, wb.bag_blocks(fields, "t", block=6)


def test_an_image_has_north_up(world):
    fields, ds = world
    np.testing.assert_array_equal(to_image(ds, ds["truth"]), fields["t"].values[::-1])
    with pytest.raises(InputError, match="not pixels"):
        to_image(ds.drop_vars("row"), ds["truth"])
    with pytest.raises(InputError, match="one value for each"):
        to_image(ds, np.zeros(3))


def test_scores_of_a_shifted_field(world):
    _, ds = world
    truth = ds["truth"].values
    scores = field_scores(ds, truth + 2, std=np.ones(truth.size))
    assert scores["rmse"] == pytest.approx(2) and scores["mae"] == pytest.approx(2)
    assert scores["pearson"] == pytest.approx(1) and scores["spearman"] == pytest.approx(1)
    assert scores["coverage"] == 0 and scores["sharpness"] == pytest.approx(2 * 1.959964, abs=1e-5)
    assert scores["ssim"] > 0.99 and scores["ssim_range_1"] > 0.99
    assert set(field_scores(ds, truth)) == {"rmse", "mae", "pearson", "spearman", "ssim",
                                            "ssim_range_1"}
    half = np.where(np.arange(truth.size) % 2, 3.0, 1.0) / 1.959964
    assert field_scores(ds, truth + 2, std=half)["coverage"] == 0.5
    with pytest.raises(InputError, match="no truth"):
        field_scores(ds.drop_vars("truth"), truth)


def test_normal_intervals_hold_what_they_claim(world):
    _, ds = world
    noise = np.random.default_rng(4).normal(size=ds.sizes["individual"])
    scores = field_scores(ds, ds["truth"].values + 0.5 * noise, std=np.full(noise.size, 0.5))
    assert scores["coverage"] == pytest.approx(0.95, abs=0.03)
