"""Rasters in the formats that people have: VRT, Zarr, tables of pixels; polygons in a FileGDB."""

import importlib.util
import shutil
from pathlib import Path

import geopandas as gpd
import numpy as np
import pytest
import rasterio
import shapely
import xarray as xr

import workbench as wb
from tests.geo.files import CRS, areas, grid, height, kit, mapped, people, refusal, table
from tests.kit import needs_zarr
from workbench.checks import InputError

VRT = """<VRTDataset rasterXSize="12" rasterYSize="12"><SRS>EPSG:32633</SRS>
<GeoTransform>500000, 1000, 0, 5012000, 0, -1000</GeoTransform>
<VRTRasterBand dataType="Float64" band="1"><SimpleSource>
<SourceFilename relativeToVRT="1">height.tif</SourceFilename><SourceBand>1</SourceBand>
</SimpleSource></VRTRasterBand></VRTDataset>"""


def bagged(covariates, polygons=None, **options):
    polygons = areas(**table().drop(columns="code")) if polygons is None else polygons
    return wb.bag_polygons(polygons, covariates, people(), "cases", id="code", **options)


def as_table(*rasters):
    frame = xr.merge([r.drop_vars("spatial_ref") for r in rasters]).to_dataframe().reset_index()
    return frame[["x", "y", *(r.name for r in rasters)]]


def floats():
    """Columns that a FileGDB holds as they are."""
    return table().drop(columns="code").astype({"cases": float, "positive": float, "tested": float})


def test_a_vrt_is_read(tmp_path):
    kit(tmp_path)
    (tmp_path / "height.vrt").write_text(VRT)
    xr.testing.assert_equal(bagged(tmp_path / "height.vrt")["covariates"],
                            bagged([height()])["covariates"])


def test_a_table_of_pixels_is_a_raster(tmp_path):
    frame = as_table(height(), (2 * height()).rename("double"))
    path = tmp_path / "pixels.csv"
    frame.sample(frac=1, random_state=0).to_csv(path, index=False)
    ds = bagged(path, raster_crs=CRS, variable="height")
    xr.testing.assert_allclose(ds["covariates"], bagged([height()])["covariates"])
    with pytest.raises(InputError, match="raster 'height' has no CRS; state it with raster_crs"):
        bagged(path, variable="height")
    # A pixel without a row is missing, as any other is.
    frame.iloc[1:].to_csv(path, index=False)
    assert "1 gaps were filled" in bagged(path, raster_crs=CRS, variable="height").treatments


@pytest.mark.parametrize("said", [
    ({"units": "degrees_north"}, {"units": "degrees_east"}),
    ({"units": "degrees", "standard_name": "latitude"},
     {"units": "degrees", "standard_name": "longitude"})])
def test_degrees_by_the_conventions_of_climate_files_need_no_crs(tmp_path, said):
    west = gpd.GeoDataFrame({"cases": [3.0, 4.0]}, crs="EPSG:4326", geometry=[
        shapely.box(10, 48.5, 11, 50), shapely.box(11, 48.5, 12, 50)])
    rain = xr.DataArray(np.arange(12.0).reshape(3, 4), dims=("lat", "lon"), name="rain", coords={
        "lat": ("lat", 49.75 - 0.5 * np.arange(3), said[0]),
        "lon": ("lon", 10.25 + 0.5 * np.arange(4), said[1])})
    rain.to_netcdf(tmp_path / "rain.nc")
    for source in (rain, rain.to_dataset(), tmp_path / "rain.nc"):
        ds = wb.bag_polygons(west, source, "uniform", "cases")
        assert ds.crs == "EPSG:4326" and "taken as EPSG:4326" in ds.attrs["treatments"]
        assert sorted(ds["covariates"].values[:, 0]) == list(range(12))
    # Degrees of which nobody says that they are, such as rows called "lat", are not guessed.
    bare = rain.assign_coords(lat=rain["lat"].values, lon=rain["lon"].values)
    with pytest.raises(InputError, match="raster 'rain' has no CRS; state it with raster_crs"):
        wb.bag_polygons(west, bare, "uniform", "cases")
    stated = wb.bag_polygons(west.set_crs("EPSG:4258", allow_override=True), rain, "uniform",
                             "cases", raster_crs="EPSG:4258")
    assert stated.crs == "EPSG:4258"


