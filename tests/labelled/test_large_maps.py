"""Maps of rasters in blocks: equal to maps in memory, lazy, resumed, and whole or not there."""

import logging
import os
import shutil
import signal
import time
import warnings
from pathlib import Path
from threading import Thread

import cloudpickle
import dask
import dask.array as da
import numpy as np
import pytest
import rioxarray
import xarray as xr
from distributed import Client, LocalCluster

import workbench as wb
from workbench.checks import WorkbenchWarning
from workbench.geo import block_files
from workbench.labelled import raster_blocks

SHAPE, CRS = (60, 70), "EPSG:3035"
ASKED = {"quantiles": (0.1, 0.9), "threshold": (0.5, 2.0)}


def layers(seed: int = 0) -> dict[str, xr.DataArray]:
    random = np.random.default_rng(seed)
    grid = {"y": 500 - 5.0 * np.arange(SHAPE[0]) - 2.5, "x": 5.0 * np.arange(SHAPE[1]) + 2.5}
    found = {}
    for name in ("height", "rain"):
        values = random.normal(size=SHAPE).cumsum(0).cumsum(1) / 50
        values[random.random(SHAPE) < 0.05] = np.nan
        found[name] = xr.DataArray(values, grid, name=name).rio.write_crs(CRS)
    found["rain"][:20, :30] = np.nan            # a block in which nothing is known
    return found


def files(folder: Path) -> dict[str, Path]:
    paths = {name: folder / f"{name}.tif" for name in ("height", "rain")}
    for name, one in layers().items():
        one.rio.write_nodata(np.nan).rio.to_raster(paths[name], tiled=True, blockxsize=16,
                                                   blockysize=16)
    return paths


