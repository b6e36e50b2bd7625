"""Coarsen and recover: which model finds known areas again from the totals of their groups.

The user's own change of support, with a truth that the user has: areas stand to groups as
individuals to areas.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.bagging import looked_at
from workbench.checks import InputError, warn
from workbench.evaluation.area_scores import COUNT_SCORES, TITLES, VALUE_SCORES, score_areas
from workbench.evaluation.grouping import groupings
from workbench.evaluation.recovery.draws import Recovery, about, recoveries
from workbench.evaluation.recovery.summary import summarise
from workbench.evaluation.tasks import FoldWarning, Interrupted, Progress, named
from workbench.schema import BAG, check, counts_add_up


def recover(
    models,
    ds: xr.Dataset,
    levels: Sequence[int | str] | xr.DataArray | None = None,
    draws: int = 4,
    *,
    samples: int = 500,
    seed: int = 0,
    workers: int = 1,
    progress: Progress = False,
    resume: str | Path | None = None,
) -> xr.Dataset:
    """Merge neighbouring areas, fit to the totals of the groups, and predict the known areas.

    Parameters
    ----------
    models : model, list of models, or dict of str to model
        Anything with ``fit(ds)`` that returns a fit with ``sample(..., preserve_totals=True)`` or
        ``simulate``. `workbench.Constant` among them is the population split.
    ds : xr.Dataset
        Bagged dataset.
    levels : sequence of int or str, or xr.DataArray (level, draw, area), optional
        Numbers of groups, or labels of the areas such as "province"; or the groups themselves, as
        `workbench.evaluation.groupings` returns them. By default a sixth, a quarter and a third of
        the areas (at least five groups), and text labels with about as many values.
    draws : int
        Groupings of each level.
    samples : int
        Joint draws of the areas for each fit.
    seed : int
        Seed of groupings and draws.
    workers : int
        Number of processes; results do not depend on it.
    progress : bool or callable
        True for a progress bar; a callable gets (done, total, what was just done).
    resume : path, optional
        Folder where finished fits are stored, so that an interrupted run can be resumed.

    Returns
    -------
    xr.Dataset
        ``scores`` (model, score), means over areas, then draws, then levels, of the fits that all
        models finished; ``difference`` (model, other, score) of their means and
        ``difference_error``, its standard error over groups; ``level_scores`` (model, level,
        score); ``extrapolated`` (model, score), the standing of each model at the step from areas
        to individuals by the trend over levels, relative to the average model, with
        ``extrapolated_error``; ``area_scores`` (model, level, draw, area, score), NaN for areas
        alone in their group; ``expected`` (model, level, draw, area); ``group``; ``observed``;
        ``seconds``, ``error``, ``note``, ``how`` and ``hyperparameters`` (model, level, draw).
        Attributes: ``sentence`` (the verdict in words), ``caveat``, ``comparison`` (what is
        compared, and what failed).

    Raises
    ------
    InputError
        If the areas are too few or cannot be merged, or every fit failed.
    Interrupted
        On Ctrl-C; its ``partial`` is the result of the fits finished.

    Notes
    -----
    Groups are the independent unit. Standard errors are root mean squares over levels and draws of
    those of single groupings: draws of groups share their areas, so that averaging over them
    makes a score less dependent on the groups but adds no areas; the errors are on the safe side.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=30)
    >>> result = wb.recover({"flat": wb.Constant(max_steps=5)}, ds, levels=[10], draws=1)
    >>> bool(result["scores"].sel(model="flat", score="deviance") > 0)
    True
    """
    ds = looked_at(check(ds))
    chosen = named(models)
    groups = levels if isinstance(levels, xr.DataArray) else groupings(ds, levels, draws, seed)
    run = _Run(chosen, ds, groups, seed)
    total = len(chosen) * int((groups.values[..., 0] >= 0).sum())
    try:
        for one in recoveries(chosen, ds, groups, samples=samples, seed=seed, workers=workers,
                              progress=progress, resume=resume):
            run.add(one)
        if not run.finished:
            raise InputError(f"every fit failed; the first: {run.done[0].error}")
        return run.result()
    except KeyboardInterrupt as stop:
        partial = run.result() if run.finished else None
        raise Interrupted(partial, len(run.done), total) from stop


class _Run:
    """Scores of the fits finished so far; their draws are not kept."""

    def __init__(self, models: dict, ds: xr.Dataset, groups: xr.DataArray, seed: int) -> None:
        self.models, self.ds, self.groups, self.seed = models, ds, groups, seed
        self.counts = counts_add_up(ds)
        self.names = COUNT_SCORES if self.counts else VALUE_SCORES
        self.weight = np.bincount(ds["membership"].values, weights=ds["weight"].values)
        shape = (len(models), *groups.shape)
        self.expected = np.full(shape, np.nan)
        self.scores = np.full((*shape, len(self.names)), np.nan)
        self.done: list[Recovery] = []

    @property
    def finished(self) -> bool:
        """Whether any fit was."""
        return any(not one.error for one in self.done)

    def add(self, one: Recovery) -> None:
        """Score one fit and forget its draws; say so if it failed."""
        self.done.append(one)
        if one.draws is None:
            level = self.groups["level"].values[one.level]
            warn(f"{one.model}, level {level}, draw {one.draw} failed and is left out of "
                 f"the comparison of scores: {one.error}", FoldWarning)
            return
        where = list(self.models).index(one.model), one.level, one.draw
        scored = score_areas(self.ds["value"].values, one.draws,
                             self.groups.values[one.level, one.draw], self.weight, self.counts,
                             self.seed)
        self.expected[where] = one.draws.mean(0, dtype=float)
        self.scores[where] = np.stack([scored[name] for name in self.names], axis=-1)
        one.draws = None

    def result(self) -> xr.Dataset:
        """All of it, labelled, averaged and put into words."""
        units = self.ds["value"].attrs.get("units", "")
        dims = ("model", "level", "draw", "area")
        out = xr.Dataset({
            "area_scores": ((*dims, "score"), self.scores),
            "expected": (dims, self.expected, {"units": units, "long_name": "predicted value"}),
            "observed": ("area", self.ds["value"].values.astype(float), {"units": units}),
            "group": self.groups,
        }).assign(about(self.models, self.groups, self.done)).assign_coords(
            model=list(self.models), score=list(self.names),
            score_title=("score", [TITLES[name] for name in self.names]),
        )
        per_area = self.ds.sizes["individual"] / self.ds.sizes[BAG]
        out = summarise(out, self.counts, float(per_area))
        kept = {n: self.ds.attrs[n] for n in ("title", "source", "licence") if n in self.ds.attrs}
        return out.assign_attrs(kept)
