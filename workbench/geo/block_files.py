"""Lazy maps written block by block: what is finished stays, and a half map never looks whole.

All work is in a folder ``NAME.partial`` beside the output: a Zarr store, a mark for every region
that is finished in it, and what the map is of. The output takes its name when no region is missing.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from itertools import product
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.checks import InputError, WorkbenchWarning, choose, package, require, warn
from workbench.geo.block_runs import TASK, compute
from workbench.geo.block_tiffs import write_tiff
from workbench.geo.lazy_rasters import even

BLOCK_FORMATS = (".zarr", ".tif", ".tiff")
_STORE, _DONE, _ABOUT = "map.zarr", "finished", "about.json"
Window = tuple[int, int, int, int]      # first row, end, first column, end


def partial_folder(path: str | Path) -> Path:
    """The folder beside an output in which it is made."""
    path = Path(path)
    return path.with_name(f"{path.name}.partial")


def write_blocks(maps: xr.Dataset, path: str | Path, *, progress: bool = False) -> Path:
    """Compute and write a lazy map block by block; a run that was interrupted goes on.

    Blocks are computed by the threads of this process, or by the workers of the current
    `distributed.Client`, which must then see the same folder. Each is written to its region of a
    Zarr store in ``NAME.partial`` and noted as finished; the same call on the same map computes
    only what is missing. The output takes its name at the end.

    Parameters
    ----------
    maps : xr.Dataset
        Of Dask arrays that end in (y, x), as `Fit.map_over` returns it.
    path : str or Path
        ``.zarr``; ``.tif``, a band for every number; or ``.cog.tif``, the same as a cloud-optimised
        GeoTIFF. A Zarr store that is there is not replaced.
    progress : bool
        Show a bar on standard error.

    Returns
    -------
    Path
        What was written.

    Raises
    ------
    InputError
        If the format is unknown, the output is there, or ``NAME.partial`` is of another map.

    Examples
    --------
    >>> import tempfile, pathlib, dask.array as da, xarray as xr, workbench as wb
    >>> maps = xr.Dataset({"mean": (("y", "x"), da.ones((40, 60), chunks=20))},
    ...                   {"y": range(40), "x": range(60)})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     out = wb.write_blocks(maps, pathlib.Path(folder) / "map.zarr")
    ...     float(xr.open_zarr(out, consolidated=False)["mean"].sum())
    2400.0
    """
    package("zarr", extra="scale")
    path = Path(path)
    suffix = choose("format of a map in blocks", path.suffix.lower(), BLOCK_FORMATS)
    require(path.parent.is_dir(), f"there is no folder {str(path.parent)!r} to write to")
    require(not path.is_dir(), f"there is a store {str(path)!r} already; remove it, or give "
            "another name")
    maps = even(_only_maps(maps))
    work = partial_folder(path)
    blocks = _prepared(maps, work)
    missing = [one for one in blocks if not _mark(work, one).exists()]
    try:
        compute(_tasks(maps, work, missing), len(blocks), progress)
    except BaseException as error:
        done = sum(_mark(work, one).exists() for one in blocks)
        error.add_note(f"{done} of {len(blocks)} blocks are finished in {work.name}; the same call "
                       "goes on from there")
        raise
    lost = sum(not _mark(work, one).exists() for one in blocks)
    if lost:
        raise OSError(f"{lost} of {len(blocks)} blocks did not reach {str(work)!r}; do all workers "
                      "see this folder?")
    made = work / _STORE
    if suffix != ".zarr":
        made = write_tiff(made, work / path.name, list(map(str, maps.data_vars)),
                          list(blocks.values()))
    os.replace(made, path)
    _removed(work)
    return path


def _removed(work: Path) -> None:
    """Remove what is no longer needed; the map is whole, so that a folder left is no failure."""
    try:
        (work / _ABOUT).unlink()    # first: half a folder is then begun anew, not gone on from
        shutil.rmtree(work)
    except OSError as error:        # a file open elsewhere on a network drive, a late worker
        warn(f"the map is whole, but {str(work)!r} could not be removed ({error}); remove it by "
             "hand", WorkbenchWarning)


def _only_maps(maps: xr.Dataset) -> xr.Dataset:
    others = [str(name) for name, one in maps.data_vars.items()
              if one.dims[-2:] != ("y", "x") or one.ndim > 3]
    require(not others and bool(maps.data_vars), "a map in blocks has variables that end in "
            f"(y, x); {', '.join(others) or 'there are none'}: write others apart")
    return maps.chunk({str(d): -1 for d in maps.dims if d not in ("y", "x")})


def _prepared(maps: xr.Dataset, work: Path) -> dict[tuple[int, int], Window]:
    """Windows of all blocks by their position; the store is made, or found as it was left."""
    ends = {axis: np.cumsum((0, *maps.chunksizes[axis])).tolist() for axis in ("y", "x")}
    blocks = {(i, j): (*ends["y"][i:i + 2], *ends["x"][j:j + 2])
              for i, j in product(range(len(ends["y"]) - 1), range(len(ends["x"]) - 1))}
    about = {"variables": {str(name): one.data.name for name, one in maps.data_vars.items()},
             "ends": ends}
    file = work / _ABOUT
    if file.exists():
        found = json.loads(file.read_text(encoding="utf-8"))
        if found != about:
            raise InputError(f"{str(work)!r} holds blocks of another map (another fit, raster, "
                             "options or size of blocks); remove it, or give another name")
        return blocks
    if work.exists():               # stopped before its store was whole
        shutil.rmtree(work)
    (work / _DONE).mkdir(parents=True)
    maps.drop_encoding().to_zarr(work / _STORE, compute=False, consolidated=False)
    half = work / f"{_ABOUT}.half"
    half.write_text(json.dumps(about), encoding="utf-8")
    os.replace(half, file)
    return blocks


def _tasks(maps: xr.Dataset, work: Path, missing: list[tuple[int, int]]) -> list:
    """A task for each block that is not finished: compute, write, note."""
    from dask import delayed

    ends = [np.cumsum((0, *maps.chunksizes[axis])).tolist() for axis in ("y", "x")]
    # Not optimised one by one, for the variables of a block come of one prediction.
    parts = {str(name): one.data.to_delayed(optimize_graph=False).reshape(
        one.data.numblocks[-2:]) for name, one in maps.data_vars.items()}
    write, folder = delayed(_write, pure=False, traverse=False), str(work.resolve())
    key = f"{TASK}-{uuid.uuid4()}"      # a scheduler may have other maps to make
    return [write(folder, (i, j), (*ends[0][i:i + 2], *ends[1][j:j + 2]), list(parts),
                  *(one[i, j] for one in parts.values()), dask_key_name=(key, i, j))
            for i, j in missing]


def _write(work: str, which: tuple[int, int], window: Window, names: list[str],
           *parts: np.ndarray) -> None:
    """Write one block to its region, and note that it is finished."""
    import zarr

    if _mark(Path(work), which).exists():   # lost with a worker once it was written, and run again
        return
    top, bottom, left, right = window
    group = zarr.open_group(Path(work) / _STORE, mode="r+")
    for name, values in zip(names, parts, strict=True):
        group[name][..., top:bottom, left:right] = values
    _mark(Path(work), which).touch()


def _mark(work: Path, which: tuple[int, int]) -> Path:
    return work / _DONE / f"{which[0]}-{which[1]}"