@pytest.fixture(scope="module")
def fit():
    places = wb.raster_places(layers())
    x, y = places["x"].values, places["y"].values
    areas = ((y // 60) * 10 + x // 60).astype(int)
    names, members = np.unique(areas, return_inverse=True)
    rate = np.exp(0.1 * places["covariates"].values[:, 0])
    value = np.random.default_rng(1).poisson(np.bincount(members, rate)).astype(float)
    from workbench.bagging import assemble

    ds = assemble(places, members, value, names, value_attrs={
        "aggregation": "sum", "kind": "count", "units": "cases"})
    with warnings.catch_warnings():             # of a fit that is stopped after four steps
        warnings.simplefilter("ignore")
        return wb.VBAgg(kernel="linear+rbf", inducing=12, max_steps=4).fit(ds)


@pytest.fixture(scope="module")
def raster(tmp_path_factory):
    return wb.open_rasters(files(tmp_path_factory.mktemp("rasters")), chunks=20)


@pytest.fixture(scope="module")
def eager(fit):
    places = wb.raster_places(layers())
    maps = fit.to_dataset(places, **ASKED)
    cells = places["row"].values, places["column"].values
    found = {}
    for name in ("mean", "std", "rate_quantile", "exceedance", "latent_mean", "latent_std",
                 "extrapolation"):
        whole = np.full((*maps[name].shape[:-1], *SHAPE), np.nan)
        whole[..., cells[0], cells[1]] = maps[name].values
        found[name] = xr.DataArray(whole, attrs=maps[name].attrs)
    return found


def same(maps: xr.Dataset, eager: dict) -> None:
    assert set(maps.data_vars) == set(eager)
    for name, one in eager.items():
        np.testing.assert_allclose(maps[name].values, one.values, rtol=1e-9, atol=1e-12,
                                   err_msg=name)


def test_a_map_in_blocks_is_the_map_in_memory(fit, raster, eager):
    maps = fit.map_over(raster, **ASKED)
    assert maps.chunksizes["y"] == (20, 20, 20)
    assert {n: v.attrs for n, v in maps.data_vars.items()} == {n: v.attrs for n, v in eager.items()}
    assert maps.rio.crs == layers()["height"].rio.crs
    same(maps.compute(), eager)


def test_blocks_of_another_size_order_and_orientation_make_no_difference(fit, eager):
    upside = xr.Dataset(layers()).isel(y=slice(None, None, -1)).rename(y="lat", x="lon")
    same(fit.map_over(upside, **ASKED, chunks=33).compute(), eager)
    stacked = xr.Dataset(layers())[["rain", "height"]].to_dataarray("band")
    same(fit.map_over(stacked, **ASKED, chunks={"y": 60, "x": 16}).compute(), eager)


def test_pieces_of_a_block_make_no_difference(fit, raster, eager, monkeypatch):
    monkeypatch.setattr(raster_blocks, "PIECE", 77)
    same(fit.map_over(raster, **ASKED).compute(scheduler="synchronous"), eager)


@pytest.fixture
def asked_of(monkeypatch):
    """How many pixels the fit is asked about, call by call."""
    sizes, real = [], raster_blocks.predicted

    def counted(fit, asked, table, x, y):
        sizes.append(len(table))
        return real(fit, asked, table, x, y)

    monkeypatch.setattr(raster_blocks, "predicted", counted)
    return sizes


def test_nothing_is_read_or_predicted_before_it_is_wanted(fit, asked_of):
    read = []

    def noted(block):
        read.append(block.shape)
        return block

    lazy = xr.Dataset({name: one.chunk({"y": 20, "x": 20}).copy(
        data=da.from_array(one.values, 20).map_blocks(noted, dtype=float, meta=np.empty((0, 0))))
        for name, one in layers().items()})
    maps = fit.map_over(lazy)
    assert (read, asked_of) == ([], [1])            # one training pixel, for names and units
    corner = maps["mean"][50:, 60:].compute(scheduler="synchronous")
    assert len(read) == 2 and len(asked_of) == 2    # the two covariates of one block of the twelve
    assert corner.notnull().any()
    asked_of.clear()
    empty = maps.isel(y=slice(0, 20), x=slice(0, 20)).compute(scheduler="synchronous")
    assert asked_of == [] and not any(one.notnull().any() for one in empty.data_vars.values())


def test_the_variables_of_a_block_come_of_one_prediction(fit, raster, asked_of, tmp_path):
    maps = fit.map_over(raster, **ASKED)
    asked_of.clear()
    wb.write_blocks(maps, tmp_path / "map.zarr")
    assert sum(asked_of) == int(np.isfinite(sum(layers().values())).sum())


def test_the_fit_is_in_the_graph_once_and_not_in_its_tasks(fit, raster):
    graph = dict(fit.map_over(raster)["mean"].data.dask)
    (shipped,) = [key for key in graph if str(key).startswith("fit-")]
    asking = [key for key, task in graph.items()
              if shipped in getattr(task, "dependencies", ())]
    assert len(asking) == 12 and isinstance(graph[shipped].value, raster_blocks.Shared)
    assert len(cloudpickle.dumps([graph[key] for key in asking])) < len(cloudpickle.dumps(fit)) / 2


def test_expected_counts_and_what_is_refused(fit, raster):
    people = raster.assign(people=abs(raster["height"]) * 0 + 3)
    maps = fit.map_over(people, weight="people")
    np.testing.assert_allclose(maps["expected_count"], 3 * maps["mean"])
    with pytest.raises(wb.InputError, match="lacks rain and has height"):
        fit.map_over(raster[["height"]])
    with pytest.raises(wb.InputError, match="no weight 'persons'"):
        fit.map_over(raster, weight="persons")
    with pytest.raises(wb.InputError, match="has the CRS EPSG:4326"):
        fit.map_over(raster.drop_vars("spatial_ref").rio.write_crs("EPSG:4326"))


@pytest.mark.parametrize("kind", ["nc", "zarr"])
def test_rasters_of_other_formats_open_lazily(kind, raster, tmp_path):
    path = tmp_path / f"both.{kind}"
    whole = xr.Dataset({name: one.assign_attrs(units="m") for name, one in layers().items()})
    if kind == "nc":
        whole.to_netcdf(path, engine="h5netcdf")
    else:
        whole.to_zarr(path, consolidated=False)
    opened = wb.open_rasters(path, chunks=20)
    assert all(isinstance(one.data, da.Array) for one in opened.data_vars.values())
    assert opened.chunksizes["y"] == (20, 20, 20)
    assert opened["rain"].data.name == wb.open_rasters(path, chunks=20)["rain"].data.name
    assert opened["rain"].attrs["units"] == "m" and opened.rio.crs == raster.rio.crs
    xr.testing.assert_allclose(opened.compute(), raster.compute())


def test_rasters_of_two_grids_are_refused(tmp_path):
    paths = files(tmp_path)
    layers()["rain"][:, 1:].rio.to_raster(paths["rain"])
    with pytest.raises(wb.InputError, match="'rain' lies on another grid than 'height'"):
        wb.open_rasters(paths)
    with pytest.raises(wb.InputError, match="no raster file"):
        wb.open_rasters(tmp_path / "none.tif")


@pytest.mark.parametrize("name", ["map.zarr", "map.tif", "map.cog.tif"])
def test_a_written_map_reads_back(name, fit, raster, eager, tmp_path):
    out = wb.write_blocks(fit.map_over(raster, **ASKED), tmp_path / name)
    assert [one.name for one in tmp_path.iterdir()] == [name]
    if name == "map.zarr":
        with xr.open_zarr(out, consolidated=False, decode_coords="all") as maps:
            assert maps.rio.crs == raster.rio.crs and "data_sha256" in maps.attrs
            same(maps.compute(), eager)
        with pytest.raises(wb.InputError, match="there is a store"):
            wb.write_blocks(fit.map_over(raster), out)
        return
    import rasterio

    with rasterio.open(out) as file:
        assert file.crs == raster.rio.crs and file.transform == raster.rio.transform()
        assert file.descriptions[:4] == ("mean", "std", "rate_quantile_0.1", "rate_quantile_0.9")
        np.testing.assert_allclose(file.read(3), eager["rate_quantile"][0], rtol=1e-9)
        kind = file.tags(ns="IMAGE_STRUCTURE").get("LAYOUT")
        assert (kind == "COG") == ("cog" in name)


def test_an_interrupted_run_goes_on_and_never_looks_whole(fit, raster, eager, tmp_path, asked_of,
                                                          monkeypatch):
    out, real, written = tmp_path / "map.zarr", block_files._write, []

    def stops(work, which, window, names, *parts):
        if len(written) == 5:
            raise KeyboardInterrupt
        real(work, which, window, names, *parts)
        written.append(which)

    monkeypatch.setattr(block_files, "_write", stops)
    with dask.config.set(scheduler="synchronous"), pytest.raises(KeyboardInterrupt) as stopped:
        wb.write_blocks(fit.map_over(raster, **ASKED), out)
    assert stopped.value.__notes__ == [
        "5 of 12 blocks are finished in map.zarr.partial; the same call goes on from there"]
    assert not out.exists() and block_files.partial_folder(out).is_dir()
    monkeypatch.setattr(block_files, "_write", real)
    with pytest.raises(wb.InputError, match="blocks of another map"):
        wb.write_blocks(fit.map_over(raster), out)
    marks = block_files.partial_folder(out) / "finished"
    before = {mark: mark.stat().st_mtime_ns for mark in marks.iterdir()}
    kept = []
    monkeypatch.setattr(block_files.shutil, "rmtree", lambda path: kept.append(path))
    wb.write_blocks(fit.map_over(raster, **ASKED), out)
    assert {mark: mark.stat().st_mtime_ns for mark in before} == before
    assert len(list(marks.iterdir())) == 12 and kept == [block_files.partial_folder(out)]
    with xr.open_zarr(out, consolidated=False, decode_coords="all") as maps:
        same(maps.compute(), eager)


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_no_block(fit, eager, tmp_path):
    raster = wb.open_rasters(files(tmp_path), chunks=10)
    out = tmp_path / "map.zarr"
    marks, killed = block_files.partial_folder(out) / "finished", []

    def kill(process: int) -> None:
        while len(list(marks.glob("*"))) < 3 and not out.exists():
            time.sleep(0.005)
        killed.append(out.exists())
        os.kill(process, signal.SIGKILL)

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0",
                      silence_logs=logging.CRITICAL) as cluster, Client(cluster) as client:
        thread = Thread(target=kill, args=[next(iter(client.run(os.getpid).values()))])
        thread.start()
        wb.write_blocks(fit.map_over(raster, **ASKED), out)
        thread.join()
    assert killed == [False] and not block_files.partial_folder(out).exists()
    with xr.open_zarr(out, consolidated=False, decode_coords="all") as maps:
        same(maps.compute(), eager)


def test_a_block_that_is_finished_is_not_written_again(tmp_path):
    """A worker that dies after it has written a block makes a scheduler run the block once more."""
    maps = xr.Dataset({"mean": (("y", "x"), da.ones((4, 6), chunks=2))},
                      {"y": range(4), "x": range(6)})
    work = block_files.partial_folder(tmp_path / "map.zarr")
    blocks = block_files._prepared(maps, work)
    tasks = block_files._tasks(maps, work, list(blocks))
    dask.compute(*tasks)
    block_files._write(str(work), (0, 1), blocks[0, 1], ["mean"], np.full((2, 2), 7.0))
    assert (xr.open_zarr(work / "map.zarr", consolidated=False)["mean"] == 1).all()


def test_a_folder_that_cannot_be_removed_costs_no_map(tmp_path, monkeypatch):
    maps = xr.Dataset({"mean": (("y", "x"), da.ones((4, 6), chunks=2))},
                      {"y": range(4), "x": range(6)})
    remove = shutil.rmtree

    def late(folder: Path) -> None:             # as a file that is open on a network drive
        remove(folder / "finished")
        raise OSError(39, "Directory not empty", str(folder))

    monkeypatch.setattr(block_files.shutil, "rmtree", late)
    with pytest.warns(WorkbenchWarning, match=r"map\.tif\.partial.* remove it by hand"):
        out = wb.write_blocks(maps, tmp_path / "map.tif")
    monkeypatch.undo()
    assert rioxarray.open_rasterio(out).shape == (1, 4, 6)
    wb.write_blocks(2 * maps, out)              # what was left is no other map's
    assert (rioxarray.open_rasterio(out) == 2).all()
    assert [one.name for one in tmp_path.iterdir()] == ["map.tif"]
