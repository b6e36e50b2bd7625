"""Fits of the models that `Auto` weighs: one after the other, or several at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate

from workbench.checks import (
    Cancelled,
    ConvergenceWarning,
    FitWarning,
    InputError,
    recorded_warnings,
    stops,
    warn,
)
from workbench.gp.data.bags import Source
from workbench.gp.kernels.grammar import written
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation import checkpoint
from workbench.gp.optimisation.convergence import doubtful
from workbench.gp.optimisation.training import scaled_callback
from workbench.labelled import stages
from workbench.labelled.fit import Fit
from workbench.labelled.source import Converted

_SLOPES = {"constant", "linear"}


def fit_candidates(models: Mapping[str, object], data: Converted, workers: int, averaged: bool,
                   progress: bool, callback: Callable | None
                   ) -> tuple[dict[str, Fit], list[str], bool]:
    """Fit every candidate; those that fail are left out, and it is noted why.

    Parameters
    ----------
    models : mapping of str to VBAgg
        By name.
    data : Converted
        What they are fitted to.
    workers : int
        Processes; averaged fits have too many parts to be sent about, and stay in this one.
    averaged : bool
        Whether fits are averaged over their hyperparameters.
    progress : bool
        Show a bar.
    callback : callable or None
        As of ``fit``.

    Returns
    -------
    fits : dict of str to Fit
        By name.
    notes : list of str
        On those that failed, and what fits warned of.
    stopped : bool
        Whether the work was stopped.
    """
    from tqdm import tqdm

    from workbench.evaluation.parallel import completed

    source, fits, notes, done = data.source(), {}, [], 0
    inside = workers == 1 or averaged
    shares = {name: _work(model.options.kernel) for name, model in models.items()}
    shares = {name: work / sum(shares.values()) for name, work in shares.items()}
    ends = dict(zip(shares, accumulate(shares.values()), strict=True))
    tasks = [(name, model._inner, source,
              part_of(callback, ends[name] - shares[name], ends[name]) if inside else None,
              k if inside else None, len(models), checkpoint.place())
             for k, (name, model) in enumerate(models.items())]
    if not inside:
        stages.at(stages.FITTING, 0, len(models))
    try:
        with tqdm(total=len(tasks), disable=not progress, desc="models", unit="fit") as bar:
            for name, options, found, told, error in completed(fit_candidate, tasks,
                                                               1 if inside else workers):
                bar.update()
                done += 1
                if error:
                    notes.append(f"the candidate {name!r} failed and is left out: {error}")
                    continue
                model = models[name].settled_as(options)
                inner = found if inside else model._inner.recall(source, found)
                fits[name] = Fit(inner, model, data)
                notes += [f"{name}: {text}" for text in told]
                if fits[name].cancelled:
                    raise Cancelled
                if not inside:
                    stages.at(stages.FITTING, done, len(models))
                    if callback is not None:
                        callback(len(fits), inner.objective, done / len(models))
    except stops():
        if not fits:
            raise
        notes.append(f"cancelled: {len(fits)} of {len(models)} candidates are in the mixture")
        return fits, notes, True
    failed = [name for name, fit in fits.items() if fit.inner.history.failed]
    if failed and len(failed) < len(fits):
        notes.append(f"left out, as their optimisation failed: {', '.join(failed)} (likely "
                     "the totals tell too little for them; the others stand without them)")
    elif failed:
        warn("the optimisation of every candidate failed; do not use this fit. Likely a total "
             "or a weight is wrong by orders of magnitude: look for it in the data, or set "
             "simple maps against each other with wb.compare(ds)", ConvergenceWarning)
        failed = []
    return ({name: fits[name] for name in models if name in fits and name not in failed}, notes,
            False)


def _work(kernel: str) -> float:
    """How long a fit takes, by its smooth terms: slopes take little, two almost three times one."""
    smooth = sum(any(name not in _SLOPES for name, _, _ in term) for term in written(kernel))
    return 0.1 + smooth**1.5


def part_of(callback: Callable | None, low: float, high: float) -> Callable | None:
    """A callback for the part of the work from one share of the whole to another.

    Parameters
    ----------
    callback : callable or None
        Told of the whole; None of None.
    low, high : float
        Shares.
    """
    if callback is None:
        return None
    scaled = scaled_callback(callback, 0, 1)
    return lambda step, objective, fraction: scaled(step, objective,
                                                    low + (high - low) * fraction)


def fit_candidate(name: str, model, source: Source, callback: Callable | None,
                  number: int | None, total: int, where: checkpoint.Place | None = None):
    """One candidate's fit; for another process as what it can be recalled from.

    Parameters
    ----------
    name : str
        Of the candidate.
    model : VBAgg
        Torch model.
    source : Source
        What it is fitted to.
    callback : callable or None
        As of ``fit``.
    number : int or None
        Of the candidate among all, from zero, whose fit itself is wanted; None for another process.
    total : int
        Number of candidates.
    where : Place or None
        Where its checkpoint is kept.

    Returns
    -------
    name, options, fit or Kept or None, warnings, error
        Options as the fit has them, None where it failed.
    """
    if number is not None:
        stages.at(stages.FITTING, number, total, name)
    with recorded_warnings() as said, checkpoint.kept(where):
        try:
            fit = model.fit(source, callback=callback)
        except (InputError, FactorisationError, ArithmeticError, RuntimeError) as error:
            return name, None, None, [], f"{type(error).__name__}: {error}"
    kinds = (FitWarning, ConvergenceWarning)
    told = list(dict.fromkeys(str(w.message) for w in said if issubclass(w.category, kinds)))
    told += doubtful(fit.history.notes)
    return name, fit.model.options, fit.keep() if number is None else fit, told, ""


def reasons(notes: list[str]) -> str:
    """Notes on candidates that failed, each reason once with all that failed by it.

    Parameters
    ----------
    notes : list of str
        As `Auto` writes them.

    Returns
    -------
    str
        In one line.
    """
    names: dict[str, list[str]] = {}
    for note in notes:
        name, _, reason = note.removeprefix("the candidate ").partition(" failed and is left out: ")
        names.setdefault(reason or note, []).append(name)
    return "; ".join(f"{', '.join(which)} failed: {reason}" for reason, which in names.items())
