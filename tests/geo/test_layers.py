"""GeoPackages with areas, pixels and scores; rasters with scores beside; capitals in suffixes."""

import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import pyogrio
import pytest
import rasterio
import xarray as xr
from typer.testing import CliRunner

from tests.kit import kit_inputs, pixels, write_kit
from workbench import geo
from workbench.checks import InputError
from workbench.cli import app
from workbench.geo import layers
from workbench.pipeline.spec import Spec


def workbench(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def kit(tmp_path_factory) -> Path:
    return write_kit(tmp_path_factory.mktemp("kit"))


@pytest.fixture(scope="module")
def packaged(kit) -> Path:
    out = kit / "map.GPKG"
    result = workbench("disaggregate", *kit_inputs(kit), "--model", "constant", "--cv", 3,
                       "--threshold", 0.05, "--out", out)
    assert result.exit_code == 0, (result.output, result.exception)
    return out


def test_areas_keep_their_columns_and_gain_estimate_interval_and_scores(kit, packaged):
    own = pyogrio.read_dataframe(kit / "areas.gpkg").set_index("code")
    bags = pyogrio.read_dataframe(packaged, layer="bag").set_index("code")
    for column in ("cases", "Region", "Value", "seen"):
        assert bags[column].tolist() == own.loc[bags.index, column].tolist()
    assert bags["map_value"].tolist() == bags["cases"].tolist()     # Value was taken
    low, high = bags["bag_quantile_0.05"], bags["bag_quantile_0.95"]
    # The constant model has one rate for all: its interval holds its mean.
    assert (low <= bags["bag_mean"]).all() and (bags["bag_mean"] <= high).all()
    assert bags["cv_bag_crps_constant"].gt(0).all()
    assert bags.geometry.geom_equals(own.loc[bags.index].geometry).all()


def test_pixels_are_a_layer_with_the_fine_map(packaged):
    assert pyogrio.list_layers(packaged)[:, 0].tolist() == ["bag", "pixels", "scores"]
    fine = pyogrio.read_dataframe(packaged, layer="pixels")
    assert len(fine) == 1200 and {"mean", "std", "exceedance", "weight"} <= set(fine)
    assert fine.total_bounds.tolist() == [0, 0, 400, 300]
    assert np.allclose(fine.area, 100)
    assert fine.crs.to_epsg() == 32638
    first = fine.iloc[0]
    assert (first["row"], first["column"]) == (0, 0) and first.geometry.bounds == (0, 290, 10, 300)
    scores = pyogrio.read_dataframe(packaged, layer="scores")
    assert scores["model"].tolist() == ["constant"] and scores["crps"].gt(0).all()


def test_parts_of_a_pixel_are_one_square(tmp_path):
    ds = pixels(2)
    ds = xr.concat([ds, ds.isel(individual=[0])], "individual", data_vars="minimal")
    ds["expected_count"] = ("individual", np.arange(5.0))
    frame = pyogrio.read_dataframe(geo.write(ds, tmp_path / "a.gpkg"), layer="pixels")
    assert frame["expected_count"].tolist() == [4, 1, 2, 3]         # 0 + 4 in the pixel cut


def test_too_many_pixels_are_said_before_the_fit(kit, tmp_path, monkeypatch):
    monkeypatch.setattr(layers, "MOST_PIXELS", 1000)
    out = tmp_path / "map.gpkg"
    with pytest.warns(UserWarning, match="1,200 pixels are more than 1,000 polygons; write .tif"):
        geo.check_format(bagged(kit), out)
    with pytest.raises(InputError, match="write .tif for a raster"):
        geo.check_format(bagged(kit).drop_vars("bag_geometry"), out)
    geo.write(bagged(kit), out)
    assert pyogrio.list_layers(out)[:, 0].tolist() == ["bag"]


def bagged(kit: Path) -> xr.Dataset:
    return geo.bag_polygons(kit / "areas.gpkg", [kit / "height.tif"], kit / "people.tif", "cases")


def test_columns_that_a_geopackage_cannot_name_or_hold_are_renamed(tmp_path):
    ds = pixels(4)
    own = pd.DataFrame({"fid": ["x", "y"], "geom": [1, 2], "list": [[1, 2], None]},
                       index=["a", "b"])
    frame = pyogrio.read_dataframe(geo.write(ds, tmp_path / "a.gpkg", areas=own), layer="bag")
    assert frame["fid_own"].tolist() == ["x", "y"] and frame["geom_own"].tolist() == [1, 2]
    assert frame["list"].tolist()[0] == "[1, 2]"


def test_a_broken_geopackage_does_not_read_back(tmp_path):
    path = geo.write(pixels(30), tmp_path / "a.gpkg")
    counts = {"bag": 2, "pixels": 900}
    layers._read_back(path, counts)
    with pytest.raises(OSError, match="does not read back"):
        layers._read_back(path, counts | {"pixels": 901})
    content = bytearray(path.read_bytes())
    content[20_000:60_000] = bytes(40_000)
    path.write_bytes(content)
    with pytest.raises((OSError, sqlite3.DatabaseError)):
        layers._read_back(path, counts)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["map.tif", "map.TIF", "map.tiff"])
def test_a_raster_keeps_its_scores_beside(kit, tmp_path, name):
    result = workbench("disaggregate", *kit_inputs(kit), "--model", "constant", "--cv", 3,
                       "--out", tmp_path / name)
    assert result.exit_code == 0, (result.output, result.exception)
    assert {path.name for path in tmp_path.iterdir()} == {"map.scores.csv", name}
    assert f"wrote {tmp_path / 'map.scores.csv'}" in result.stdout
    with rasterio.open(tmp_path / name) as raster:
        assert raster.driver == "GTiff" and "mean" in raster.descriptions
        assert "scores are over all 12 bags" in raster.tags()["comparison"]
    table = pd.read_csv(tmp_path / "map.scores.csv")
    assert table["crps"].gt(0).all() and "constant" in table["model"].tolist()


def test_capitals_are_no_other_format(tmp_path):
    spec = Spec("swiss-roll", dict(n_bags=20, mean_size=20, size_std=8), model="constant")
    (tmp_path / "spec.json").write_text(spec.to_json())
    assert workbench("run", tmp_path / "spec.json", "--out", tmp_path / "a.NC").exit_code == 0
    again = workbench("run", tmp_path / "a.NC", "--out", tmp_path / "b.nc")
    assert again.exit_code == 0, (again.output, again.exception)
    assert geo.read(tmp_path / "b.nc").attrs["spec_key"] == spec.key
