"""Choosing options on a grid: by the likelihood of validation bags, or by the training objective.

References
----------
Law et al. 2018, section 4: tuning by the validation bags' likelihood, the only information there
is; VBAgg-Obj by the training objective. Grids: the released code's scripts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch
from tqdm import tqdm

from workbench.checks import InputError, choose, reject, require, stops
from workbench.gp.data.bags import Source
from workbench.gp.models.baselines.scores import bag_nll
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation.training import scaled_callback

SELECTIONS = ("validation", "objective")


@dataclass(frozen=True)
class Tuned:
    """The best fit of a grid, and what became of every run.

    Parameters
    ----------
    fit : fit of the model
        The chosen one.
    options : dict
        Its options, those common to all runs included.
    runs : list of dict
        One row per run, in order: the options that vary; ``bag_nll`` and ``bag_nll_stirling`` of
        the validation bags (nats per bag, NaN without them); ``objective`` (nats); ``converged``,
        ``cancelled``, ``steps``, ``seconds``, ``chosen``, and ``error``, empty unless it failed.
    """

    fit: object
    options: dict
    runs: list[dict]


def expand(grid: Mapping[str, Iterable] | Iterable[Mapping]) -> list[dict]:
    """All option dicts of a grid: the product of its values, or the given list as it is.

    Raises
    ------
    InputError
        If the grid is empty, or a value of a mapping is not a sequence of options.
    """
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise reject(f"a sequence of values of {name}", repr(values),
                             f"write {name}=({values!r},)")
        found = [dict(zip(grid, values, strict=True))
                 for values in itertools.product(*grid.values())]
    else:
        found = [dict(options) for options in grid]
    require(len(found) > 0, "the grid holds no run; give every option at least one value")
    return found


def tune(
    model: type,
    grid: Mapping[str, Iterable] | Iterable[Mapping],
    train: Source,
    validation: Source | None = None,
    early_stop: Source | None = None,
    *,
    select: str = "validation",
    common: Mapping | None = None,
    progress: bool = False,
    callback: Callable[[int, float, float], None] | None = None,
) -> Tuned:
    """Fit a model with every option dict of a grid and keep the best fit.

    Parameters
    ----------
    model : type
        A model class of the registry, such as ``Nystrom`` or ``VBAgg``.
    grid : mapping of option to values, or sequence of option dicts
        A mapping stands for the product of its values.
    train, validation, early_stop : Source
        What is fitted to; what is selected on; what stops training early (only for models that
        can: VBAgg optimises a bound and does not).
    select : {"validation", "objective"}
        By the validation bags' exact negative log-likelihood (Stirling's chooses the same), or by
        the training objective, VBAgg-Obj. Objectives under different penalties or links are no
        measure of each other.
    common : mapping, optional
        Options of all runs.
    progress : bool
        Show a progress bar over the runs.
    callback : callable, optional
        ``callback(step, objective, fraction)`` of the run at work, with the fraction of the whole
        grid; if it raises `workbench.Cancelled`, the best finished run is returned.

    Returns
    -------
    Tuned
        A run that cannot be factorised is a row with its error, and is not chosen.

    Raises
    ------
    InputError
        If the data for the selection are missing, a model cannot stop early, an option is
        unknown, or no run could be fitted.
    """
    choose("selection", select, SELECTIONS)
    require(select == "objective" or validation is not None,
            "select='validation' needs validation bags; pass them, or use select='objective'")
    require(early_stop is None or model.stops_early,
            f"{model.name} does not stop early; leave early_stop out")
    common, runs, best = dict(common or {}), [], None
    todo = expand(grid)
    makers = [model(**common | varied) for varied in todo]  # unknown options fail before any run
    extra = {} if early_stop is None else {"early_stop": early_stop}
    for number, (varied, maker) in enumerate(
            zip(tqdm(todo, disable=not progress, desc=f"tune {model.name}", unit="run"), makers,
                strict=True)):
        share = scaled_callback(callback, number, len(todo))
        try:
            fit = maker.fit(train, callback=share, **extra)
            row = _row(fit, validation)
        except (FactorisationError, torch.linalg.LinAlgError) as error:
            runs.append(_failed(error) | {"options": varied})
            continue
        except stops():              # before anything was learnt
            if best is None:
                raise
            break
        runs.append(row | {"options": varied})
        score = row["bag_nll"] if select == "validation" else -row["objective"]
        # A run that was cut short stands in only until one is finished.
        rank = (row["cancelled"], score)
        if math.isfinite(score) and (best is None or rank < best[0]):
            best = (rank, fit, number)
        if row["cancelled"]:
            break
    if best is None:
        raise InputError(
            f"none of the {len(runs)} runs of {model.name} could be fitted and scored; the first: "
            f"{runs[0]['error'] or 'its score was not finite'}")
    table = [row.pop("options") | row | {"chosen": number == best[2]}
             for number, row in enumerate(runs)]
    return Tuned(best[1], common | todo[best[2]], table)


def _row(fit, validation: Source | None) -> dict:
    nll = None if validation is None else bag_nll(fit, validation)
    history = fit.history
    return {
        "bag_nll": float("nan") if nll is None else nll.exact,
        "bag_nll_stirling": float("nan") if nll is None else nll.stirling,
        "objective": fit.objective, "converged": history.converged,
        "cancelled": history.cancelled, "steps": len(history.objective),
        "seconds": history.elapsed, "error": "",
    }


def _failed(error: Exception) -> dict:
    nan = float("nan")
    return {"bag_nll": nan, "bag_nll_stirling": nan, "objective": nan, "converged": False,
            "cancelled": False, "steps": 0, "seconds": nan, "error": str(error)}
