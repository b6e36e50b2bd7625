"""Maps back from individuals, and datasets to files and back."""

import geopandas as gpd
import numpy as np
import pytest
import rasterio
import shapely
import xarray as xr

from workbench.checks import InputError
from workbench.datasets import load
from workbench.geo import read, to_raster, write

TRANSFORM = [0.5, 0.0, 10.0, 0.0, -0.5, 50.0]


def cut():
    """Three pixels of a 2 x 3 grid, one of them cut between two areas."""
    ds = xr.Dataset(
        {
            "covariates": (("individual", "covariate"), [[1.0], [2.0], [2.0], [3.0]]),
            "weight": ("individual", [10.0, 5.0, 15.0, 20.0]),
            "membership": ("individual", [0, 0, 1, 1]),
            "value": ("bag", [3.0, 4.0], {"aggregation": "sum", "kind": "count"}),
            "rate": ("individual", [0.1, 0.2, 0.4, 0.8]),
            "quantile": (("level", "individual"), [[0.0, 1, 2, 3], [4.0, 5, 6, 7]]),
        },
        coords={
            "bag": ["a", "b"], "covariate": ["height"], "individual": np.arange(4),
            "level": [0.05, 0.95], "bag_name": ("bag", ["Ay", "Bee"]),
            "row": ("individual", [0, 0, 0, 1]), "column": ("individual", [0, 1, 1, 2]),
            "coverage": ("individual", [1.0, 0.25, 0.75, 1.0]),
        },
        attrs={"crs": "EPSG:4326", "grid_transform": TRANSFORM, "grid_shape": [2, 3],
               "title": "cut"},
    )
    shapes = np.empty(2, dtype=object)
    shapes[:] = [shapely.box(10, 49.5, 10.625, 50), shapely.box(10.625, 49, 11.5, 50)]
    return ds.assign_coords(bag_geometry=("bag", shapes))


def test_parts_of_a_pixel_are_averaged_by_weight_or_summed():
    nan = np.nan
    rate = to_raster(cut(), "rate")
    np.testing.assert_allclose(rate, [[0.1, 0.25 * 0.2 + 0.75 * 0.4, nan], [nan, nan, 0.8]])
    np.testing.assert_allclose(to_raster(cut(), "weight", how="sum"),
                               [[10, 20, nan], [nan, nan, 20]])
    assert rate.rio.crs == "EPSG:4326"
    assert rate["x"].values.tolist() == [10.25, 10.75, 11.25]
    assert rate["y"].values.tolist() == [49.75, 49.25]


def test_a_rate_times_the_weight_of_a_pixel_is_its_expected_count():
    """Also where people are spread evenly over each area, and a border pixel has few and many."""
    dense = cut().assign(weight=("individual", [10.0, 80.0, 20.0, 20.0]))
    dense = dense.assign(expected_count=dense["rate"] * dense["weight"])
    rate, people, counts = (to_raster(dense, name, how) for name, how in (
        ("rate", "average"), ("weight", "sum"), ("expected_count", "sum")))
    np.testing.assert_allclose(rate * people, counts)
    assert rate[0, 1] == pytest.approx((80 * 0.2 + 20 * 0.4) / 100)
    alone = dense["coverage"].values == 1
    assert (people.values[0, 0], rate.values[0, 0]) == (10, float(dense["rate"][alone][0]))
    empty = cut().assign(weight=("individual", [10.0, 0.0, 0.0, 20.0]))
    for nobody in (empty, cut().drop_vars("weight")):       # where coverage is all there is
        assert to_raster(nobody, "rate")[0, 1] == pytest.approx(0.25 * 0.2 + 0.75 * 0.4)


def test_numbers_of_another_length_or_unknown_names_are_refused():
    with pytest.raises(InputError, match=r"each of the 4 individuals, got shape \(3,\)"):
        to_raster(cut(), np.ones(3))
    with pytest.raises(InputError, match="values 'rat' is unknown; did you mean 'rate'"):
        to_raster(cut(), "rat")
    with pytest.raises(InputError, match="individuals are not pixels"):
        to_raster(load("swiss-roll", n_bags=2, mean_size=5, size_std=3), "truth")


