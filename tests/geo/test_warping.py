"""What is advised for people of another projection keeps their total; the default does not."""

import re

import numpy as np
import pytest
import rasterio
from rasterio.warp import Resampling, calculate_default_transform, reproject

from workbench.bagging.warping import RESAMPLING, gdalwarp

STEP, SIDE = 0.0125, 80
DEGREES = rasterio.Affine(STEP, 0, 5.0, 0, -STEP, 52.5)


def warped(people: np.ndarray, how: Resampling, kind: str) -> float:
    """The total after gdalwarp's own choice of pixels in UTM, beside the total before."""
    transform, width, height = calculate_default_transform(
        "EPSG:4326", "EPSG:32631", SIDE, SIDE, 5.0, 52.5 - SIDE * STEP, 5.0 + SIDE * STEP, 52.5)
    found = np.zeros((height, width), dtype=kind)
    reproject(people, found, src_transform=DEGREES, src_crs="EPSG:4326", dst_transform=transform,
              dst_crs="EPSG:32631", resampling=how)
    return float(found.sum(dtype=float) / people.sum(dtype=float))


def test_the_advised_sum_keeps_the_total_of_people_and_no_other_method_does():
    advised = re.search(r"-r (\w+) -ot (\w+) for people", gdalwarp("-t_srs EPSG:32631"))
    people = np.random.default_rng(0).poisson(0.5, (SIDE, SIDE)).astype("int32")
    assert warped(people, Resampling[advised[1]], advised[2].lower()) == pytest.approx(1, abs=1e-3)
    assert abs(warped(people, Resampling.sum, "int32") - 1) > 0.005         # sums are rounded
    for other in (Resampling.nearest, Resampling.bilinear):
        assert abs(warped(people, other, "float32") - 1) > 0.05
    assert "-r bilinear for covariates" in RESAMPLING
