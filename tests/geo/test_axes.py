"""Where the pixels of a raster lie: single rows, coordinates that are missing, uneven, or old."""

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
import rasterio
import shapely
import xarray as xr
from affine import Affine

import workbench as wb
from tests.geo.test_polygons import CRS, areas, bagged, layers, people, raster
from workbench.checks import InputError
from workbench.geo.rasters import read_rasters
from workbench.geo.treatments import Record


def one_row(turn=lambda raster: raster):
    return [turn(raster.isel(y=slice(2, 3))) for raster in (layers()[0], people())]


@pytest.mark.filterwarnings("ignore:.* in part beyond the raster")   # of one row
def test_a_raster_of_one_row_is_that_row_of_the_whole():
    height, weight = one_row()
    row = bagged(covariates=[height], weight=weight, empty="drop")
    whole = bagged(covariates=layers()[:1], weight=people().where(people()["y"] == weight["y"]),
                   empty="drop")
    for name in ("weight", "coverage", "covariates", "x", "y", "membership"):
        np.testing.assert_allclose(row[name], whole[name])


@pytest.mark.filterwarnings("ignore:.* in part beyond the raster")   # of one row
@pytest.mark.parametrize("suffix", ["tif", "nc"])
def test_files_of_one_row_keep_its_height(tmp_path, suffix):
    height, weight = one_row()
    paths = [tmp_path / f"{one.name}.{suffix}" for one in (height, weight)]
    for one, path in zip((height, weight), paths, strict=True):
        if suffix == "tif":
            one.rio.to_raster(path)
        else:
            one.to_netcdf(path, engine="h5netcdf")
    found = bagged(covariates=paths[:1], weight=paths[1], empty="drop")
    np.testing.assert_allclose(
        found["weight"], bagged(covariates=[height], weight=weight, empty="drop")["weight"])


@pytest.mark.parametrize(("raster", "said"), [
    (lambda r: r.isel(y=slice(2, 3)).drop_vars("spatial_ref").rio.write_crs(CRS),
     "has one row, and no transform that tells its size"),
    (lambda r: r.isel(y=[0, 1]).coarsen(y=2).mean(), "has one row, and no transform"),
    (lambda r: r.isel(y=[3, 4, 5], x=slice(6)).coarsen(y=3, x=3).mean(),
     "has one row, and no transform"),
    (lambda r: r.isel(y=slice(0)), "has no pixels .0 rows, "),
    (lambda r: r.drop_vars(["y", "spatial_ref"]).rio.write_crs(CRS),
     "has no coordinates of its pixels along y, and no transform"),
    (lambda r: r.assign_coords(y=r["y"] - 60.0 * (np.arange(8) == 3)),
     "uneven coordinates along y: .* interpolate it"),
    (lambda r: r.assign_coords(x=np.roll(r["x"], 3)), "along x that are not in order; .*sortby"),
    (lambda r: r.assign_coords(x=np.where(r["x"] == r["x"][3], np.nan, r["x"])),
     "has 1 coordinates along x that are no numbers"),
])
def test_pixels_that_lie_nowhere_or_unevenly_are_refused(raster, said):
    with pytest.raises(InputError, match=said):
        bagged(weight=raster(people()))


@pytest.mark.parametrize(("longitudes", "said"), [
    (np.r_[0.5:5, 355.5:360], r"from 4.5 to 355.5, as they run from 0 to 360: take 360 off those "
     r"above 180, as ds.assign_coords\(lon=\(ds.lon \+ 180\) % 360 - 180\).sortby"),
    (np.r_[-179.5:-175, 175.5:180], r"as they lie on both sides of 180: add 360 to those below 0, "
     r"as ds.assign_coords\(lon=ds.lon % 360\).sortby"),
    (np.r_[0.5:5, 345.5:350], "uneven coordinates along x")])
def test_longitudes_that_are_sorted_and_torn_are_said_to_be_that(longitudes, said):
    whole = raster("height", np.ones((4, longitudes.size)), crs="EPSG:4326", cell=1.0,
                   origin=(0.0, 50.0)).drop_vars("spatial_ref").assign_coords(x=longitudes)
    with pytest.raises(InputError, match=said):
        read_rasters(whole, Record(), crs="EPSG:4326")