def test_a_table_in_degrees_states_its_crs(tmp_path):
    lonlat = grid(np.arange(12.0).reshape(3, 4), "z", 0.5, None, (10.0, 50.0))
    frame = as_table(lonlat).rename(columns={"x": "Lon", "y": "lat"})
    frame.to_csv(tmp_path / "z.csv", index=False)
    west = gpd.GeoDataFrame({"cases": [3.0, 4.0]}, crs="EPSG:4326", geometry=gpd.GeoSeries.from_wkt(
        ["POLYGON((10 48.5,11 48.5,11 50,10 50,10 48.5))",
         "POLYGON((11 48.5,12 48.5,12 50,11 50,11 48.5))"]))
    ds = wb.bag_polygons(west, tmp_path / "z.csv", "uniform", "cases")
    assert sorted(ds["covariates"].values[:, 0]) == list(range(12)) and ds.crs == "EPSG:4326"


def test_a_table_of_pixels_may_have_names_in_latin_1(tmp_path):
    frame = as_table(height()).rename(columns={"height": "höhe"})
    frame.to_csv(tmp_path / "pixels.csv", index=False, encoding="latin-1")
    ds = bagged(tmp_path / "pixels.csv", raster_crs=CRS)
    assert ds["covariate"].values.tolist() == ["höhe"]


@pytest.mark.parametrize(("change", "said"), [
    (lambda t: t.assign(x=t["x"] + np.where(t.index == 5, 300, 0)), "is on no regular grid"),
    (lambda t: t.rename(columns={"x": "east"}), "has no columns for x"),
    (lambda t: t.iloc[[*range(len(t)), 0]], "1 rows of pixels.csv are of a pixel that"),
    (lambda t: t[["x", "y"]], "no column of numbers beside 'x' and 'y'"),
    (lambda t: t.assign(x=500_000), "has one value only"),
    (lambda t: t.assign(y=["north", *t["y"][1:]]), "1 entries that are no numbers"),
])
def test_tables_that_are_no_raster_are_refused(tmp_path, change, said):
    change(as_table(height())).to_csv(tmp_path / "pixels.csv", index=False)
    with pytest.raises(InputError, match=said):
        bagged(tmp_path / "pixels.csv", raster_crs=CRS)


def test_scattered_points_are_no_raster(tmp_path):
    at = np.arange(200) * 37 % 200
    rows = {"x": at * 10.0, "y": np.arange(200) * 10.0, "z": np.arange(200.0)}
    xr.Dataset({k: ("i", v) for k, v in rows.items()}).to_dataframe().to_csv(tmp_path / "p.csv")
    with pytest.raises(InputError, match="scattered points, no raster"):
        bagged(tmp_path / "p.csv", raster_crs=CRS)


def test_zarr_without_its_package_says_what_it_needs(tmp_path, monkeypatch):
    (tmp_path / "height.zarr").mkdir()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"needs the package zarr; pip install 'agg.*\[zarr\]'"):
        bagged(tmp_path / "height.zarr")


def stored(path, version: int):
    """Two rasters as a Zarr store, its index in the arrays alone, and the same zipped."""
    ds = height().to_dataset().assign(other=height(1))
    ds.to_zarr(path, zarr_format=version, consolidated=False)
    return path, Path(shutil.make_archive(str(path), "zip", path.parent, path.name))


@needs_zarr
@pytest.mark.parametrize("version", [2, 3])
def test_zarr_is_read_as_directory_and_zip(tmp_path, version):
    expected = bagged([height()])["covariates"]
    for path in stored(tmp_path / "height.zarr", version):
        xr.testing.assert_equal(bagged(path, variable="height")["covariates"], expected)
    unnamed = (tmp_path / "height.zarr").rename(tmp_path / "height")
    xr.testing.assert_equal(bagged(unnamed, variable="height")["covariates"], expected)
    assert set(bagged(unnamed)["covariate"].values) == {"height", "other"}


@needs_zarr
def test_zarr_of_gdal_is_read_with_its_crs(tmp_path):
    kit(tmp_path)
    with rasterio.open(tmp_path / "height.tif") as file:
        about = file.profile | {"driver": "Zarr"}
        for key in ("compress", "tiled", "interleave", "blockxsize", "blockysize"):
            about.pop(key, None)
        with rasterio.open(tmp_path / "g.zarr", "w", **about) as store:
            store.write(file.read())
    np.testing.assert_array_equal(bagged(tmp_path / "g.zarr")["covariates"],
                                  bagged([height()])["covariates"])


@needs_zarr
@pytest.mark.parametrize(("name", "said"), [
    ("empty.zarr", "as Zarr"), ("plain", "is a directory; name a raster in it"),
    ("broken.zip", "unknown type")])
def test_what_is_no_zarr_is_refused(tmp_path, name, said):
    path = tmp_path / name
    path.write_text("none") if path.suffix == ".zip" else path.mkdir()
    with pytest.raises(InputError, match=said):
        bagged(path)


