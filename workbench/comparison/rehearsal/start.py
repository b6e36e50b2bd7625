"""Where truths lie: the hyperparameters that they are drawn at, and the model that learns them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from workbench.checks import InputError, choose, require
from workbench.evaluation.tasks import Outcome, Progress, Store, Task, attempt, fitted, outcomes
from workbench.labelled.imagined import learnt, with_priors_of
from workbench.schema import GEOMETRY


class Start(NamedTuple):
    """What all truths have in common.

    Parameters
    ----------
    values : dict
        Hyperparameters by name; others are drawn from their priors.
    refit : LabelledModel
        What is fitted to the truths' totals.
    learnt : dict of str to bool
        Hyperparameters that it learns, and which of them as a logarithm.
    all_given : bool
        Whether the user gave them all.
    """

    values: dict
    refit: object
    learnt: dict[str, bool]
    all_given: bool


@dataclasses.dataclass
class Fitted(Outcome):
    """Hyperparameters that were fitted to the user's own values, as JSON."""

    hyperparameters: str = ""


def start_of(model, ds: xr.Dataset, truth: str, given: Mapping, store: Store,
             progress: Progress) -> Start:
    """Find the hyperparameters of the truths; fit to the user's own values if they are wanted.

    Parameters
    ----------
    model : LabelledModel
    ds : xr.Dataset
        Bagged dataset.
    truth : {"fitted", "prior", "posterior"}
    given : mapping
        Values that the user gives.
    store : Store
        Where the fit is kept.
    progress : bool or callable

    Returns
    -------
    Start

    Raises
    ------
    InputError
        If a given hyperparameter is unknown or fixed by the model, or the fit fails.
    """
    require(getattr(getattr(model, "torch_model", None), "imagines", False),
            f"{model!r} has no prior that truths could be drawn from; use vbagg, centre-point, "
            "constant or aggregated-gp")
    names = learnt(model, ds)
    for name in given:
        choose("hyperparameter that is learnt", name, names)
    values = {name: one["value"] if isinstance(one, Mapping) else one
              for name, one in given.items()}
    all_given = set(names) <= set(values)
    if truth == "prior":
        return Start(values, with_priors_of(model, ds), names, all_given)
    if all_given:
        return Start(values, model, names, all_given)
    bare = ds.drop_vars(GEOMETRY, errors="ignore")
    task = Task("the data's own fit", store.file(model, np.array([-1])), (model, bare))
    found = next(iter(outcomes(_fit, Fitted, [task], progress=bool(progress))))
    if found.error:
        raise InputError(f"{model!r} cannot be fitted to the data's own values, from which truths "
                         f"are to be drawn ({found.error}); use truth='prior'")
    own = json.loads(found.hyperparameters)
    return Start({name: own[name] for name in names} | values, model, names, all_given)


def _fit(model, ds: xr.Dataset) -> Fitted:
    done = Fitted()
    with attempt(done):
        fit = fitted(model, ds, done)
        done.hyperparameters = json.dumps(
            {name: one["value"] for name, one in fit.hyperparameters.items()})
    return done
