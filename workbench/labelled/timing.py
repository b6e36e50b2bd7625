"""How long an evaluation of an objective takes, for estimates before a fit starts."""

from __future__ import annotations

import time

import xarray as xr

from workbench.gp.data.bags import Source
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import MOST_FEATURES, VariationalState
from workbench.labelled.source import to_source

_EVALUATIONS = 300      # of the objective in a typical fit
_COPIES = 12            # arrays as large as the features that a fit holds at once, as measured


def evaluation_seconds(model, source: Source) -> float:
    """Seconds of one evaluation of a variational model's objective: `evaluation_cost`."""
    return evaluation_cost(model, source)[0]


def evaluation_cost(model, source: Source) -> tuple[float, int]:
    """Seconds of one evaluation of the objective, with its gradient in q, and entries of q's mean.

    Parameters
    ----------
    model : VBAgg
        The torch model.
    source : Source
        What it would be fitted to.
    """
    state = VariationalState(model, source)
    seen = state.project(state.learning).detach()
    mean, covariance = (part.requires_grad_() for part in state.narrow())
    state.objective(seen, mean, covariance).backward()      # what is loaded once is not counted
    started = time.perf_counter()
    state.objective(seen, mean, covariance).backward()
    return time.perf_counter() - started, len(mean)


def cost(model, ds: xr.Dataset) -> tuple[float, float] | None:
    """Roughly how many seconds and bytes a fit takes; None of models that nobody knows it of.

    Parameters
    ----------
    model : LabelledModel
        `workbench.Auto`, whose largest candidate is what memory is counted of, an exact model of
        bags, or a variational model of one source.
    ds : xr.Dataset
        What it would be fitted to.
    """
    individuals, bags = ds.sizes["individual"], ds.sizes["bag"]
    if hasattr(model, "estimate"):
        return model.estimate(ds), auto_bytes(ds)
    if hasattr(model.torch_model, "cost"):
        return model._inner.cost(to_source(ds).bags)
    if not issubclass(model.torch_model, VBAgg):
        return None
    seconds, features = evaluation_cost(model._inner, to_source(ds))
    return _EVALUATIONS * seconds, _bytes(individuals, features, bags)


def auto_bytes(ds: xr.Dataset) -> float:
    """Roughly how many bytes the largest candidate of `workbench.Auto` takes: two smooth terms."""
    return _bytes(ds.sizes["individual"], 2 * VBAgg().options.inducing, ds.sizes["bag"])


def _bytes(individuals: int, features: int, bags: int) -> float:
    seen = min(individuals * features, MOST_FEATURES)
    return 8.0 * (_COPIES * seen + bags * features**2)


def cost_told(model, ds: xr.Dataset, folds: int = 0, workers: int = 1) -> str:
    """The cost of a fit, and of its cross-validation, in words; empty if nobody knows it.

    Parameters
    ----------
    model, ds
        As of `cost`.
    folds, workers : int
        Of cross-validation.
    """
    known = cost(model, ds)
    if known is None:
        return ""
    seconds, memory = known
    told = (f"{model.name}, {ds.sizes['individual']:,} individuals in {ds.sizes['bag']:,} areas: "
            f"about {duration(seconds)} and {memory / 2**30:.1f} GiB")
    if folds:
        more = seconds * (folds - 1) / min(workers, folds)
        told += f"; then {folds} folds, about {duration(more)}"
        told += f" on {workers} processes" if workers > 1 else ""
    return told


def duration(seconds: float) -> str:
    """Seconds in words: of a minute and a half or more in minutes, of two hours in hours."""
    if seconds < 90:
        return f"{max(1, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
