"""Hold areas out, fit on the rest, predict them: for any models, beside the constant one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping

import numpy as np
import xarray as xr
from tqdm import tqdm

from workbench.checks import InputError, require
from workbench.evaluation import baselines
from workbench.evaluation.assessment import assemble, model_name
from workbench.evaluation.folds import folds as make_folds
from workbench.evaluation.folds import subset
from workbench.evaluation.summary import SCORES, average
from workbench.evaluation.units import TARGETS, judge, targets
from workbench.schema import BAG, INDIVIDUAL, check, kind


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
    constant : model, optional
        The baseline; by default the package's constant model.
    progress : bool or callable
        True for a bar; a callable gets (fits done, fits in all, what was just done).

    Returns
    -------
    xr.Dataset
        As `evaluate` returns, every bag predicted while held out (and every individual, where
        fine values or the true rate are known), plus ``fold`` (bag), ``fold_scores`` (model, fold,
        score) of the bags, ``seconds`` (model, fold) of fitting and ``error`` (model, fold): the
        message of a fold that failed, else empty. A failed fold is also warned of, and its
        bags are not a number; all other folds are kept. ``scores`` compare the models on the
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
    check(ds)
    chosen = _named(models)
    if "constant" not in chosen:
        chosen["constant"] = constant or baselines.constant()
    fold = folds if isinstance(folds, xr.DataArray) else make_folds(ds, folds, scheme, seed)
    numbers = np.unique(fold.values)
    require(
        fold.dims == (BAG,) and fold.size == ds.sizes[BAG] and numbers.size > 1,
        f"folds must number each of the {ds.sizes[BAG]} bags, with at least two folds",
    )
    run = _Run(ds, fold, numbers, list(chosen), samples, seed)
    total = len(chosen) * numbers.size
    show = progress if callable(progress) else None
    with tqdm(total=total, disable=progress is not True, unit="fit") as bar:
        for done, (number, name) in enumerate(((k, m) for k in numbers for m in chosen), start=1):
            bar.set_description(f"{name}, fold {number}")
            try:
                run.one(name, chosen[name], number)
            except KeyboardInterrupt as stop:
                raise Interrupted(run.partial(), done - 1, total) from stop
            bar.update()
            if show is not None:
                show(done, total, f"{name}, fold {number}")
    return run.result()


def _named(models) -> dict:
    if isinstance(models, Mapping):
        named = {str(name): model for name, model in models.items()}
    else:
        several = models if isinstance(models, Iterable) else [models]
        pairs = [(model_name(model), model) for model in several]
        named = dict(pairs)
        require(
            len(named) == len(pairs),
            f"two models share a name among {[name for name, _ in pairs]}; give a dict of names",
        )
    require(len(named) > 0, "give at least one model")
    return named


class _Run:
    """Everything computed so far, fold by fold."""

    def __init__(self, ds, fold, numbers, names, samples, seed) -> None:
        self.ds, self.fold, self.numbers, self.names = ds, fold, numbers, names
        self.samples, self.seed, self.targets = samples, seed, targets(ds)
        self.units: dict[tuple[str, int], dict[str, xr.Dataset]] = {}
        self.errors: dict[tuple[str, int], str] = {}
        self.seconds: dict[tuple[str, int], float] = {}

    def one(self, name: str, model, number: int) -> None:
        """Fit one model without one fold and score that fold."""
        held_out = self.fold.values == number
        start = time.perf_counter()
        try:
            fit = model.fit(subset(self.ds, ~held_out))
            if getattr(fit, "cancelled", False):    # Ctrl-C inside the fit, which kept its best
                raise KeyboardInterrupt
            self.seconds[name, number] = time.perf_counter() - start
            test = subset(self.ds, held_out)
            self.units[name, number] = judge(
                fit, test, self.targets, self.samples, self.seed + int(number)
            )
        except Exception as error:  # whatever a model raises, the other folds must survive
            self.errors[name, number] = f"{type(error).__name__}: {error}"
            warnings.warn(
                f"{name}, fold {number} ({int(held_out.sum())} bags) failed and is left out of "
                f"the comparison of scores: {self.errors[name, number]}",
                FoldWarning,
                stacklevel=3,
            )

    def partial(self) -> xr.Dataset | None:
        """The result of what is finished, or None if nothing is."""
        return self.result() if self.units else None

    def result(self) -> xr.Dataset:
        """Put the folds together, in the order of the dataset."""
        own = [name for name in self.names if name != "constant"] or self.names
        failed = [self.errors[key] for key in self.errors if key[0] in own]
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
        shape = (len(self.names), self.numbers.size)
        seconds = np.array([self.seconds.get(key, np.nan) for key in grid]).reshape(shape)
        errors = np.array([self.errors.get(key, "") for key in grid], dtype=str).reshape(shape)
        return result.assign(
            fold_of_bag=self.fold.reset_coords(drop=True),
            fold_scores=(("model", "fold", "score"), np.array(scores)),
            seconds=(("model", "fold"), seconds, {"units": "s", "long_name": "time to fit"}),
            error=(("model", "fold"), errors),
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
                reason = self.errors.get((name, number), "not run")
                reasons.setdefault(reason, []).append(str(number))
        return "; ".join(f"fold {', '.join(numbers)}: {reason}" for reason, numbers
                         in reasons.items()) or "the others are not finite"

    def _joined(self, name: str) -> dict[str, xr.Dataset]:
        found = [self.units[key] for key in self.units if key[0] == name]
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
        done = [number for one, number in self.units if one == name]
        return np.concatenate([np.flatnonzero(fold == number) for number in done])

    def _observed(self, target: str) -> xr.DataArray:
        name = {"bag": "value", "individual": "individual_value", "rate": "truth"}[target]
        return self.ds[name].astype(float).reset_coords(drop=True)

    def _fold_scores(self, name: str, number: int, counts: bool) -> np.ndarray:
        if (name, number) not in self.units:
            return np.full(len(SCORES), np.nan)
        return average(self.units[name, number]["bag"], counts).values
