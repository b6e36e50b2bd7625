"""A comparison as a board: what `workbench.compare` found, and the map of every model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from workbench.ui.base.cache import Cache
from workbench.ui.compare.catalogue import AUTO, RIVALS, Data, rivals_for
from workbench.ui.compare.grid import Grid, grid_of
from workbench.ui.compare.state import Setting

SAMPLES, DRAWS = 300, 1
_DATA = Cache(3)


@dataclass(frozen=True, eq=False)
class Board:
    """All that is shown of one comparison.

    Parameters
    ----------
    setting : Setting
    result : xr.Dataset
        The ``data`` of a `workbench.comparison.Comparison`.
    grid : Grid
    maps : Mapping of str to array (individual,)
        Rates by model, the areas' totals kept, in the unit shown.
    observed : array (individual,)
        Rate of each one's area.
    truth : array (individual,) or None
        Of individuals, where it is known.
    unit : str
    """

    setting: Setting
    result: xr.Dataset
    grid: Grid
    maps: Mapping[str, np.ndarray]
    observed: np.ndarray
    truth: np.ndarray | None
    unit: str

    @property
    def partial(self) -> str:
        """Where it was stopped; empty if it is whole."""
        return self.result.attrs["partial"]


def data_of(data: Data) -> xr.Dataset:
    """A dataset, loaded once."""
    import workbench

    if data.handed is not None:
        return data.handed.data
    key = data.name, tuple(data.options.items())
    return _DATA.get(key, lambda: workbench.load(data.name, **data.options))


def own_models(setting: Setting) -> dict[str, object]:
    """The argument ``models`` of `workbench.compare`: None for those that are left out."""
    import workbench

    found = {}
    for key, rival in rivals_for(setting.data).items():
        if key not in setting.models:
            found |= {rival.name: None} if rival.always else {}
        elif key == AUTO:
            found[AUTO] = workbench.Auto(**auto_options(setting))
        elif rival.cls:
            found[rival.name] = getattr(workbench, rival.cls)(**rival.options, seed=setting.seed)
    return found


def auto_options(setting: Setting) -> dict:
    """Options of the mixture: one process, as the fits of a comparison share the processors."""
    return {"effort": setting.effort, "seed": setting.seed, "workers": 1}


def arguments(setting: Setting) -> dict:
    """The other arguments of `workbench.compare` that a setting has."""
    return {"only": setting.test, "folds": setting.folds, "draws": DRAWS, "samples": SAMPLES,
            "seed": setting.seed, "effort": setting.effort}


def board_of(setting: Setting, result: xr.Dataset, ds: xr.Dataset, maps: Mapping) -> Board:
    """Put a board together.

    Parameters
    ----------
    setting : Setting
    result : xr.Dataset
        The ``data`` of a `workbench.comparison.Comparison`.
    ds : xr.Dataset
        What was compared on.
    maps : Mapping of str to array (individual,)
        Natural units.
    """
    from workbench.plots import observed_rate, rate_unit

    factor, unit = rate_unit(ds)
    truth = None
    if "truth" in ds:
        truth = ds["truth"].values
    elif "individual_value" in ds:
        truth = ds["individual_value"].values / ds["weight"].values
    member = ds["membership"].values
    return Board(
        setting, result, grid_of(ds, setting.data.axes),
        {name: np.float32(factor) * values for name, values in maps.items()},
        np.float32(factor * observed_rate(ds).values[member]),
        None if truth is None else np.float32(factor * truth), unit)


def narrowed(board: Board, setting: Setting) -> Board | None:
    """A board of fewer models from one that has them all; None if it has not.

    Every model is scored by itself; only the units that all have in common, the differences and the
    verdict depend on the others.

    Parameters
    ----------
    board : Board
    setting : Setting
        The same but for its models.
    """
    from workbench.comparison.verdict import verdict

    whole = board.setting
    base = {"models": (), "effort": "quick"} if AUTO not in setting.models else {"models": ()}
    if board.partial or replace(whole, **base) != replace(setting, **base) or not set(
            setting.models) <= set(whole.models):
        return None
    if (board.result["error"] != "").any():
        return None
    simple = board.result.attrs["baseline"]
    names = [simple, *(RIVALS[key].name for key in whole.models if key in setting.models)]
    kept = [name for name in board.result["model"].values.tolist() if name in names]
    if len(kept) < 2:
        return None
    result = board.result.sel(model=kept, other=kept)
    told = json.loads(result.attrs["models"])
    left_out = [f"{rival.name} is left out, as asked" for key, rival in whole.rivals.items()
                if rival.always and rival.name not in kept]
    notes = "\n".join(filter(None, [result.attrs["notes"], *left_out]))
    result = result.assign_attrs(
        models=json.dumps({name: told[name] for name in kept}), notes=notes)
    use, sentence = verdict(result)
    result = result.assign_attrs(recommended=use, sentence=sentence)
    return replace(board, setting=setting, result=result,
                   maps={name: values for name, values in board.maps.items() if name in kept})
