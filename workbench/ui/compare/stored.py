"""Comparisons that were made before, as small files that come with the package."""

from __future__ import annotations

import io
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import workbench
from workbench.ui.compare.engine import Board
from workbench.ui.compare.grid import Grid
from workbench.ui.compare.state import Pair, Setting

#: What is stored: made by ``python benchmarks/compare_app.py``.
BOARDS = tuple(Setting(dataset) for dataset in ("country", "korea", "us", "california", "italy"))
PAIRS = (Pair(), Pair("normal", "vi", "exact"))
PAPERS = "papers.csv"
_MAP = "map of "


@cache
def folder() -> Path:
    """Where the files are: in the installed package, else in the repository."""
    inside = Path(workbench.__file__).parent
    installed = inside / "_apps" / "compare"
    return installed if installed.is_dir() else inside.parent / "data" / "compare"


def file_of(what: Setting | Pair) -> Path:
    """The file of a comparison that is stored."""
    if isinstance(what, Pair):
        return folder() / f"engines-{what.likelihood}.nc"
    return folder() / f"models-{what.dataset}.nc"


@cache
def board(setting: Setting) -> Board | None:
    """A stored comparison of models, None if there is none."""
    path = file_of(setting)
    if setting not in BOARDS or not path.is_file():
        return None
    with xr.open_dataset(path, engine="h5netcdf") as opened:
        held = opened.load()
    told = json.loads(held.attrs.pop("board"))
    names = [str(n)[len(_MAP):] for n in held.data_vars if str(n).startswith(_MAP)]
    maps = {name: held[_MAP + name].values for name in names}
    truth = held["truth"].values if "truth" in held else None
    grid = Grid(held["index"].values, tuple(told["extent"]), told["unit"])
    observed = held["observed"].values
    result = held.drop_vars(["index", "observed", *(["truth"] if truth is not None else []),
                             *(_MAP + name for name in names)])
    return Board(setting, result, grid, maps, observed, truth, told["rate"])


def write_board(made: Board, path: Path) -> None:
    """Store a comparison.

    Parameters
    ----------
    made : Board
    path : Path
    """
    from workbench.outputs import write_bytes

    held = made.result.assign(
        {_MAP + name: ("individual", _rounded(values)) for name, values in made.maps.items()}
        | {"index": (("y", "x"), made.grid.index), "observed": ("individual", _rounded(
            made.observed))}
        | ({} if made.truth is None else {"truth": ("individual", _rounded(made.truth))}))
    held.attrs["board"] = json.dumps({
        "setting": asdict(made.setting), "unit": made.grid.unit, "rate": made.unit,
        "extent": [float(v) for v in made.grid.extent]})
    write_bytes(path, _content(held))


@cache
def pair(asked: Pair) -> xr.Dataset | None:
    """A stored comparison of engines, None if there is none."""
    if asked not in PAIRS or not file_of(asked).is_file():
        return None
    with xr.open_dataset(file_of(asked), engine="h5netcdf") as opened:
        return opened.load()


def write_pair(made: xr.Dataset, path: Path) -> None:
    """Store a comparison of engines; its maps are grids, and outlines are left out.

    Parameters
    ----------
    made : xr.Dataset
        Of `workbench.compare_engines`.
    path : Path
    """
    from workbench.outputs import write_bytes
    from workbench.schema import GEOMETRY

    write_bytes(path, _content(made.drop_vars([*GEOMETRY], errors="ignore")))


@cache
def papers() -> pd.DataFrame:
    """The papers' numbers beside ours; empty where the file is missing."""
    path = folder() / PAPERS
    if not path.is_file():
        return pd.DataFrame(columns=["paper", "table", "what", "published", "published_value",
                                     "ours", "ours_value", "standard_error", "runs",
                                     "same_data", "cause", "made_by"])
    return pd.read_csv(path, dtype={"published": str, "ours": str}).fillna(
        {"published": "", "ours": "", "cause": ""})


def _rounded(values: np.ndarray) -> np.ndarray:
    """Four figures, which pack better."""
    mantissa, exponent = np.frexp(np.float32(values))
    return np.ldexp(np.round(mantissa * 2**13) / 2**13, exponent).astype(np.float32)


def _content(held: xr.Dataset) -> memoryview:
    packed = {str(n): {"zlib": True, "complevel": 9, "shuffle": True} for n in held.data_vars
              if held[n].size > 100 and held[n].dtype.kind in "fi"}
    content = io.BytesIO()
    held.to_netcdf(content, engine="h5netcdf", encoding=packed)
    return content.getbuffer()
