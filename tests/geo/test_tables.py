"""Tables and cloud-optimised rasters: what goes in comes back, with units and nodata."""

import json

import geopandas
import numpy as np
import pandas as pd
import pytest
import rasterio
import xarray as xr

from tests.geo.test_files import cut
from workbench.checks import ApproximationWarning, InputError
from workbench.geo import check_format, tables, write


@pytest.fixture
def ds():
    made = cut()
    made["rate"].attrs |= {"units": "cases / persons", "long_name": "posterior mean of the rate"}
    made["value"].attrs |= {"units": "cases"}
    made["draw"] = ("sample", "individual"), np.zeros((3, 4), dtype=np.float32)
    return made.assign_coords(x=("individual", [10.25, 10.75, 10.75, 11.25], {"units": "degree"}),
                              y=("individual", [49.75, 49.75, 49.75, 49.25], {"units": "degree"}))


def test_csv_has_every_number_and_its_units_beside_it(ds, tmp_path):
    ds = ds.assign(rate=ds["rate"].where(ds["individual"] != 2))
    path = write(ds, tmp_path / "map.csv")
    table = pd.read_csv(path)
    assert table["bag"].tolist() == ["a", "a", "b", "b"]
    np.testing.assert_array_equal(table["rate"], ds["rate"])        # with its gap
    np.testing.assert_array_equal(table["x"], ds["x"])
    np.testing.assert_array_equal(table["quantile_0.95"], ds["quantile"][1])
    assert not {"membership", "draw_0", "bag_geometry"} & set(table)
    about = json.loads(tables.metadata_of(path).read_text(encoding="utf-8"))
    said = {one["name"]: one for one in about["tableSchema"]["columns"]}
    assert list(said) == list(table) and about["url"] == "map.csv"
    assert said["rate"]["schema:unitText"] == "cases / persons"
    assert said["rate"]["dc:description"] == "posterior mean of the rate"
    assert said["x"]["schema:unitText"] == "degree" and about["notes"]["title"] == "cut"


def test_numbers_of_a_csv_keep_all_their_digits(ds, tmp_path):
    odd = ds.assign(rate=("individual", [1 / 3, 1e-300, np.pi * 1e9, -0.1]))
    table = pd.read_csv(write(odd, tmp_path / "map.csv"), dtype=str)
    np.testing.assert_array_equal(table["rate"].astype(float), odd["rate"])


def test_csv_of_areas(ds, tmp_path):
    table = pd.read_csv(write(ds, tmp_path / "areas.csv", layer="bag"))
    assert table.to_dict("list") == {"bag": ["a", "b"], "bag_name": ["Ay", "Bee"],
                                     "value": [3.0, 4.0]}
    alone = ds[["value"]]
    pd.testing.assert_frame_equal(pd.read_csv(write(alone, tmp_path / "alone.csv")), table)
    with pytest.raises(InputError, match="'bag'"):
        write(ds, tmp_path / "areas.csv", layer="bags")
    with pytest.raises(InputError, match="no numbers of individuals or areas"):
        write(xr.Dataset(attrs={"title": "none"}), tmp_path / "none.csv")


def test_geoparquet_holds_squares_areas_or_points(ds, tmp_path):
    squares = geopandas.read_parquet(write(ds, tmp_path / "map.parquet"))
    assert squares.crs == "EPSG:4326" and len(squares) == 3
    np.testing.assert_allclose(squares["rate"], [0.1, 0.25 * 0.2 + 0.75 * 0.4, 0.8])
    np.testing.assert_allclose(squares["weight"], [10, 20, 20])
    assert squares.geometry[0].bounds == (10.0, 49.5, 10.5, 50.0)
    areas = geopandas.read_parquet(write(ds, tmp_path / "areas.parquet", layer="bag"))
    assert areas["value"].tolist() == [3, 4]
    assert areas.geometry.geom_equals(geopandas.GeoSeries(ds["bag_geometry"], crs=4326)).all()
    points = geopandas.read_parquet(write(ds, tmp_path / "dots.parquet", layer="points"))
    np.testing.assert_array_equal(points["rate"], ds["rate"])
    np.testing.assert_array_equal(points.geometry.x, ds["x"])


def test_geoparquet_says_units_and_provenance(ds, tmp_path):
    from pyarrow import parquet

    schema = parquet.read_schema(write(ds, tmp_path / "map.parquet"))
    assert schema.field("rate").metadata[b"units"] == b"cases / persons"
    assert json.loads(schema.metadata[b"workbench"])["title"] == "cut"
    assert b"geo" in schema.metadata


def test_many_pixels_become_points(ds, tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_PIXELS", 2)
    with pytest.warns(ApproximationWarning, match="centres of pixels: 3 are more than 2"):
        written = write(ds, tmp_path / "map.parquet")
    assert (geopandas.read_parquet(written).geom_type == "Point").all()


def test_what_is_nowhere_is_no_geoparquet(ds, tmp_path):
    nowhere = ds.drop_vars(["x", "y", "row", "column", "bag_geometry"])
    with pytest.raises(InputError, match="nothing says where"):
        write(nowhere, tmp_path / "map.parquet")
    with pytest.raises(InputError, match="instead of .parquet"):
        check_format(nowhere, tmp_path / "map.parquet")


def test_a_cloud_optimised_raster_is_one(ds, tmp_path):
    side = 600
    row, column = np.divmod(np.arange(side * side), side)
    keep = (row + column) % 7 > 0
    large = xr.Dataset(
        {"rate": ("individual", np.random.default_rng(0).normal(size=side * side)[keep],
                  {"units": "cases / persons"})},
        coords={"row": ("individual", row[keep]), "column": ("individual", column[keep])},
        attrs={"crs": "EPSG:32638", "grid_transform": [1.0, 0, 0, 0, -1.0, side],
               "grid_shape": [side, side], "title": "large"})
    path = write(large, tmp_path / "map.cog.tif")
    with rasterio.open(path) as cloud:
        assert cloud.tags(ns="IMAGE_STRUCTURE")["LAYOUT"] == "COG"
        assert cloud.overviews(1) and cloud.profile["tiled"] and cloud.units == ("cases / persons",)
        assert np.isnan(cloud.nodata) and cloud.tags()["title"] == "large"
        assert cloud.descriptions == ("rate",) and cloud.crs == "EPSG:32638"
        found, transform = cloud.read(1), cloud.transform
    with rasterio.open(write(large, tmp_path / "map.tif")) as plain:
        np.testing.assert_array_equal(found, plain.read(1))
        assert plain.units == ("cases / persons",) and np.isnan(plain.nodata)
        assert transform == plain.transform
    assert np.isnan(found).sum() == (~keep).sum()
