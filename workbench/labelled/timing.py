"""How long a fit takes, and how much memory it and its map take, before it starts."""

from __future__ import annotations

import math
import time

import torch
import xarray as xr

from workbench import schema
from workbench.gp.data.bags import Source
from workbench.gp.fields.geometry import MOST_PAIRS
from workbench.gp.inference.parts import ENTRIES, in_parts, seen_in_learning
from workbench.gp.inference.trainers import closed_form
from workbench.gp.kernels.bag_between import summable
from workbench.gp.models.options import MOST_PERSISTENT, MOST_SURVEYED
from workbench.gp.models.vbagg.design import MOST_FEATURES, learns_on_clusters, with_inducing
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.models.vbagg.summed_out import aside
from workbench.labelled.candidates import inducing_of
from workbench.labelled.recurring import areas_with_effects
from workbench.labelled.source import to_source

_EVALUATIONS = 300      # of the objective in a typical fit
# Memory is measured by benchmarks/fit_memory.py: entries of each size that are held at once.
_WHOLE = 8.6            # features of individuals, where hyperparameters are learnt on all of them
_CLUSTERS, _MAP = 5.2, 4.2      # of clusters, where on these; and of individuals, for the map
_KEPT = 2.3             # of all, where a part of them is worked on at a time
_PAIRS, _BAG, _COLUMN = 1.2, 11_000, 5      # pairs inside bags; of each bag; of each covariate
_GRAMS = 2.3             # pairs of features of each bag, under the square link
_SQUARE = 40            # pairs of features
_ROWS = 4               # features of areas, which is what Normal values are learnt from
_FIXED = 2e7            # bytes of whatever else


def evaluation_seconds(model, source: Source) -> float:
    """Seconds of one evaluation of a variational model's objective: `evaluation_cost`."""
    return evaluation_cost(model, source)[0]


def evaluation_cost(model, source: Source) -> tuple[float, VariationalState]:
    """Seconds of one evaluation of the objective, with its gradients, and what was evaluated.

    Parameters
    ----------
    model : VBAgg
        The torch model.
    source : Source
        What it would be fitted to.
    """
    state = VariationalState(model, source)
    learnt = aside(state)
    if _closed(state):
        closed_form(state)
        started = time.perf_counter()
        value = closed_form(state)
        if value.requires_grad:
            value.backward()
        return time.perf_counter() - started, state
    seen = seen_in_learning(learnt).detach()
    mean, covariance = (part.requires_grad_() for part in learnt.narrow())
    learnt.objective(seen, mean, covariance).backward()     # what is loaded once is not counted
    started = time.perf_counter()
    learnt.objective(seen, mean, covariance).backward()
    return time.perf_counter() - started, state


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
    bags = ds.sizes["bag"]
    if hasattr(model, "estimate"):
        options = [one.options for one in model.candidates(ds).values()]
        summed = all(one.link == "identity" and "*" not in one.kernel for one in options)
        return model.estimate(ds), auto_bytes(ds, summed)
    if hasattr(model.torch_model, "cost"):
        return model._inner.cost(to_source(ds).bags)
    if not issubclass(model.torch_model, VBAgg):
        return None
    seconds, state = evaluation_cost(model._inner, to_source(ds))
    learning, whole = state.learning, state.geometry
    return _EVALUATIONS * seconds, _bytes(
        len(whole.x), whole.x.shape[1], len(state.field.q_mean), bags,
        None if learning is whole else len(learning.x), _pairs(learning.operator.bags.sizes),
        whole.x.element_size(), in_parts(state), int(learning.operator.bags.sizes.max()),
        state.link.name == "square", _by_area(state))


def _closed(state: VariationalState) -> bool:
    """Whether q has a closed form."""
    return state.likelihood.has_noise and state.link.linear


def _by_area(state: VariationalState) -> bool:
    """Whether learning needs features of areas alone: `aggregated_data` makes no others."""
    return _closed(state) and state.learning.clusters is None and all(
        term.finite_rank or summable(term) for term in state.field.terms)


def auto_bytes(ds: xr.Dataset, summed: bool = False) -> float:
    """Roughly how many bytes the largest candidate of `workbench.Auto` takes: two smooth terms.

    ``summed``: its candidates are of Normal values under the identity link, without products of
    kernels, so that covariances are summed over areas while pairs inside these are few.
    """
    individuals, columns = ds["covariates"].shape
    sizes = torch.bincount(torch.as_tensor(ds["membership"].values))
    options = with_inducing(VBAgg(inducing=inducing_of(ds)).options, sizes)
    clusters = sizes.clamp_max(options.compress)
    large = learns_on_clusters(sizes, options.compress)
    learnt = int(clusters.sum()) if large else individuals
    trials, counted = "trials" in ds, schema.counts_add_up(ds)
    areas = areas_with_effects(ds)
    lasting = 0 if areas is None else len(areas[0])
    apart = trials and lasting == len(sizes)
    most = MOST_SURVEYED if apart else MOST_PERSISTENT
    lasting = lasting if lasting <= most else 0
    return _bytes(individuals, columns + 2, 2 * options.inducing + lasting, len(sizes),
                  learnt if large else None, _pairs(clusters if large else sizes), 8,
                  counted and not trials, int((clusters if large else sizes).max()),
                  closed=summed and not lasting
                  and _pairs(clusters if large else sizes) < MOST_PAIRS)


def _pairs(sizes: torch.Tensor) -> float:
    """Pairs of individuals inside bags of these sizes, as far as they are kept one by one."""
    return min(float(sizes.double().square().sum()), MOST_PAIRS)


def _bytes(individuals: int, columns: int, features: int, bags: int, clusters: int | None,
           pairs: float, size: int, parts: bool, largest: int, square: bool = False,
           closed: bool = False) -> float:
    """Most bytes that a fit and its map hold at once, beside the packages and the data."""
    seen = min(individuals * features, MOST_FEATURES)
    learnt = seen if clusters is None else clusters * features
    count = min(max(math.ceil(learnt / ENTRIES), 1), bags) if parts else 1
    # A run has one bag at least, however large.
    run = min(max(learnt / count, largest * features), learnt)
    held = (_WHOLE if clusters is None else _CLUSTERS) * run + _KEPT * learnt * (count > 1)
    held = max(held, _MAP * seen) if clusters is None else held + _MAP * seen
    held += _BAG * bags / count
    if closed:
        held = _ROWS * bags * features + _MAP * seen
    held += _GRAMS * bags / count * features**2 * square + _SQUARE * features**2
    held += _PAIRS * pairs + _COLUMN * individuals * columns
    return _FIXED + size * held


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
