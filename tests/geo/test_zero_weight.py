"""Pixels without people are no gap in a map; pixels of unknown people or covariates are."""

import warnings

import geopandas
import numpy as np
import pytest
import shapely

import workbench as wb
from tests.preflight import kit
from workbench.checks import DataWarning
from workbench.geo.overlay import shares_in, zones_of

INSIDE, COAST, EAST = shapely.box(50, 50, 250, 250), shapely.box(-100, 0, 100, 200), shapely.box(
    200, 0, 400, 300)


def zones(ds):
    return geopandas.GeoDataFrame({"name": ["in", "coast", "east"]},
                                  geometry=[INSIDE, COAST, EAST], crs=ds.attrs["crs"])


def covered(ds):
    return shares_in(ds, zones_of(ds, zones(ds), "name"))[1]


def bagged(folder, people, height=None, **options):
    arguments = kit.write_kit(folder)
    kit.write_raster(folder / "people.tif", people)
    if height is not None:
        kit.write_raster(folder / "height.tif", height)
    data = arguments.pop("data")
    return wb.bag_polygons(data, **arguments, **options)


@pytest.fixture
def people():
    """Every fifth pixel is empty."""
    found = kit.people()
    found.ravel()[::5] = 0
    return found


def test_a_map_covers_pixels_without_people(tmp_path, people):
    ds = bagged(tmp_path, people)
    assert ds.sizes["individual"] == 960 and ds.attrs["zero_weight_pixels"] == 240
    for one in (ds, wb.merge_to(ds, 4)):
        assert covered(one) == pytest.approx([1, 0.5, 1], abs=1e-6)
    fit = wb.Constant().fit(ds)
    maps = fit.to_dataset(ds, draws=5)
    wb.write(maps, tmp_path / "map.nc")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        found = wb.aggregate(wb.read(tmp_path / "map.nc"), zones(ds).iloc[[0, 2]], id="name")
    assert found["covered"].values == pytest.approx(1, abs=1e-6)
    with pytest.warns(DataWarning, match="all of 1 of 3 polygons .first: coast, 50.0%"):
        fit.aggregate(ds, zones(ds), id="name", samples=5)


def test_a_dataset_without_the_record_counts_individuals_alone(tmp_path, people):
    ds = bagged(tmp_path, people)
    del ds.attrs["zero_weight_pixels"]
    assert covered(ds) == pytest.approx([0.8, 0.4, 0.8], abs=1e-6)


def test_unknown_people_are_not_covered(tmp_path, people):
    people[:, 20:22] = np.nan           # 60 pixels, from 200 to 220 m
    ds = bagged(tmp_path, people)
    # The least that can be covered, of 400, 200 and 600 pixels: all 60 may lie in each of them.
    assert covered(ds) == pytest.approx([1 - 60 / 400, 0.4, 1 - 60 / 600], abs=1e-6)


def test_missing_covariates_are_not_covered(tmp_path, people):
    height = kit.height()
    height[:, 20:] = np.nan             # all of the third zone
    ds = bagged(tmp_path, people, height, missing="drop", empty="drop")
    assert covered(ds)[2] == 0 and covered(ds)[0] < 0.8


def test_the_record_is_of_these_areas_and_individuals(tmp_path, people):
    ds = bagged(tmp_path, people)
    some = ds.isel(individual=np.arange(960) % 2 == 0)
    assert covered(some)[0] < 0.9       # half of the individuals are no part of this map
    few = ds["membership"].values < 4
    part = ds.isel(individual=few, bag=slice(4))
    assert covered(part)[1] == pytest.approx(0.2, abs=1e-6)
