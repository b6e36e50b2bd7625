"""Where truths lie: the hyperparameters that they are drawn at, and the model that learns them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import xarray as xr

from workbench.checks import choose, require
from workbench.comparison.own_fit import own_hyperparameters
from workbench.evaluation.tasks import Progress, Store
from workbench.labelled.imagined import learnt, with_priors_of

_STEP = (5**0.5 - 1) / 2        # multiples of the golden ratio fill the unit interval evenly


class Kind(NamedTuple):
    """What some truths are drawn from.

    Parameters
    ----------
    name : str
        Of a candidate of a mixture; empty of a model by itself.
    model : LabelledModel
        The model.
    values : dict
        Hyperparameters by name; others are drawn from their priors.
    share : float
        Share of the truths.
    """

    name: str
    model: object
    values: dict
    share: float = 1.0


class Start(NamedTuple):
    """What all truths have in common.

    Parameters
    ----------
    kinds : list of Kind
        What truths are drawn from.
    refit : LabelledModel
        What is fitted to the truths' totals.
    learnt : dict of str to bool
        Hyperparameters that it learns, and which of them as a logarithm.
    all_given : bool
        Whether the user gave them all.
    """

    kinds: list[Kind]
    refit: object
    learnt: dict[str, bool]
    all_given: bool

    @property
    def values(self) -> dict:
        """Hyperparameters of the truths; of a mixture by candidate, with its share."""
        if not self.kinds[0].name:
            return self.kinds[0].values
        return {one.name: {"weight": one.share, "hyperparameters": one.values}
                for one in self.kinds}

    def kind(self, number: int, seed: int) -> Kind:
        """What one truth is drawn from: by share, spread as evenly as can be over the truths."""
        at = (0.5 + seed * _STEP**2 + number * _STEP) % 1
        below = np.cumsum([one.share for one in self.kinds])
        return self.kinds[min(int(np.searchsorted(below, at * below[-1])), len(self.kinds) - 1)]


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
    if hasattr(model, "candidates"):
        return _of_mixture(model, ds, truth, given, store, progress)
    require(getattr(getattr(model, "torch_model", None), "imagines", False),
            f"{model!r} has no prior that truths could be drawn from; use vbagg, auto, "
            "centre-point, constant or aggregated-gp")
    names = learnt(model, ds)
    for name in given:
        choose("hyperparameter that is learnt", name, names)
    values = {name: one["value"] if isinstance(one, Mapping) else one
              for name, one in given.items()}
    all_given = set(names) <= set(values)
    if truth == "prior":
        return Start([Kind("", model, values)], with_priors_of(model, ds), names, all_given)
    if not all_given:
        own = own_hyperparameters(model, ds, store, progress, "; use truth='prior'")
        values = {name: own[name]["value"] for name in names} | values
    return Start([Kind("", model, values)], model, names, all_given)


def _of_mixture(model, ds: xr.Dataset, truth: str, given: Mapping, store: Store,
                progress: Progress) -> Start:
    """Truths of the candidates that have any weight, each of as many as it weighs."""
    alone = "rehearse one candidate by itself, such as vbagg with its kernel"
    require(not given, f"{model.name} learns the hyperparameters of every candidate, and none of "
            f"its own can be given; {alone}")
    require(truth != "prior", f"{model.name} has no prior over its candidates; use "
            f"truth='fitted', or {alone}")
    models, own = model.candidates(ds), own_hyperparameters(model, ds, store, progress)
    kinds = [Kind(name, models[name], {key: value["value"] for key, value in
                                       one["hyperparameters"].items()}, one["weight"])
             for name, one in own.items() if one["weight"] > 0]
    return Start(sorted(kinds, key=lambda one: -one.share), model, {}, False)
