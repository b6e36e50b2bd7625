"""Hold areas out, fit on the rest, predict them: for any models, beside the constant one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path

import numpy as np
import xarray as xr
from tqdm import tqdm

from workbench.bagging import looked_at
from workbench.checks import InputError, require
from workbench.evaluation import baselines
from workbench.evaluation.assessment import assemble, model_name
from workbench.evaluation.crossvalidation_tasks import HeldOut, hold_out, kept
from workbench.evaluation.folds import folds as make_folds
from workbench.evaluation.parallel import completed
from workbench.evaluation.summary import SCORES, average
from workbench.evaluation.tasks import data_key, folder_of, task_key
from workbench.evaluation.units import TARGETS, targets
from workbench.schema import BAG, GEOMETRY, INDIVIDUAL, check, kind


class FoldWarning(UserWarning):
    """A fold of a model failed; its bags are left out of the comparison of scores."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C during cross-validation; ``partial`` holds every fold finished by then, or None."""

    def __init__(self, partial: xr.Dataset | None, done: int, total: int) -> None:
        super().__init__(f"stopped after {done} of {total} fits; they are kept in .partial")
        self.partial = partial


def cross_validate(
    models,
    ds: xr.Dataset,
    folds: int | xr.DataArray = 10,
    *,
    scheme: str = "random",
    seed: int = 0,
    samples: int = 1000,
    constant=None,
    progress: bool | Callable[[int, int, str], None] = False,
    workers: int = 1,
    resume: str | Path | None = None,
) -> xr.Dataset:
    """Score models on areas that they have not seen, always beside the constant model.

    Parameters
    ----------
    models : model, list of models, or dict of str to model
        Anything with ``fit(ds)`` that returns a fit with ``at`` and ``simulate``.
    ds : xr.Dataset
        Bagged dataset.
    folds : int or xr.DataArray (bag,)
        How many folds, or the fold of each bag as `folds` returns it.
    scheme : str
        "random", "blocks" (compact on the map), "stratified", or a label coordinate of the bags.
    seed : int
    samples : int
        Draws from each predictive law.
    constant : model or False, optional
        The baseline; by default the package's constant model. False leaves it out.
    progress : bool or callable
        True for a bar; a callable gets (fits done, fits in all, what was just done).
    workers : int
        Processes, each with one thread for linear algebra; with 1 the fits run in this process,
        with its threads. Results do not depend on it (but for the rounding of threads).
    resume : path, optional
        Folder (made if missing) where finished folds are kept, by a hash of data, model, folds,
        samples and seed; what it holds already is not computed again.

    Returns
    -------
    xr.Dataset
        As `evaluate` returns, every bag predicted while held out (and every individual, where
        fine values or the true rate are known), plus ``fold`` (bag), ``fold_scores`` (model, fold,
        score) of the bags, ``seconds`` (model, fold) of fitting, ``note`` (model, fold), what the
        fit warned of, and ``error`` (model, fold): the message of a fold that failed, else empty.
        A failed fold is also warned of, and its bags are not a number; all other folds are kept.
        ``scores`` compare the models on the
        units that all of them predicted (``units_scored``, beside each model's own
        ``units_predicted``); the attribute ``comparison`` says so in words and names the
        failures. A model of which every fold failed has no scores and takes none from others.

    Raises
    ------
    InputError
        If no fold of any model (but the constant one) could be fitted.
    Interrupted
        On Ctrl-C; its ``partial`` is the result of the folds finished.
    """
    ds = looked_at(check(ds))
    chosen = named(models)
    if "constant" not in chosen and constant is not False:
        chosen["constant"] = constant or baselines.constant()
    fold = folds if isinstance(folds, xr.DataArray) else make_folds(ds, folds, scheme, seed)
    numbers = np.unique(fold.values)
    require(
        fold.dims == (BAG,) and fold.size == ds.sizes[BAG] and numbers.size > 1,
        f"folds must number each of the {ds.sizes[BAG]} bags, with at least two folds",
    )
    run = _Run(ds, fold, numbers.tolist(), list(chosen), samples, seed)
    total = len(chosen) * numbers.size
    tasks, before = _tasks(run, chosen, resume)
    show = progress if callable(progress) else None
    with tqdm(total=total, disable=progress is not True, unit="fit") as bar:
        try:
            for one in chain(before, completed(hold_out, tasks, workers, limit=workers > 1)):
                run.add(one)
                what = f"{one.model}, fold {one.number}"
                bar.set_description(what)
                bar.update()
                if show is not None:
                    show(len(run.done), total, what)
        except KeyboardInterrupt as stop:
            raise Interrupted(run.partial(), len(run.done), total) from stop
    return run.result()


def _tasks(run: _Run, models: dict, resume: str | Path | None) -> tuple[list, list[HeldOut]]:
    """What is to be done, fold by fold, and what a folder already holds."""
    folder = folder_of(resume)
    data = "" if folder is None else data_key(run.ds.drop_vars(GEOMETRY, errors="ignore"))
    tasks, finished = [], []
    for number, name in ((k, m) for k in run.numbers for m in models):
        file = None
        if folder is not None:
            which = np.append(run.fold.values, number)
            file = folder / f"{task_key(data, models[name], which, run.samples, run.seed)}.nc"
        if file is not None and file.exists():
            finished.append(kept(name, int(number), file))
        else:
            tasks.append((name, models[name], int(number), run.ds, run.fold.values, run.targets,
                          run.samples, run.seed, file))
    return tasks, finished


