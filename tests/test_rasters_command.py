"""`workbench predict --rasters`: a map in blocks from the command line, and what is refused."""

import errno
import signal
from pathlib import Path

import numpy as np
import pytest
import rioxarray
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from workbench.cli import app
from workbench.geo import block_files

SHAPE = (50, 40)


def workbench(*arguments: object):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A fit, and rasters of its covariates."""
    folder = tmp_path_factory.mktemp("rasters")
    ds = wb.load("swiss-roll", n_bags=12, mean_size=10, size_std=4)
    fit = wb.Constant().fit(ds)
    fit.save(folder / "fit.wbfit")
    grid = {"y": np.arange(SHAPE[0])[::-1] + 0.5, "x": np.arange(SHAPE[1]) + 0.5}
    values = np.random.default_rng(0).normal(size=SHAPE)
    values[:5] = -9999.0
    for name in (*ds["covariate"].values, "people"):
        xr.DataArray(values, grid).rio.write_crs("EPSG:3035").rio.to_raster(folder / f"{name}.tif")
    return folder


@pytest.fixture
def asked(folder, monkeypatch) -> list[str]:
    monkeypatch.chdir(folder)
    first, *others = [str(name) for name in wb.load_fit("fit.wbfit").data["covariate"].values]
    return ["predict", "fit.wbfit", "--rasters", f"{first}={first}.tif",
            *(text for name in others for text in ("--rasters", f"{name}.tif")),
            "--nodata", "-9999", "--chunks", "16"]


def test_a_map_is_written_and_its_spec_makes_it_again(asked, tmp_path):
    done = workbench(*asked, "--out", tmp_path / "map.zarr", "--quiet")
    assert done.exit_code == 0, (done.output, done.exception)
    assert f"wrote {tmp_path / 'map.zarr'}" in done.output
    with xr.open_zarr(tmp_path / "map.zarr", consolidated=False) as maps:
        known = np.isfinite(maps["mean"].values)
        spec = maps.attrs["spec"]
    assert known.shape == SHAPE and known[5:].all() and not known[:5].any()
    (tmp_path / "spec.json").write_text(spec, encoding="utf-8")
    again = workbench("run", tmp_path / "spec.json", "--out", tmp_path / "map.tif", "--quiet")
    assert again.exit_code == 0, (again.output, again.exception)
    tiff = rioxarray.open_rasterio(tmp_path / "map.tif")
    assert tiff.sizes["band"] == 8 and tiff.attrs["spec"] == spec
    assert sorted(path.name for path in tmp_path.iterdir()) == ["map.tif", "map.zarr", "spec.json"]


def test_an_interrupted_command_says_that_it_can_go_on(asked, tmp_path, monkeypatch):
    real = block_files._write

    def stops(work, which, *rest):
        real(work, which, *rest)
        if which == (1, 1):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(block_files, "_write", stops)
    import dask

    with dask.config.set(scheduler="synchronous"):
        done = workbench(*asked, "--out", tmp_path / "map.zarr", "--quiet")
    assert done.exit_code == 130
    assert "of 12 blocks are finished in map.zarr.partial; the same call goes on" in done.output
    assert not (tmp_path / "map.zarr").exists()
    monkeypatch.setattr(block_files, "_write", real)
    done = workbench(*asked, "--out", tmp_path / "map.zarr", "--quiet")
    assert done.exit_code == 0 and [p.name for p in tmp_path.iterdir()] == ["map.zarr"]


def test_a_full_disk_loses_no_block(asked, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(block_files, "_write", full)
    done = workbench(*asked, "--out", tmp_path / "map.zarr", "--quiet")
    assert done.exit_code == 2 and "No space left" in done.output
    assert "0 of 12 blocks are finished in map.zarr.partial" in done.output


@pytest.mark.parametrize("further, message", [
    (["--out", "map.nc"], "format of the output"),
    (["--at", "other.nc", "--out", "map.zarr"], "in blocks, without --at other.nc"),
    (["--draws", 5, "--out", "map.zarr"], "without --draws 5"),
    (["--weight", "none.tif", "--out", "map.zarr"], "none.tif"),
    (["--report", "page.html", "--out", "map.zarr"], "leave out --report"),
    (["--scheduler", "tcp", "--out", "map.zarr"], "there is no scheduler at 'tcp'"),
    (["--rasters", "people=people.tif", "--rasters", "people.tif", "--out", "map.zarr"],
     "two rasters are named 'people'")])
def test_what_cannot_be_done_is_said(asked, folder, further, message):
    before = sorted(folder.iterdir())
    done = workbench(*asked, *further, "--quiet")
    assert done.exit_code == 2 and message in done.output, done.output
    assert sorted(folder.iterdir()) == before


def test_options_of_rasters_need_rasters(asked):
    for further in (["--chunks", 16], ["--scheduler", "processes"]):
        done = workbench("predict", "fit.wbfit", *further, "--out", "map.nc")
        assert done.exit_code == 2 and "--rasters" in done.output
