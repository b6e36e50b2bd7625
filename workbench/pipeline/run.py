"""The line from data to map: load or read, bag, fit, label, score; one Spec in, one Dataset out.

Nothing is decided here: every choice is in the Spec, and the result carries it, with the versions
of the packages and a hash of the data, so that it can be made again and told from another.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

import xarray as xr

from workbench import geo
from workbench.checks import option, require
from workbench.gp.likelihoods.links import link_named
from workbench.gp.optimisation import checkpoint
from workbench.labelled.timing import cost_told
from workbench.outputs import deliver
from workbench.pipeline.aggregating import aggregated
from workbench.pipeline.base import BaseSpec
from workbench.pipeline.inputs import data_of, spec_of
from workbench.pipeline.problems import Problem, model_of, problem_of
from workbench.pipeline.rehearsing import rehearsed
from workbench.pipeline.scoring import kept_map, with_scores
from workbench.pipeline.spec import (
    AggregateSpec,
    EnginesSpec,
    PredictSpec,
    RehearseSpec,
    Spec,
)

UNSCORED = "cross-validation has not finished"
Callback = Callable[[int, float, float], None]

__all__ = ["data_of", "model_of", "run", "spec_of"]


def run(spec: BaseSpec, progress: bool = False, callback: Callback | None = None,
        out: Path | None = None, finished: Callable[[xr.Dataset], object] | None = None,
        resume: Path | None = None, workers: int = 0, save_fit: Path | None = None) -> xr.Dataset:
    """Do what a Spec says: load or read, bag, fit, label, and score on held-out areas.

    Parameters
    ----------
    spec : BaseSpec
        What to do: a `Spec`, `SmoothSpec`, `MediateSpec`, `CombineSpec`, `AggregateSpec`,
        `EnginesSpec`, `PredictSpec` or `RehearseSpec`.
    progress : bool
        Show bars on standard error.
    callback : callable, optional
        ``callback(step, objective, fraction)`` at every step of every fit; it may raise
        `workbench.Cancelled` to stop, and what is finished by then is returned.
    out : Path, optional
        Where the result will be written: a format that cannot hold it is refused before the fit.
    finished : callable, optional
        Called with the finished map before cross-validation begins, to write it.
    resume : Path, optional
        Folder where the steps of a long fit are kept, and the map and finished folds while
        cross-validation runs; a run of the same Spec on the same data goes on from there.
    workers : int
        Processes of a model that can use several (0: as its options say), and then of the folds
        of cross-validation (0: one); results do not depend on it.
    save_fit : Path, optional
        Where the fit is written, too, before its map is made; `workbench.load_fit` reads it.

    Returns
    -------
    xr.Dataset
        The maps of ``Fit.to_dataset``; with ``spec.folds``, also the scores of cross-validation
        beside the constant model, as variables ``cv_...``
        (`workbench.pipeline.scoring.scores` takes them out again).
        Attributes: those of the data and of the fit (versions, data_sha256), spec, spec_key,
        summary, ``comparison`` (on which bags the scores compare the models, and what failed), and
        ``partial`` (what is missing, and why) if the run was stopped. Of a `RehearseSpec`, what
        `workbench.rehearse` returns; ``callback``, ``out`` and ``finished`` are of maps.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says what to change.

    Examples
    --------
    >>> maps = run(Spec("swiss-roll", options=dict(link="square", max_steps=5)))
    >>> maps.attrs["spec_key"] == Spec.from_json(maps.attrs["spec"]).key
    True
    """
    require(save_fit is None or not isinstance(spec, (AggregateSpec, PredictSpec, RehearseSpec)),
            f"`workbench {spec.command}` makes no fit of its own that could be saved; leave out "
            + option("save_fit"))
    if isinstance(spec, AggregateSpec):
        return aggregated(spec, progress, callback, workers)
    if isinstance(spec, RehearseSpec):
        return rehearsed(spec, progress=progress, resume=resume, workers=workers)
    # First, so that a wrong option costs no loading.
    model = None if isinstance(spec, PredictSpec) else model_of(spec, workers or None)
    if isinstance(spec, EnginesSpec):
        require(save_fit is None, "engines are compared, and no one fit is made that could be "
                "saved; leave save_fit out")
        return _engines(spec, model, progress, out)
    if isinstance(spec, Spec):
        check_threshold(spec.threshold, model)
    problem = problem_of(spec)
    if out is not None:
        geo.check_format(problem.ds, out)
    folds = spec.folds if isinstance(spec, Spec) else 0
    require(not (folds and spec.mixture),
            "auto with given weights and hyperparameters learns nothing that cross-validation "
            "could test; leave out folds, or hyperparameters")
    # Of a Spec with folds the dataset, which has the areas; of a stored fit there is none.
    seen = problem.learn[0] if problem.learn else problem.ds
    if isinstance(spec, Spec):
        check_threshold(spec.threshold, model, seen)
    if folds:
        check_folds(spec, seen)
    if progress:
        _say(problem.told)
        _say(_cost(spec, model, seen, folds, workers))
    stored = kept_map(resume, seen, spec) if folds and resume is not None else None
    if stored is not None and stored.exists() and (save_fit is None or save_fit.exists()):
        maps = geo.read(stored)
    else:
        maps = _map(spec, model, problem, progress, callback, save_fit, resume)
    if not folds or "partial" in maps.attrs:
        return maps
    if stored is not None and not stored.exists():
        with contextlib.suppress(OSError):      # only the next run would miss it
            stored.parent.mkdir(exist_ok=True)
            geo.write(maps, stored)
    if finished is not None:
        finished(maps.assign_attrs(partial=UNSCORED))
    return with_scores(maps, seen, spec, progress=progress, callback=callback, resume=resume,
                       workers=workers)


def _map(spec: BaseSpec, model, problem: Problem, progress: bool, callback,
         save_fit: Path | None, resume: Path | None) -> xr.Dataset:
    if progress and resume is not None and any(resume.glob(f"*{checkpoint.SUFFIX}")):
        _say(f"going on from what a run that was ended left in {resume}")
    with checkpoint.kept(_place(resume)):
        if spec.mixture:
            fit = model.condition(*problem.learn, spec.hyperparameters.plain())
        else:
            fit = problem.fit or model.fit(*problem.learn, **problem.keywords, progress=progress,
                                           callback=callback)
    if save_fit is not None:
        deliver(fit.save, save_fit)
    maps = problem.label(fit)
    maps.attrs |= {"spec": spec.to_json(indent=None), "spec_key": spec.key,
                   "summary": fit.summary()}
    if fit.cancelled and problem.fit is None:
        maps.attrs["partial"] = f"the fit was stopped after {len(fit.history)} steps"
        if isinstance(spec, Spec) and spec.folds:
            maps.attrs["partial"] += "; there was no cross-validation"
    return maps


def _place(resume: Path | None) -> checkpoint.Place | None:
    """Where the steps of a fit are kept."""
    if resume is None:
        return None
    from workbench.evaluation.tasks import code_key  # here: it takes a while to load

    return checkpoint.Place(resume, checkpoint.EVERY, code_key())


def _engines(spec: EnginesSpec, model, progress: bool, out: Path | None) -> xr.Dataset:
    from workbench.comparison import compare_engines

    require(out is None or out.suffix == ".nc", "engines beside each other are written to NetCDF; "
            f"give a file that ends in .nc, not {str(out)!r}")
    found = compare_engines(
        data_of(spec), model, engines=spec.engines or None,
        fix_hyperparameters=spec.fix_hyperparameters, draws=spec.draws,
        warmup=spec.warmup, chains=spec.chains, seed=spec.seed, limit=spec.limit,
        progress=progress)
    return found.assign_attrs(spec=spec.to_json(indent=None), spec_key=spec.key)


def check_threshold(given: float | tuple[float, ...] | None, model: object,
                    ds: xr.Dataset | None = None) -> None:
    """Refuse a threshold below zero where every rate is positive."""
    # A model without a choice of link has the identity, under which rates may be negative.
    name = getattr(model.options, "link", "identity")
    if name == "auto" and (ds is None or bool((ds["value"] < 0).any())):
        return      # the values decide, and some are negative
    link = link_named(name)
    threshold = min(given) if isinstance(given, tuple) else given
    require(threshold is None or threshold >= 0 or not link.positive,
            f"the threshold {threshold} is negative, but under link {link.name!r} every rate is "
            "positive and exceeds it; give a threshold of zero or more, or "
            + option("link", "identity"))


def check_folds(spec: Spec, ds: xr.Dataset) -> None:
    """Refuse folds that the data do not allow, before the fit."""
    from workbench import evaluation  # here: it takes a second to load, and few runs need it

    require(spec.folds <= ds.sizes["bag"],
            f"expected 2 to {ds.sizes['bag']} folds, one area each at most, got {spec.folds}")
    evaluation.folds(ds, spec.folds, spec.folds_scheme, spec.seed)


def _cost(spec: BaseSpec, model, ds: xr.Dataset, folds: int, workers: int) -> str:
    if not isinstance(spec, Spec):
        return ""
    if hasattr(model, "estimate"):          # which tells it itself as its fit begins
        return f"{folds} folds follow, each about as long as the map" if folds else ""
    return cost_told(model, ds, folds, max(1, workers))


def _say(line: str) -> None:
    if line:
        print(line, file=sys.stderr)