def named(models) -> dict[str, object]:
    """Models by name, from a model, a list of models or a dict."""
    if isinstance(models, Mapping):
        found = {str(name): model for name, model in models.items()}
    else:
        several = models if isinstance(models, Iterable) else [models]
        pairs = [(model_name(model), model) for model in several]
        found = dict(pairs)
        require(
            len(found) == len(pairs),
            f"two models share a name among {[name for name, _ in pairs]}; give a dict of names",
        )
    require(len(found) > 0, "give at least one model")
    return found


class _Run:
    """Everything computed so far, fold by fold."""

    def __init__(self, ds, fold, numbers, names, samples, seed) -> None:
        self.ds, self.fold, self.numbers, self.names = ds, fold, numbers, names
        self.samples, self.seed, self.targets = samples, seed, targets(ds)
        self.units: dict[tuple[str, int], dict[str, xr.Dataset]] = {}
        self.done: dict[tuple[str, int], HeldOut] = {}

    def add(self, one: HeldOut) -> None:
        """Take up one task; say what its fit warned of, and if it failed."""
        self.done[one.model, one.number] = one
        for warned in one.warned:
            warnings.warn_explicit(*warned)
        if one.units is not None:
            self.units[one.model, one.number] = one.units
            return
        warnings.warn(
            f"{one.model}, fold {one.number} ({int((self.fold.values == one.number).sum())} bags) "
            f"failed and is left out of the comparison of scores: {one.error}",
            FoldWarning, stacklevel=3)

    def partial(self) -> xr.Dataset | None:
        """The result of what is finished, or None if nothing is."""
        return self.result() if self.units else None

    def result(self) -> xr.Dataset:
        """Put the folds together, in the order of the dataset."""
        own = [name for name in self.names if name != "constant"] or self.names
        failed = [one.error for one in self.done.values() if one.model in own and one.error]
        if failed and not any(name in own for name, _ in self.units):
            raise InputError(f"every fold failed; the first: {failed[0]}")
        judged = {name: self._joined(name) for name in self.names}
        judged = {name: units for name, units in judged.items() if units}
        result = assemble(judged, self.ds, pinned=False).reindex(model=self.names)
        result["units_predicted"] = result["units_predicted"].fillna(0)
        counts = kind(self.ds) == "count"
        scores = [[self._fold_scores(name, number, counts) for number in self.numbers]
                  for name in self.names]
        grid = [(name, number) for name in self.names for number in self.numbers]
        shape = (len(self.names), len(self.numbers))
        told = {what: np.array([getattr(self.done[key], what) if key in self.done else empty
                                for key in grid]).reshape(shape)
                for what, empty in (("seconds", np.nan), ("error", ""), ("note", ""))}
        return result.assign(
            fold_of_bag=self.fold.reset_coords(drop=True),
            fold_scores=(("model", "fold", "score"), np.array(scores)),
            seconds=(("model", "fold"), told["seconds"],
                     {"units": "s", "long_name": "time to fit"}),
            error=(("model", "fold"), told["error"]), note=(("model", "fold"), told["note"]),
        ).assign_coords(fold=self.numbers).assign_attrs(
            comparison=self._comparison(result))

    def _comparison(self, result: xr.Dataset) -> str:
        """On which bags the scores compare the models, and what failed, in words."""
        bags, total = result.sel(target="bag"), self.ds.sizes[BAG]
        lacking = [f"{name} predicted {count} of {total} bags ({self._why(name)})"
                   for name in self.names
                   if (count := int(bags["units_predicted"].sel(model=name))) < total]
        if not lacking:
            return f"scores are over all {total} bags, each predicted while held out"
        return "\n".join([
            f"scores are over {int(bags['units_scored'].max())} of {total} bags, those that every "
            "model with any predictions predicted while held out", *lacking,
        ])

    def _why(self, name: str) -> str:
        reasons: dict[str, list[str]] = {}
        for number in self.numbers:
            if (name, number) not in self.units:
                one = self.done.get((name, number))
                reason = "not run" if one is None else one.error
                reasons.setdefault(reason, []).append(str(number))
        return "; ".join(f"fold {', '.join(numbers)}: {reason}" for reason, numbers
                         in reasons.items()) or "the others are not finite"

    def _joined(self, name: str) -> dict[str, xr.Dataset]:
        found = [self.units[name, number] for number in self._finished(name)]
        joined = {}
        for target in self.targets if found else ():
            dim = TARGETS[target]
            together = xr.concat([units[target] for units in found], dim)
            where = np.full(self.ds.sizes[dim], -1)
            where[self._order(name, dim)] = np.arange(together.sizes[dim])
            placed = together.isel({dim: where})
            hole = xr.DataArray(where >= 0, dims=dim)
            placed = placed.where(hole).assign_coords({dim: self.ds[dim]})
            placed["observed"] = self._observed(target)
            joined[target] = placed
        return joined

    def _order(self, name: str, dim: str) -> np.ndarray:
        fold = self.fold.values
        if dim == INDIVIDUAL:
            fold = fold[self.ds["membership"].values]
        return np.concatenate([np.flatnonzero(fold == number) for number in self._finished(name)])

    def _finished(self, name: str) -> list[int]:
        """Folds of a model in their order, whichever was done first."""
        return [number for number in self.numbers if (name, number) in self.units]

    def _observed(self, target: str) -> xr.DataArray:
        name = {"bag": "value", "individual": "individual_value", "rate": "truth"}[target]
        return self.ds[name].astype(float).reset_coords(drop=True)

    def _fold_scores(self, name: str, number: int, counts: bool) -> np.ndarray:
        if (name, number) not in self.units:
            return np.full(len(SCORES), np.nan)
        return average(self.units[name, number]["bag"], counts).values
