"""Any polygons over any rasters: each pixel where geometry says, or an error that says what to do.

Never a wrong number unsaid: what cannot be used is refused by name, or named in the record.
"""

import re
import tempfile
import warnings
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pyproj
import pytest
import shapely
import xarray as xr
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.properties.scenes import scenes
from workbench import schema
from workbench.checks import InputError, WorkbenchWarning
from workbench.pipeline.own_files import bag_files

MAPS = settings(max_examples=60, deadline=None, derandomize=True, print_blob=True,
                phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck))


def read(make):
    """What ``make`` reads, or None where it refuses in words; warnings other than ours are errors.

    Raises
    ------
    Exception
        Any other error, which is a fault.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorkbenchWarning)
        try:
            return make()
        except InputError as error:
            assert len(str(error)) > 30, "an error says what to do"
            return None


def pixels(scene) -> np.ndarray:
    """Outlines of the raster's pixels, row by row from the north-west."""
    rows, columns = scene.known["height"].shape
    row, column = np.divmod(np.arange(rows * columns), columns)
    west, north = scene.affine @ (column, row)
    return shapely.box(west, north + scene.affine.e, west + scene.affine.a, north)


def left(known: np.ndarray, name: str, record: str) -> np.ndarray:
    """Pixels less those that the record says were masked, which is never done unsaid."""
    marks = [float(m) for m in re.findall(
        rf"raster '{name}' has \d+ pixels equal to (\S+), .*: masked as a nodata mark", record)]
    return np.where(np.isin(known, marks), np.nan, known)


@pytest.mark.slow
@MAPS
@given(scenes())
def test_areas_over_rasters(scene):
    ds = read(lambda: scene.bagged(wb.bag_polygons))
    assume(ds is not None)
    schema.check(ds)
    row, column, member = (ds[n].values for n in ("row", "column", "membership"))
    people, height = (left(scene.known[n], n, ds.attrs["treatments"])
                      for n in ("people", "height"))
    np.testing.assert_allclose(ds.attrs["grid_transform"], tuple(scene.affine)[:6])
    assert tuple(ds.attrs["grid_shape"]) == height.shape

    # Each pixel where its outline and that of its area meet, and nowhere else.
    size = abs(scene.affine.a * scene.affine.e)
    outlines = ds["bag_geometry"].values
    inside = shapely.area(shapely.intersection(outlines[:, None], pixels(scene))) / size
    cell = row * height.shape[1] + column
    np.testing.assert_allclose(ds["coverage"], inside[member, cell], atol=1e-6)
    found = np.zeros(inside.shape)
    found[member, cell] = ds["coverage"]
    held = (people.ravel() > 0) & np.isfinite(people.ravel())
    if scene.options.get("missing") != "nearest":
        seen = np.isfinite(height.ravel())
        few = np.nansum((inside * people.ravel())[:, held & ~seen])
        lost = few > 0.01 * np.nansum(inside * people.ravel())
        held &= seen | (scene.options.get("missing") is None and not lost)
    np.testing.assert_allclose(found, np.where(held, inside, 0), atol=1e-6)

    # Weights and covariates are those of the pixels; every number is one.
    weight = ds["weight"].values
    if isinstance(scene.weight, str):
        assert (weight > 0).all()
    else:
        np.testing.assert_allclose(weight, people[row, column] * ds["coverage"])
    if not isinstance(scene.weight, str) and ds.sizes["bag"] == len(scene.areas):
        total = np.nansum(people)
        outside = np.nansum(people.ravel() * np.clip(1 - inside.sum(0), 0, 1))
        assert ds.attrs["outside_weight"] == pytest.approx(outside, abs=2e-6 * total)
    x = ds["covariates"].values[:, 0]
    there = np.isfinite(height[row, column])
    np.testing.assert_array_equal(x[there], height[row, column][there])
    assert np.isin(x, height[np.isfinite(height)]).all()

    # Every bag has a name, an outline and a value of the areas given.
    areas = scene.areas.assign(code=scene.areas["code"].astype(str))
    for name, outline, value in zip(ds["bag"].values, outlines, ds["value"].values, strict=True):
        own = areas[areas["code"] == name]
        values = own["cases"].astype(float)
        assert value in (values.sum(), values.iloc[0])
        if scene.areas.crs == ds.attrs["crs"]:
            given = shapely.union_all(own.geometry.make_valid())
            assert shapely.area(outline) == pytest.approx(shapely.area(given), rel=1e-9)


@pytest.mark.slow
@settings(MAPS, max_examples=15)
@given(scenes())
def test_a_check_stops_where_a_fit_would_and_never_before(scene):
    ds = read(lambda: scene.bagged(wb.bag_polygons))
    checked = read(lambda: scene.bagged(wb.check))
    if ds is None:
        assert not checked.ok
    else:                               # what a model asks further: something to learn from, room
        assert {one.code for one in checked.of("error")} <= {"value", "time", "memory", "model"}


def uneven(raster) -> bool:
    """Whether rows are unevenly spaced, which a GeoTIFF cannot say."""
    if isinstance(raster, str) or "y" not in raster.coords or raster.sizes["y"] < 3:
        return False
    steps = np.diff(raster["y"])
    return bool(np.ptp(steps) > 0.1 * np.abs(steps).min())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Transform that is non-rectilinear")      # as it is written
