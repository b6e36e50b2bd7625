"""What can be taken away from a comparison, and the Python that makes it again."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from workbench.ui.base.session import file_stem
from workbench.ui.base.views.bundle import Bundle
from workbench.ui.compare import messages, pairs, published
from workbench.ui.compare.engine import Board, data_of
from workbench.ui.compare.programs import board_program, column_of, pair_program
from workbench.ui.compare.ranking import score_of, title_of
from workbench.ui.compare.state import BETWEEN, MODELS, PAPERS, Pair
from workbench.ui.compare.store import Store

if TYPE_CHECKING:
    import pandas as pd

#: Datasets whose individuals are pixels.
_RASTERS = ("simulated-country", "simulated-climate", "madagascar", "uk-temperature")


def bundle(store: Store) -> Bundle | None:
    """What can be taken away of the tab that is open; None while there is nothing."""
    if store.state.tab == MODELS:
        return None if store.board is None else of_board(
            store.board, address(store), store.state.score)
    if store.state.tab == PAPERS:
        return published.bundle(store.state.paper)
    if store.state.tab == BETWEEN and store.pair is not None:
        return of_pair(store.shown, store.pair)
    return None


def address(store: Store) -> str:
    """The query under which the app shows the board that is shown."""
    chosen = store.board.setting.choices | {"score": store.state.score}
    return type(store.state)(**chosen).query()


def of_board(board: Board, query: str = "", score: str = "crps") -> Bundle:
    """A comparison of models: its table, and the maps of all models.

    Parameters
    ----------
    board : Board
    query : str
        Under which the app shows it.
    score : {"crps", "map"}
        That models are ranked by.
    """
    attrs, setting = board.result.attrs, board.setting
    by = title_of(board, score_of(board, score))
    cut = messages.failed(board.partial) if board.partial else ""
    handed = setting.data.handed
    raster = "row" in handed.data.coords if handed else setting.data.name in _RASTERS
    drawn = ((".tif",) * raster + (".gpkg", ".nc") if setting.data.blocks else (".nc",))
    return Bundle(
        file_stem("comparison", setting.data.title if handed else setting.dataset,
                  "incomplete" if cut else ""),
        f"Models compared: {setting.data.title}",
        tuple(filter(None, [cut, attrs["sentence"], *attrs["notes"].split("\n")])),
        {"test": setting.test} | ({"files": handed.needed} if handed else {
            "address": f"compare?{query}"}),
        lambda: board_program(board, _test(board), by),
        lambda: _table(board).reset_index().sort_values(by, kind="stable", ignore_index=True),
        lambda: maps(board), drawn, cut,
        lambda: as_html(board))


def of_pair(pair: Pair, found: xr.Dataset) -> Bundle:
    """A comparison of engines: mean and sd of every individual by each.

    Parameters
    ----------
    pair : Pair
    found : xr.Dataset
    """
    told = messages.engines_stopped(missing) if (missing := pairs.unfinished(found)) else ""
    names = list(dict.fromkeys([pair.one, pair.other]))
    settings = {"likelihood": pair.likelihood, "first": messages.ENGINE_NAMES[pair.one],
                "second": messages.ENGINE_NAMES[pair.other],
                "hyperparameters": "each engine's own" if pair.learnt else "fixed"}
    there = [name for name in names if name not in missing]
    return Bundle(
        "engines-incomplete" if told else "engines", "Engines compared on twenty areas",
        tuple(filter(None, [told, *found.attrs["summary"].split("\n"),
                            *found.attrs.get("warned", "").split("\n")])), settings,
        lambda: pair_program(pair, there),
        lambda: engines_table(found, there), lambda: _by_engine(found, there),
        (".tif", ".gpkg", ".nc"), told)


def maps(board: Board) -> xr.Dataset:
    """The maps of a board, in natural units, where the individuals of its dataset lie.

    Parameters
    ----------
    board : Board

    Returns
    -------
    xr.Dataset
        A variable for each model, what was observed and the truth where it is known; points without
        polygons of their own are points.
    """
    from workbench.plots import rate_unit

    ds = data_of(board.setting.data)
    factor, _ = rate_unit(ds)
    shown = {"observed": board.observed} | ({} if board.truth is None else {"truth": board.truth})
    shown |= {column_of(name): values for name, values in board.maps.items()}
    made = ds[["membership", "weight"]].assign(
        {name: ("individual", values / np.float32(factor)) for name, values in shown.items()})
    if "row" not in made.coords and "individual_geometry" not in made.coords and (
            board.setting.data.blocks):
        import shapely

        points = shapely.points(made["x"].values, made["y"].values)
        made = made.assign_coords(individual_geometry=("individual", points))
    kept = {name: ds.attrs[name] for name in ("crs", "grid_transform", "grid_shape", "title",
                                              "source", "licence") if name in ds.attrs}
    made.attrs = kept | {"sentence": board.result.attrs["sentence"]}
    return made


def _by_engine(found: xr.Dataset, names: list[str]) -> xr.Dataset:
    """Mean and sd of each engine as variables of their own."""
    made = found[["membership", "weight"]].assign({
        f"{name}_{engine}": ("individual", found[name].sel(engine=engine).values)
        for engine in names for name in ("mean", "std")})
    made.attrs = {name: found.attrs[name] for name in ("crs", "grid_transform", "grid_shape",
                                                       "title", "summary") if name in found.attrs}
    return made


def engines_table(found: xr.Dataset, names: list[str]) -> pd.DataFrame:
    """Mean and sd of every individual by each engine.

    Parameters
    ----------
    found : xr.Dataset
    names : list of str
        Engines that are finished.
    """
    import pandas as pd

    columns = {"area": found["bag"].values[found["membership"].values], "x": found["x"].values,
               "y": found["y"].values}
    return pd.DataFrame(columns | {f"{name}_{engine}": found[name].sel(engine=engine).values
                                   for engine in names for name in ("mean", "std")})


def as_json(board: Board, address: str) -> str:
    """A comparison as JSON: address, settings, verdict, versions, and a record for each model.

    Parameters
    ----------
    board : Board
    address : str
        Query under which the app shows it.
    """
    attrs, setting = board.result.attrs, board.setting
    told = {"address": f"compare?{address}", "setting": asdict(setting),
            "dataset": {"name": setting.data.name, "options": dict(setting.data.options)},
            "recommended": attrs["recommended"], "sentence": attrs["sentence"],
            "incomplete": attrs["partial"], "notes": attrs["notes"].split("\n"),
            "settings": json.loads(attrs["settings"]), "models": json.loads(attrs["models"]),
            "versions": json.loads(attrs["versions"]),
            "scores": [_plain(record) for record in
                       _table(board).reset_index().to_dict("records")]}
    return json.dumps(told, indent=2, ensure_ascii=False)


def as_html(board: Board) -> str:
    """The library's report of a comparison, one self-contained page."""
    from workbench.comparison import Comparison

    return Comparison(board.result).to_html()


def pair_json(pair: Pair, found: xr.Dataset) -> str:
    """A comparison of engines as JSON: setting, summary, and every individual's mean and sd."""
    return json.dumps({
        "setting": asdict(pair), "summary": found.attrs["summary"].split("\n"),
        "reference": found.attrs["reference"], "warned": found.attrs.get("warned", ""),
        "unfinished": pairs.unfinished(found),
        "seconds": {e: float(found["seconds"].sel(engine=e)) for e in
                    found["engine"].values.tolist()},
        **{name: {e: [float(f"{v:.6g}") for v in found[name].sel(engine=e).values]
                  for e in found["engine"].values.tolist()} for name in ("mean", "std")}}, indent=1)


def _test(board: Board) -> str:
    return str(board.result["test"].values[0])


def _table(board: Board) -> pd.DataFrame:
    from workbench.comparison import Comparison

    return Comparison(board.result).table(_test(board))


def _plain(record: dict) -> dict:
    return {name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in record.items()}
