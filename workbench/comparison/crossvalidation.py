"""Cross-validation: hold areas out, fit on the rest, predict them, beside the constant model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xarray as xr

from workbench.bagging import looked_at
from workbench.checks import require
from workbench.comparison.assessment import flat_model
from workbench.comparison.joined import Folds, HeldOut
from workbench.evaluation.folding import folds as make_folds
from workbench.evaluation.folding import subset
from workbench.evaluation.tasks import (
    Interrupted,
    Progress,
    Store,
    Task,
    attempt,
    fitted,
    named,
    outcomes,
)
from workbench.evaluation.units import score_units
from workbench.labelled.once import converted_once
from workbench.schema import BAG, GEOMETRY, check


def cross_validate(
    models,
    ds: xr.Dataset,
    folds: int | xr.DataArray = 10,
    *,
    scheme: str = "random",
    seed: int = 0,
    samples: int = 1000,
    constant=None,
    progress: Progress = False,
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
        Number of folds, or the fold of each bag as `folds` returns it.
    scheme : str
        "random", "blocks" (compact on the map), "stratified", or a label coordinate of the bags.
    seed : int
        Seed of the folds and the draws.
    samples : int
        Draws from each predictive distribution.
    constant : model or False, optional
        The baseline; by default `workbench.Constant`. False leaves it out.
    progress : bool or callable
        True for a progress bar; a callable gets (fits done, all fits, what was just done).
    workers : int
        Number of processes, each with one thread for linear algebra; with 1 the fits run in this
        process, with its threads. Results do not depend on it (up to rounding).
    resume : path, optional
        Folder (made if missing) where finished folds are stored, by a hash of data, model, folds,
        samples and seed; what it holds already is not computed again.

    Returns
    -------
    xr.Dataset
        As `evaluate` returns, every bag predicted while held out (and every individual, where
        fine values or the true rate are known), plus ``fold`` (bag), ``fold_scores`` (model, fold,
        score) of the bags, ``seconds`` (model, fold) of fitting, ``note`` (model, fold), the
        warnings of the fit, and ``error`` (model, fold): the message of a fold that failed, else
        empty. A failed fold also gives a warning, and its bags are NaN; all other folds are kept.
        ``scores`` compare the models on the units that all of them predicted (``units_scored``,
        beside each model's own ``units_predicted``); the attribute ``comparison`` says so in words
        and names the failures. A model of which every fold failed has no scores and takes none
        from others.

    Raises
    ------
    InputError
        If no fold of any model (except the constant one) could be fitted.
    Interrupted
        On Ctrl-C; its ``partial`` is the result of the finished folds.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> model = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5)
    >>> result = wb.cross_validate({"vbagg": model}, ds, folds=2, samples=50)
    >>> result["model"].values.tolist()
    ['vbagg', 'constant']
    >>> bool(result["scores"].sel(target="bag", model="vbagg", score="crps") > 0)
    True
    """
    ds = looked_at(check(ds))
    chosen = named(models)
    if "constant" not in chosen and constant is not False:
        chosen["constant"] = constant or flat_model()
    fold = folds if isinstance(folds, xr.DataArray) else make_folds(ds, folds, scheme, seed)
    require(
        fold.dims == (BAG,) and fold.size == ds.sizes[BAG] and np.unique(fold.values).size > 1,
        f"folds must number each of the {ds.sizes[BAG]} bags, with at least two folds",
    )
    joined = Folds(ds, fold, list(chosen))
    store = Store(resume, ds.drop_vars(GEOMETRY, errors="ignore"), samples, seed)
    tasks = [Task(f"{name}, fold {k}", store.file(model, np.append(fold.values, k)),
                  (name, model, k, ds, fold.values, joined.targets, samples, seed))
             for k in joined.numbers for name, model in chosen.items()]
    try:
        for one in outcomes(_hold_out, HeldOut, tasks, workers, progress, limit=workers > 1):
            joined.add(one)
        return joined.result()
    except KeyboardInterrupt as stop:
        partial = joined.result() if joined.units else None
        raise Interrupted(partial, len(joined.done), len(tasks)) from stop


def _hold_out(name: str, model, number: int, ds: xr.Dataset, fold: np.ndarray, targets: list[str],
              samples: int, seed: int) -> HeldOut:
    done, held_out = HeldOut(name, number), fold == number
    with attempt(done) as issued:
        fit = fitted(model, subset(ds, ~held_out), done)
        with converted_once():
            scored = score_units(fit, subset(ds, held_out), targets, samples, seed + number)
        done.units = {target: one.reset_coords(drop=True) for target, one in scored.items()}
    done.warned = [(str(w.message), w.category) for w in issued]
    return done