@settings(MAPS, max_examples=20)
@given(scenes(), st.sampled_from([".gpkg", ".geojson", ".shp"]), st.sampled_from([".tif", ".nc"]))
def test_files_are_read_as_what_they_were_written_from(scene, kind, grid):
    areas = scene.areas
    assume(areas.columns.is_unique and areas["cases"].map(type).nunique() == 1)
    assume(kind == ".gpkg" or areas.geometry.is_valid.all())
    assume(grid == ".nc" or not any(uneven(one) for one in (scene.height, scene.weight)))
    in_memory = read(lambda: scene.bagged(wb.bag_polygons))
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        areas.to_file(folder / f"areas{kind}")
        rasters = [scene.height] + [scene.weight] * (not isinstance(scene.weight, str))
        paths = []
        for one in rasters:
            paths.append(folder / f"{one.name}{grid}")
            if grid == ".tif":
                one.rio.to_raster(paths[-1])
            else:
                one.to_netcdf(paths[-1], engine="h5netcdf")
        options = {"polygons": str(folder / f"areas{kind}"), "covariates": [str(paths[0])],
                   "weight": str(paths[-1]) if len(paths) > 1 else scene.weight,
                   "value": "cases", "id": "code", **scene.options}
        ds = read(lambda: bag_files("polygons", options, None))
        if ds is None:
            assert in_memory is None
            return
        assert ds["bag"].values.tolist() == in_memory["bag"].values.tolist()
        for name in ("weight", "membership", "value", "covariates", "row", "column"):
            np.testing.assert_allclose(ds[name], in_memory[name])
        wb.write(ds, folder / "bagged.nc")
        xr.testing.assert_identical(wb.read(folder / "bagged.nc").drop_attrs(), ds.drop_attrs())


@pytest.mark.slow
@settings(MAPS, max_examples=25)
@given(scenes(), st.floats(0, 1), st.booleans())
def test_totals_of_new_polygons_add_up_to_those_of_the_map(scene, share, turned):
    ds = read(lambda: scene.bagged(wb.bag_polygons))
    assume(ds is not None)
    rows, columns = scene.known["height"].shape
    (west, north), (east, south) = scene.affine @ (0, 0), scene.affine @ (columns, rows)
    middle = west + share * (east - west)
    halves = gpd.GeoDataFrame({"side": ["<i>west</i>", "../east"]}, geometry=[
        shapely.box(west, south, middle, north), shapely.box(middle, south, east, north)],
        crs=ds.attrs["crs"])
    halves = halves[shapely.area(halves.geometry) > 0]
    draws = np.random.default_rng(0).gamma(2.0, size=(3, ds.sizes["individual"]))
    maps = ds.assign(draw=(("sample", "individual"), draws, {"aggregation": "sum"}))
    found = read(lambda: wb.aggregate(maps, halves[::-1] if turned else halves, id="side"))
    assert set(found["bag"].values) == set(halves["side"])
    np.testing.assert_allclose(np.nansum(found["draw"], axis=1), draws @ ds["weight"].values,
                               rtol=1e-5)
    np.testing.assert_allclose(found["weight"].sum(), ds["weight"].sum(), rtol=1e-5)


PLACES = st.sampled_from(["inside", "inside", "inside", "at the corner", "beyond", "NaN", "twice"])


@pytest.mark.slow
@settings(MAPS, max_examples=30)
@given(scenes(), st.lists(PLACES, min_size=1, max_size=5), st.booleans(), st.booleans())
def test_points_over_rasters(scene, places, drop, elsewhere):
    rows, columns = scene.known["height"].shape
    rng = np.random.default_rng(rows)
    at = rng.uniform(size=(len(places), 2)) * (columns, rows)
    for k, place in enumerate(places):
        at[k] = {"at the corner": (0, rows), "beyond": (columns + 1, 0), "NaN": (np.nan, 1),
                 "twice": at[0]}.get(place, at[k])
    x, y = scene.affine @ at.T
    names = [f"{scene.areas['code'].iloc[0]}{k}" for k in range(len(places))]
    table = pd.DataFrame({"x": x, "y": y, "name": names, "cases": np.arange(float(len(places)))})
    crs = scene.height.rio.crs.to_string()
    if elsewhere:
        table["x"], table["y"] = pyproj.Transformer.from_crs(
            crs, "EPSG:4326", always_xy=True).transform(x, y)
        crs = "EPSG:4326"
    options = {k: v for k, v in scene.options.items() if k == "marks"}
    ds = read(lambda: wb.bag_points(table, "cases", [scene.height], id="name", points_crs=crs,
                                    **options, **({"missing": "drop"} if drop else {})))
    assume(ds is not None)
    schema.check(ds)
    height = left(scene.known["height"], "height", ds.attrs["treatments"])
    for name, value, covariate in zip(ds["bag"].values, ds["value"].values,
                                      ds["covariates"].values[:, 0], strict=True):
        k = names.index(name)
        column, row = np.minimum(at[k].astype(int), (columns - 1, rows - 1))
        near = height[row, column]
        assert value == k and (covariate == near or np.isnan(near) and np.isin(covariate, height))
