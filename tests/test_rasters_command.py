"""`workbench predict --rasters`: a map in blocks from the command line, and what is refused."""

import errno
import signal
import warnings
from pathlib import Path

import numpy as np
import pytest
import rioxarray
import xarray as xr
from typer.testing import CliRunner

import workbench as wb
from workbench.checks import DataWarning, ExtrapolationWarning, InputError
from workbench.cli import app
from workbench.geo import block_files
from workbench.pipeline import raster_sample
from workbench.pipeline.raster_sample import looked_at

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
    assert "the model does not use" not in done.output
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
    (["--out", "map.nc"], "'.nc' cannot hold this result; choose one of .zarr, .tif"),
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


def test_a_scheduler_that_is_not_there_leaves_nothing_behind(asked, folder):
    """Whatever is computed next must not wait for it."""
    import dask.array as da

    done = workbench(*asked, "--scheduler", "tcp", "--out", "map.zarr", "--quiet")
    assert done.exit_code == 2
    assert float(da.ones((4, 4), chunks=2).sum().compute()) == 16


def test_options_of_rasters_need_rasters(asked):
    for further in (["--chunks", 16], ["--scheduler", "processes"]):
        done = workbench("predict", "fit.wbfit", *further, "--out", "map.nc")
        assert done.exit_code == 2 and "--rasters" in done.output


def grids(east: float = 0.0, **layers) -> xr.Dataset:
    """A raster in blocks."""
    grid = {"y": np.arange(SHAPE[0])[::-1] + 0.5, "x": np.arange(SHAPE[1]) + 0.5 + east}
    ds = xr.Dataset({name: (("y", "x"), np.broadcast_to(values, SHAPE).astype(float))
                     for name, values in layers.items()}, grid)
    return ds.chunk(y=16, x=16)


HEIGHT = np.random.default_rng(3).uniform(-20, 60, SHAPE)


@pytest.fixture(scope="module")
def strips() -> xr.Dataset:
    """Areas from west to east whose means of the height run from 5 to 35."""
    x, y = (one.ravel() for one in np.meshgrid(np.arange(40) + 0.5, np.arange(10) + 0.5))
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), x[:, None]),
         "weight": ("individual", np.ones(400)),
         "membership": ("individual", (x // 10).astype(int))},
        {"covariate": ["height"], "x": ("individual", x), "y": ("individual", y)})


def looked(trained: xr.Dataset, rasters: xr.Dataset, weight: str | None = None) -> str:
    return looked_at(trained, rasters, weight, trained["covariate"].values.tolist())


def test_rasters_are_looked_at_before_a_map_is_made_of_them(strips, monkeypatch):
    outside = ((HEIGHT < 5) | (HEIGHT > 35)).mean()
    with pytest.warns(ExtrapolationWarning, match="of the raster lies .*'height'"):
        said = looked(strips, grids(height=HEIGHT))
    assert f"{outside:.0%} of the 2,000 pixels lie beyond" in said
    with pytest.raises(InputError, match="'height' of the raster lies wholly .* other units"):
        looked(strips, grids(height=100 * HEIGHT + 5000))
    inside = 12.5 + 0.375 * HEIGHT
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert looked(strips, grids(height=inside, people=1), "people").startswith("0% of the 2")
    with pytest.warns(DataWarning, match="the model does not use slope; it learns from height"):
        looked(strips, grids(height=inside, slope=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")                  # a flat map follows none
        assert looked_at(strips, grids(height=100 * HEIGHT + 5000), None, []) == ""
    with pytest.warns(DataWarning, match=r"'height' has \d+ of 2,000 pixels equal to -9999, unlike "
                      r".*mask them with nodata=-9999"), \
            pytest.warns(ExtrapolationWarning):
        looked(strips, grids(height=np.where(HEIGHT < 4, -9999, inside)))
    people = np.where(np.arange(50) < 1, -3, 1)[:, None]
    with pytest.raises(InputError, match=r"the people is negative in 40 of 2,000 .*\(least -3\)"):
        looked(strips, grids(height=inside, people=people), "people")
    with pytest.warns(ExtrapolationWarning, match=r"the raster \(x 1000.5 to 1039.5, .*lies far "
                      r"beside all .*\(x 0.5 to 39.5"):
        looked(strips, grids(1000, height=inside))
    islet = np.full(SHAPE, np.nan)      # of a sample one pixel does not speak for all
    islet[3, 3] = 3000.0
    monkeypatch.setattr(raster_sample, "_BLOCKS", 4)
    with pytest.warns(ExtrapolationWarning, match="100% of the raster lies beyond"):
        looked(strips, grids(height=islet))
    empty = grids(height=np.nan)
    assert looked(strips, empty) == ""


def test_of_large_rasters_some_blocks_are_looked(strips, monkeypatch):
    monkeypatch.setattr(raster_sample, "_BLOCKS", 4)
    inside = grids(height=12.5 + 0.375 * HEIGHT)
    assert "pixels of a sample lie beyond" in looked(strips, inside)
    monkeypatch.setattr(raster_sample, "_PIXELS", 64)       # of 16 x 16
    assert "0% of the 256 pixels of a sample" in looked(strips, inside.isel(
        y=slice(0, 48), x=slice(0, 32)))


def test_one_area_spans_what_is_inside_it(strips):
    one = strips.assign(membership=0 * strips["membership"])
    assert looked(one, grids(height=np.where(HEIGHT > 20, 35, 5))).startswith("100% of the 2,000")
    with pytest.raises(InputError, match="lies wholly beyond"):
        looked(one, grids(height=np.where(HEIGHT > 20, 3500, 500)))


def test_place_alone_needs_one_raster(strips):
    place = strips.isel(covariate=[])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert looked(place, grids(any=HEIGHT)) == ""
    with pytest.warns(DataWarning, match="does not use other; it learns from place alone"):
        looked(place, grids(any=HEIGHT, other=HEIGHT))


def test_rasters_stored_in_either_direction_are_read_together(tmp_path):
    grid = {"y": np.arange(SHAPE[0])[::-1] + 0.5, "x": np.arange(SHAPE[1]) + 0.5}
    north = xr.DataArray(HEIGHT, grid, name="north").rio.write_crs("EPSG:3035")
    north.rio.to_raster(tmp_path / "north.tif")
    north.isel(y=slice(None, None, -1)).rename("south").to_netcdf(tmp_path / "south.nc")
    ds = wb.open_rasters([tmp_path / "north.tif", tmp_path / "south.nc"], chunks=16)
    assert sum(ds.chunksizes["y"]) == SHAPE[0]
    np.testing.assert_array_equal(ds["north"].values, ds["south"].values)
