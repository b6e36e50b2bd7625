"""Draws of areas that each model would have given from the totals of their groups alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import xarray as xr
from tqdm import tqdm

from workbench.checks import choose, require, whole
from workbench.evaluation.conditioning import bare, coarsen
from workbench.evaluation.groupings import NO_GROUP, check_groupings
from workbench.evaluation.parallel import completed
from workbench.evaluation.recovery.tasks import Recovery, recover_one, started
from workbench.evaluation.tasks import data_key, folder_of, kept, task_key
from workbench.schema import BAG, check

Warm = Mapping[str, Mapping] | Callable[[str, str, int], Mapping | None]
Progress = bool | Callable[[int, int, str], None]


def recover_draws(
    models: Mapping[str, object], ds: xr.Dataset, groups: xr.DataArray, *, samples: int = 500,
    seed: int = 0, workers: int = 1, progress: Progress = False, resume: str | Path | None = None,
    warm: Warm | None = None,
) -> xr.Dataset:
    """Fit models to merged areas and draw the areas given the totals of their groups.

    The building block of `recover`, for those who want the draws themselves: mixtures of models
    are scored by theirs (see `workbench.evaluation.stack`).

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
        Of the draws; results do not depend on the number of workers.
    workers : int
        Processes.
    progress : bool or callable
        True for a bar with the time left; a callable gets (done, in all, what was just done).
    resume : path, optional
        Folder (made if missing) where each finished task is kept, by a hash of data, model,
        groups, samples and seed; what it holds already is not computed again.
    warm : mapping or callable, optional
        Hyperparameters to start from, in natural units: by name of the model, or
        ``warm(model, level, draw)``. Models need the option ``initial``.

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
                                 progress=progress, resume=resume, warm=warm))
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
    """Times, errors, notes and hyperparameters of tasks as variables (model, level, draw)."""
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
    models: Mapping[str, object], ds: xr.Dataset, groups: xr.DataArray, *, samples: int = 500,
    seed: int = 0, workers: int = 1, progress: Progress = False, resume: str | Path | None = None,
    warm: Warm | None = None,
) -> Iterator[Recovery]:
    """Yield each `Recovery` as it is done; arguments as of `recover_draws`."""
    check(ds)
    check_groupings(groups, ds)
    whole("samples", samples, least=2)
    whole("seed", seed, least=0)
    require(len(models) > 0, "give at least one model")
    if isinstance(warm, Mapping):
        for name in warm:
            choose("model in warm", name, models)
    known, tasks = bare(ds), []
    folder = folder_of(resume)
    data = data_key(known) if folder is not None else ""
    present = [(i, k) for k in range(groups.sizes["draw"]) for i in range(groups.sizes["level"])
               if groups.values[i, k, 0] != NO_GROUP]
    coarsen(known, groups.values[present[0]])   # refuses at once what cannot be merged
    finished = []
    for i, k in present:
        for name, model in models.items():
            start = _start(warm, name, str(groups["level"].values[i]), k)
            one = started(model, name, start) if start else model
            file = None
            if folder is not None:
                key = task_key(data, one, groups.values[i, k], samples, seed)
                file = folder / f"{key}.npz"
            if file is not None and file.exists():
                finished.append(Recovery(name, i, k, **kept(file)))
            else:
                tasks.append(((name, i, k), one, known, groups.values[i, k], samples, seed, file))
    total = len(finished) + len(tasks)
    show = progress if callable(progress) else None
    with tqdm(total=total, initial=len(finished), disable=progress is not True, unit="fit") as bar:
        yield from finished
        for done, one in enumerate(completed(recover_one, tasks, workers), start=len(finished) + 1):
            what = f"{one.model}, {groups['level'].values[one.level]} groups, draw {one.draw}"
            bar.set_description(what)
            bar.update()
            if show is not None:
                show(done, total, what)
            yield one


def _start(warm: Warm | None, name: str, level: str, draw: int) -> Mapping | None:
    if warm is None:
        return None
    return warm.get(name) if isinstance(warm, Mapping) else warm(name, level, draw)
