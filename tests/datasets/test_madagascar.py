"""The Madagascar data: what is known of the real files, and what is said without them."""

from functools import partial
from hashlib import sha256
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import geopandas as gpd
import numpy as np
import pytest
import rasterio
import shapely
from rasterio.features import rasterize
from rasterio.transform import from_origin

from tests.datasets.packaged import REAL, needs_files
from workbench import schema
from workbench.checks import InputError
from workbench.datasets import load
from workbench.datasets.downloads import locate
from workbench.datasets.madagascar import SHA256
from workbench.geo import to_raster

with_files = needs_files("Madagascar", "madagascar/population.tif", "EVI.tif")


def made(folder):
    """Small files with the names and the traps of the real ones."""
    folder.mkdir()
    rng, mark = np.random.default_rng(0), np.float32(-3.4e38)
    for name in ("population", "EVI", "Elevation", "LSTmean"):
        values = rng.uniform(1, 5, (12, 16)).astype("float32")
        values[:, :2] = mark
        if name == "LSTmean":
            values[5, 5] = mark  # its mask is larger
        if name == "population":
            values[6, 6] = 0
        with rasterio.open(folder / f"{name}.tif", "w", driver="GTiff", width=16, height=12,
                           count=1, dtype="float32", crs="EPSG:4326", nodata=mark,
                           transform=from_origin(44, -15, 0.5, 0.5)) as file:
            file.write(values, 1)
    gpd.GeoDataFrame(
        {"ID_2": ["1", "2", "3"], "Name_2": ["Ambo", "Beo", "Ciro"], "Name_1": ["N", "N", "S"],
         "inc": [10.5, 20.25, 3.0]},
        geometry=[shapely.box(45.2, -18, 47, -15.3), shapely.box(47, -18, 51, -15.3),
                  shapely.box(45.2, -20.7, 51, -18)], crs="EPSG:4326",
    ).to_file(folder / "mdg_shapes.shp")
    return folder


def test_files_like_the_real_ones_load_with_their_treatments(tmp_path):
    folder = made(tmp_path / "madagascar")
    for directory in (tmp_path, folder):
        ds = schema.check(load("madagascar", directory=directory))
        assert ds["value"].values.tolist() == [10.5, 20.25, 3.0]
        assert ds["bag_name"].values.tolist() == ["Ambo", "Beo", "Ciro"]
    for words in ("2 fractional counts were kept", "24 of 192 pixels were masked",
                  "'LSTmean': 1 gaps", "1 individuals of zero weight"):
        assert words in ds.attrs["treatments"]
    regions = load("madagascar", directory=folder, level="region")
    assert regions["value"].values.tolist() == [30.75, 3.0]
    with pytest.raises(InputError, match="missing='nearest'"):
        load("madagascar", directory=folder, missing="error")
    thousand = load("madagascar", directory=folder, population_units="thousands")
    np.testing.assert_allclose(thousand["weight"] * 1000, ds["weight"])


def test_without_files_the_message_says_which_go_where(tmp_path, monkeypatch):
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    with pytest.raises(InputError, match="set WORKBENCH_DATA to a folder holding madagascar/ with "
                                         "mdg_shapes.shp"):
        load("madagascar")
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path / "none"))
    with pytest.raises(InputError, match="is not a directory"):
        load("madagascar")
    (made(tmp_path / "madagascar") / "EVI.tif").unlink()
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    with pytest.raises(InputError, match="lacks EVI.tif"):
        load("madagascar")


@pytest.fixture
def server(tmp_path):
    """Serve a folder with one file over HTTP."""
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "pixels.txt").write_text("one two three")
    handler = partial(SimpleHTTPRequestHandler, directory=folder)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()


def test_a_download_is_checked_by_its_sum(tmp_path, monkeypatch, server):
    monkeypatch.delenv("WORKBENCH_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    digest, urls = sha256(b"one two three").hexdigest(), {"pixels.txt": server + "pixels.txt"}
    folder = locate("made", {"pixels.txt": digest}, None, urls, download=True)
    assert (folder / "pixels.txt").read_text() == "one two three"
    with pytest.raises(InputError, match=r"could not fetch pixels.txt from .*hash"):
        locate("other", {"pixels.txt": digest[::-1]}, None, urls, download=True)
    with pytest.raises(InputError, match=r"could not fetch none.txt .* pass directory="):
        locate("made", {"none.txt": digest}, None, {"none.txt": server + "none.txt"}, True)
    with pytest.raises(InputError, match="has no public download"):
        locate("made", {"pixels.txt": digest}, None, None, download=True)


@with_files
def test_the_real_files_hold_what_is_known_of_them():
    ds = schema.check(load("madagascar", directory=REAL))
    assert ds.sizes["bag"] == 109
    assert ds["value"].sum().item() == pytest.approx(1_237_811, abs=1)
    assert np.unique(ds["region"]).size == 22
    assert ds.attrs["outside_share"] == pytest.approx(0.10, abs=0.005)
    # 21.35 million people in the districts; the raster's total is known too
    assert ds["weight"].sum().item() == pytest.approx(21.4e6, rel=0.005)
    inside = to_raster(ds, "weight", "sum").sum().item() + ds.attrs["outside_weight"]
    assert inside == pytest.approx(23_764_992, rel=2e-4)  # districts overlap by slivers
    # Another way to count: pixels whose centre lies in a district and that have people.
    folder = locate("madagascar", SHA256, REAL)
    with rasterio.open(folder / "population.tif") as file:
        inside = rasterize(ds["bag_geometry"].values, file.shape, transform=file.transform) == 1
        centred = int((inside & (file.read(1) > 0)).sum())
    shapes = ds["bag_geometry"].values[ds["membership"].values]
    centre = shapely.contains_xy(shapes, ds["x"].values, ds["y"].values)
    cells = np.column_stack([ds["row"], ds["column"]])[centre]  # in two districts at slivers
    assert len(np.unique(cells, axis=0)) == centred
    assert (inside.sum(), centred) == (28_877, 28_566)


@with_files
def test_the_real_files_are_the_ones_on_record():
    folder = locate("madagascar", SHA256, REAL)
    for name, digest in SHA256.items():
        assert sha256((folder / name).read_bytes()).hexdigest() == digest, name


@with_files
def test_regions_add_up():
    regions = load("madagascar", directory=REAL, level="region")
    assert regions.sizes["bag"] == 22
    assert regions["value"].sum().item() == pytest.approx(1_237_811, abs=1)