def test_a_filegdb_and_its_layers(tmp_path):
    path = tmp_path / "areas.gdb"
    full = areas(**floats())
    full.to_file(path, driver="OpenFileGDB", layer="districts")
    assert bagged([height()], path)["value"].values.tolist() == table()["cases"].tolist()
    full.iloc[:4].to_file(path, driver="OpenFileGDB", layer="cities", mode="a")
    with pytest.raises(InputError, match="2 layers of polygons: districts, cities; pass layer="):
        bagged([height()], path)
    assert bagged([height()], path, layer="cities", outside="report").sizes["bag"] == 4


def test_what_it_means_that_no_weight_is_given():
    """Of totals, of means, and of places whose values are not known."""
    given = areas(**floats())
    for ds in (wb.bag_polygons(given, [height()], value="cases"),
               wb.polygon_places(given, [height()])):
        assert "so that rates are per km²; give a raster of population, or" in ds.treatments
    means = wb.bag_polygons(given, [height()], value="cases", aggregation="mean",
                            kind="continuous").treatments
    assert ("every km² counts alike in an area's mean; give a raster of population for means per "
            "person") in means and "rates" not in means


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.WorkbenchWarning")
def test_from_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(kit(tmp_path))
    as_table(height()).to_csv("pixels.csv", index=False)
    areas(**floats()).to_file("own.gdb", driver="OpenFileGDB", layer="areas")
    common = ["--polygons", "own.gdb", "--value", "cases", "--id", "code", "--weight", "people.tif"]
    maps = mapped(tmp_path / "map.nc", *common, "--covariates", "pixels.csv", "--raster-crs", CRS)
    assert maps.sizes["individual"] == 144
    assert "no CRS; state it with --raster-crs" in refusal(*common, "--covariates", "pixels.csv")
    # Neither a weight nor a raster: place alone, every km² alike.
    bare = mapped(tmp_path / "bare.nc", "--polygons", "own.gdb", "--value", "cases")
    assert "every km² counts alike" in bare.attrs["treatments"]
    even = mapped(tmp_path / "even.nc", "--polygons", "own.gdb", "--value", "cases", "--weight",
                  "uniform")
    assert float(even["weight"].max()) == pytest.approx(1)


def packed(path: Path, values: np.ndarray, scale, offset, nodata: int = -1) -> Path:
    """A GeoTIFF of whole numbers with a scale and an offset, one band for each."""
    stored = np.stack([np.round((values - b) / a) for a, b in zip(scale, offset, strict=True)])
    stored[:, 0, 0] = nodata
    with rasterio.open(path, "w", driver="GTiff", width=12, height=12, count=len(scale),
                       dtype="int32", crs=CRS, nodata=nodata,
                       transform=rasterio.Affine(1000, 0, 500000, 0, -1000, 5012000)) as out:
        out.write(stored.astype("int32"))
        out.scales, out.offsets = scale, offset
    return path


def test_scales_and_offsets_of_a_tiff_are_applied(tmp_path):
    """Satellite products store whole numbers: rates were half as high."""
    plain = height()
    one = packed(tmp_path / "one.tif", plain.values, (0.25,), (-30.0,))
    ds = bagged({"height": one}, missing="nearest")
    known = bagged({"height": plain})
    gap = np.abs(ds["covariates"].values - known["covariates"].values)[:, 0]
    assert np.sort(gap)[:-1].max() <= 0.126
    assert "unpacked by the file's scale 0.25 and offset -30." in ds.attrs["treatments"]
    two = packed(tmp_path / "two.tif", plain.values, (0.25, 0.5), (-30.0, 10.0))
    both = bagged(two, missing="nearest")["covariates"].values
    assert np.sort(np.abs(both[:, 0] - both[:, 1]))[:-1].max() <= 0.376
    lazy = wb.open_rasters({"height": one})["height"]
    np.testing.assert_allclose(lazy.values[1:], plain.values[1:], atol=0.126)
    assert np.isnan(lazy.values[0, 0])
    cells = wb.grid_areas(one)
    assert np.abs(cells["one"].dropna().to_numpy() - plain.values.ravel()[1:]).max() <= 0.126


def test_packed_numbers_in_memory_are_refused(tmp_path):
    import rioxarray

    one = packed(tmp_path / "one.tif", height().values, (0.25,), (-30.0,))
    with pytest.raises(InputError, match="packed numbers: its attributes state a scale 0.25 a"):
        bagged(rioxarray.open_rasterio(one, masked=True).squeeze().rename("height"))
