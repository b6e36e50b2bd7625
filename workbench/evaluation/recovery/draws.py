"""Draws of areas that each model would have given from the totals of their groups alone."""

from __future__ import annotations

import dataclasses
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.checks import require, whole
from workbench.evaluation.conditioning import area_draws, bare, coarsen
from workbench.evaluation.grouping import NO_GROUP, check_groupings
from workbench.evaluation.tasks import Outcome, Progress, Store, Task, attempt, fitted, outcomes
from workbench.schema import BAG, check


@dataclasses.dataclass
class Recovery(Outcome):
    """The outcome of one model fitted to the groups of one level and draw.

    Parameters
    ----------
    model : str
        Name of the model.
    level, draw : int
        Positions among the levels and draws.
    draws : array (sample, area), optional
        None if the fit failed.
    how : str
        See `workbench.evaluation.conditioning.area_draws`.
    hyperparameters : str
        Those of the fit, as JSON.
    """

    model: str
    level: int
    draw: int
    draws: np.ndarray | None = None
    how: str = ""
    hyperparameters: str = ""


def recover_draws(
    models: Mapping[str, object], ds: xr.Dataset, groups: xr.DataArray, *, samples: int = 500,
    seed: int = 0, workers: int = 1, progress: Progress = False, resume: str | Path | None = None,
) -> xr.Dataset:
    """Fit models to merged areas and draw the areas given the totals of their groups.

    `recover` scores these draws and forgets them; mixtures of models need the draws themselves
    (see `workbench.evaluation.stack`).

    Parameters
    ----------
    models : dict of str to model
        Anything with ``fit(ds)`` that returns a fit with ``sample(..., preserve_totals=True)`` or
        ``simulate``.
    ds : xr.Dataset
        Bagged dataset, whose areas are known.
    groups : xr.DataArray (level, draw, area)
        From `groupings`; the same for all models.
    samples : int
        Joint draws of the areas, for each model, level and draw.
    seed : int
        Seed of the draws; results do not depend on the number of workers.
    workers : int
        Number of processes.
    progress : bool or callable
        True for a progress bar; a callable gets (done, total, what was just done).
    resume : path, optional
        Folder (made if missing) where the outcome of each fit is stored, by a hash of data, model,
        groups, samples and seed; what it holds already is not computed again.

    Returns
    -------
    xr.Dataset
        ``draws`` (model, level, draw, sample, area), NaN where a model failed; ``observed``
        (area); ``group`` (level, draw, area); ``seconds`` of fitting, ``how`` (see
        `workbench.evaluation.conditioning.area_draws`), ``error``, ``note`` (warnings of the fit)
        and ``hyperparameters`` (JSON), each (model, level, draw).

    Raises
    ------
    InputError
        If the values cannot be merged, the groups are of other areas, or an option is wrong.
    """
    everything = list(recoveries(models, ds, groups, samples=samples, seed=seed, workers=workers,
                                 progress=progress, resume=resume))
    shape = (len(models), groups.sizes["level"], groups.sizes["draw"], samples, ds.sizes[BAG])
    types = [one.draws.dtype for one in everything if one.draws is not None]
    draws = np.full(shape, np.nan, dtype=np.result_type(*types) if types else np.float32)
    for one in everything:
        if one.draws is not None:
            draws[list(models).index(one.model), one.level, one.draw] = one.draws
    return xr.Dataset(
        {"draws": (("model", "level", "draw", "sample", "area"), draws, dict(ds["value"].attrs)),
         "observed": ("area", ds["value"].values.astype(float)), "group": groups},
    ).assign(about(models, groups, everything)).assign_coords(model=list(models))


def about(models, groups: xr.DataArray, everything: list[Recovery]) -> dict[str, tuple]:
    """Times, errors, notes and hyperparameters of fits as variables (model, level, draw)."""
    names, shape = list(models), (groups.sizes["level"], groups.sizes["draw"])
    dims, absent = ("model", "level", "draw"), (groups.values == NO_GROUP).all(-1)
    seconds = np.full((len(names), *shape), np.nan)
    text = {name: np.full(seconds.shape, "", dtype=object)
            for name in ("how", "error", "note", "hyperparameters")}
    text["error"][:, ~absent] = "not run"
    for one in everything:
        where = names.index(one.model), one.level, one.draw
        seconds[where] = one.seconds
        for name, values in text.items():
            values[where] = getattr(one, name)
    out = {"seconds": (dims, seconds, {"units": "s", "long_name": "time to fit"})}
    return out | {name: (dims, values.astype(str)) for name, values in text.items()}


def recoveries(
    models: Mapping[str, object], ds: xr.Dataset, groups: xr.DataArray, *, samples: int,
    seed: int, workers: int, progress: Progress, resume: str | Path | None,
) -> Iterator[Recovery]:
    """Yield each `Recovery` when it is finished; arguments as of `recover_draws`."""
    check(ds)
    check_groupings(groups, ds)
    whole("samples", samples, least=2)
    whole("seed", seed, least=0)
    require(len(models) > 0, "give at least one model")
    known = bare(ds)
    present = [(i, k) for k in range(groups.sizes["draw"]) for i in range(groups.sizes["level"])
               if groups.values[i, k, 0] != NO_GROUP]
    coarsen(known, groups.values[present[0]])   # refuses at once what cannot be merged
    store, levels = Store(resume, known, samples, seed), groups["level"].values
    yield from outcomes(_recover_one, Recovery, [
        Task(f"{name}, {levels[i]} groups, draw {k}", store.file(model, groups.values[i, k]),
             ((name, i, k), model, known, groups.values[i, k], samples, seed))
        for i, k in present for name, model in models.items()], workers, progress)


def _recover_one(place: tuple[str, int, int], model, ds: xr.Dataset, groups: np.ndarray,
                 samples: int, seed: int) -> Recovery:
    done = Recovery(*place)
    with attempt(done):
        merged = coarsen(ds, groups)
        fit = fitted(model, merged, done)
        drawn, done.how = area_draws(fit, merged, samples, _seed_of(seed, groups))
        require(bool(np.isfinite(drawn).all()), "draws of the areas are not all finite")
        done.hyperparameters = json.dumps(getattr(fit, "hyperparameters", {}), default=repr)
        done.draws = _single_precision(drawn)
    return done


def _seed_of(seed: int, groups: np.ndarray) -> int:
    """Seed of the draws for one grouping: the same for all models, in any order."""
    code = zlib.crc32(np.ascontiguousarray(groups, dtype=np.int64).tobytes())
    return int(np.random.SeedSequence([seed, code]).generate_state(1)[0] >> 1)


def _single_precision(drawn: np.ndarray) -> np.ndarray:
    """In single precision, if that is exact: whole numbers up to 16 million."""
    half = drawn.astype(np.float32)
    return half if (half == drawn).all() else drawn