def test_netcdf_gives_back_the_same_dataset_with_its_shapes(tmp_path):
    ds = load("simulated-country", pixels=400, districts=8, regions=3, provinces=2, largest=200)
    back = read(write(ds, tmp_path / "country.nc"))
    same = all(a.equals_exact(b, 0) for a, b in zip(
        ds["bag_geometry"].values, back["bag_geometry"].values, strict=True))
    assert same
    xr.testing.assert_identical(
        back.drop_vars("bag_geometry").drop_attrs(), ds.drop_vars("bag_geometry").drop_attrs())
    for name in ("value", "weight", "truth", "x"):
        assert back[name].attrs == ds[name].attrs
    assert set(back.attrs) == set(ds.attrs)
    # good enough to go on with: it still makes the same raster
    xr.testing.assert_allclose(to_raster(back, "truth"), to_raster(ds, "truth"))


def test_geotiff_bands_are_named_and_placed(tmp_path):
    with rasterio.open(write(cut(), tmp_path / "map.tif")) as file:
        assert file.descriptions == ("height", "weight", "rate", "quantile_0.05", "quantile_0.95")
        assert list(file.transform)[:6] == TRANSFORM
        assert file.crs.to_epsg() == 4326
        np.testing.assert_allclose(file.read(3), to_raster(cut(), "rate"))
        np.testing.assert_allclose(file.read(2), to_raster(cut(), "weight", "sum"))


def test_geopackage_has_the_areas_with_their_numbers(tmp_path):
    frame = gpd.read_file(write(cut(), tmp_path / "areas.gpkg"), layer="bag")
    assert frame["value"].tolist() == [3, 4]
    assert frame["bag_name"].tolist() == ["Ay", "Bee"]
    assert frame.crs.to_epsg() == 4326
    assert frame.geometry.geom_equals(gpd.GeoSeries(cut()["bag_geometry"].values, crs=4326)).all()


def test_geopackage_takes_the_individuals_if_they_are_polygons(tmp_path):
    ds = cut().assign_coords(individual_geometry=(
        "individual", shapely.box(np.arange(4), 0, np.arange(4) + 1, 1)))
    frame = gpd.read_file(write(ds, tmp_path / "fine.gpkg"), layer="individual")
    assert frame["quantile_0.95"].tolist() == [4, 5, 6, 7]
    areas = gpd.read_file(write(ds, tmp_path / "fine.gpkg", layer="bag"))
    assert len(areas) == 2  # the former layer is gone


@pytest.mark.parametrize("name,layer,message", [
    ("map.png", None, "file type '.png' is unknown; .*choose from .nc, .tif"),
    ("no/map.nc", None, "no directory"),
    ("map.nc", "bag", "layer chooses the rows of a .gpkg"),
    ("map.gpkg", "individual", "layer 'individual' is unknown"),
])
def test_what_cannot_be_written_is_said(tmp_path, name, layer, message):
    with pytest.raises(InputError, match=message):
        write(cut(), tmp_path / name, layer=layer)


def test_what_cannot_be_read_is_said(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read(tmp_path / "none.nc")
    for name, message in {
        "a.tif": "got a .tif file, '.*a.tif'; rasters go into workbench.bag_polygons as covariates "
                 "or weight; rioxarray.open_rasterio",
        "a.gpkg": "polygons go into workbench.bag_polygons or bag_children; geopandas.read_file",
        "a.SHP": "a .shp file.*geopandas.read_file",
        "a.csv": "workbench.bagging.from_table",
        "a.docx": "file type '.docx' is unknown",
        "a.nc": "cannot read '.*a.nc' as NetCDF: .*; try",
    }.items():
        (tmp_path / name).write_text("nothing")
        with pytest.raises(InputError, match=message):
            read(tmp_path / name)
    with pytest.raises(InputError, match="no geometries to write"):
        write(cut().drop_vars(["bag_geometry", "row"]), tmp_path / "a.gpkg")
