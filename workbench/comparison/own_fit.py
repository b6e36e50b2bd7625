"""What a model learns from the data's own values, kept where other outcomes are."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import xarray as xr

from workbench.checks import InputError
from workbench.evaluation.tasks import Outcome, Progress, Store, Task, attempt, fitted, outcomes
from workbench.schema import GEOMETRY


@dataclasses.dataclass
class Fitted(Outcome):
    """Hyperparameters that were fitted to the user's own values, as JSON."""

    hyperparameters: str = ""


def own_hyperparameters(model, ds: xr.Dataset, store: Store, progress: Progress,
                        otherwise: str = "") -> dict:
    """Hyperparameters that the model learns from the data's own values.

    Parameters
    ----------
    model : LabelledModel
        What is fitted.
    ds : xr.Dataset
        Bagged dataset.
    store : Store
        Where the outcome is kept.
    progress : bool or callable
        Whether to show a bar.
    otherwise : str
        What to do where the fit fails, for the message.

    Returns
    -------
    dict
        As `Fit.hyperparameters`.

    Raises
    ------
    InputError
        If the fit fails.
    """
    bare = ds.drop_vars(GEOMETRY, errors="ignore")
    task = Task("the data's own fit", store.file(model, np.array([-1])), (model, bare))
    found = next(iter(outcomes(_fit, Fitted, [task], progress=bool(progress))))
    if found.error:
        raise InputError(f"{model!r} cannot be fitted to the data's own values: {found.error}"
                         f"{otherwise}")
    return json.loads(found.hyperparameters)


def _fit(model, ds: xr.Dataset) -> Fitted:
    done = Fitted()
    with attempt(done):
        done.hyperparameters = json.dumps(fitted(model, ds, done).hyperparameters)
    return done