@pytest.mark.parametrize(("crs", "x"), [("EPSG:32633", [0.0, 200, 100, 300]),
                                        ("EPSG:4326", [10.0, 0, 20, 30]),
                                        ("EPSG:32633", [0.0, 90, -180, -90])])
def test_coordinates_out_of_order_are_no_matter_of_turns(crs, x):
    whole = xr.DataArray(np.arange(12.0).reshape(3, 4), dims=("y", "x"), name="height", coords={
        "y": [20.0, 10.0, 0.0], "x": x}).rio.write_crs(crs)
    with pytest.raises(InputError, match=r"along x that are not in order; .*sortby\('x'\)"):
        read_rasters(whole, Record())
    assert read_rasters(whole.sortby("x"), Record())["height"].sizes["x"] == 4


def test_pixels_without_coordinates_lie_where_the_transform_says():
    bare = people().drop_vars(["x", "y"])
    xr.testing.assert_allclose(bagged(weight=bare)["weight"], bagged()["weight"])


def test_rasters_in_blocks_with_uneven_rows_are_refused(tmp_path):
    uneven = people().assign_coords(y=people()["y"] - 60.0 * (np.arange(8) == 3))
    uneven.to_netcdf(tmp_path / "people.nc", engine="h5netcdf")
    with pytest.raises(InputError, match="uneven coordinates along y"):
        wb.open_rasters(tmp_path / "people.nc", chunks=4)


def test_rotated_rasters_and_bands_too_many_are_refused_by_blocks_as_in_memory(tmp_path):
    turned = Affine.translation(500, 900) * Affine.rotation(20) * Affine.scale(100, -100)
    with rasterio.open(tmp_path / "people.tif", "w", driver="GTiff", width=4, height=3, count=1,
                       dtype="float64", crs=CRS, transform=turned) as file:
        file.write(np.ones((1, 3, 4)))
    for read in (wb.open_rasters, lambda path: bagged(weight=path)):
        with pytest.raises(InputError, match=r"people.* is rotated .* warp it to a north-up grid"):
            read(tmp_path / "people.tif")
    two = xr.concat([people(), people()], "band")
    two.rio.to_raster(tmp_path / "two.tif")
    with pytest.raises(InputError, match="two.tif has 2 bands .*one raster is wanted by the name "
                                         "'people': give the file without a name"):
        wb.open_rasters({"people": tmp_path / "two.tif"})


def test_of_columns_of_one_name_none_is_taken():
    twice = areas(more=1.0).rename(columns={"more": "cases"})
    with pytest.raises(InputError, match="2 columns 'cases', and one is needed for the value"):
        bagged(gpd.GeoDataFrame(twice))
    with pytest.raises(InputError, match="2 columns 'land', and one is needed for the label"):
        bagged(gpd.GeoDataFrame(areas(more=1.0).rename(columns={"more": "land"})))


def test_points_and_areas_that_all_lack_covariates_are_refused_with_the_remedy():
    nowhere = layers()[0].where(layers()[0]["x"] > 1900)
    table = pd.DataFrame({"x": [1050.0], "y": [1950.0], "v": [1.0]})
    for call in (lambda: wb.bag_points(table, "v", [nowhere], points_crs=CRS, missing="drop"),
                 lambda: bagged(areas()[:1], covariates=[nowhere], missing="drop")):
        with pytest.raises(InputError, match="covers none of the .*pass missing='nearest'"):
            call()


def test_totals_over_polygons_in_degrees_warn_of_nothing():
    two = gpd.GeoDataFrame({"code": ["a", "b"], "cases": [3.0, 8.0]}, crs="EPSG:4326",
                           geometry=shapely.box([0, 2], 0, [2, 4], 2))
    ds = wb.bag_polygons(two, value="cases", id="code", grid_size=4)
    ones = np.ones((3, ds.sizes["individual"]))
    maps = ds.assign(draw=(("sample", "individual"), ones, {"aggregation": "sum"}))
    found = wb.aggregate(maps, two, id="code")
    np.testing.assert_allclose(found["mean"], ds["weight"].groupby(ds["membership"]).sum())
    np.testing.assert_allclose(found["covered"], 1.0)
