"""Weights of candidates by areas recovered or held out, and a verdict beside simple maps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from workbench.checks import InputError, without_warnings
from workbench.evaluation.evidence import FLAT_MAP, FLAT_RATE
from workbench.labelled import stages
from workbench.labelled.candidates import Effort
from workbench.labelled.held_out import hold_out
from workbench.labelled.maps import BUDGET
from workbench.labelled.verdict import scored, verdict
from workbench.schema import BAG, INDIVIDUAL, aggregation, kind

GIVEN = "weights were given"           # the verdict on a mixture whose weights the user chose
_SAMPLES = 400          # joint draws of areas
_PRIOR = 5.0            # groups that the weights of all that is plausible are worth
# Of 8 simulated countries of each number of areas: 78 to 86 % in up to 7, 93 % in 8, 95 % in 9.
_VERY_FEW = 7
_NARROW = (" With so few areas intervals are likely too narrow: in simulations of counts 95 % "
           "intervals covered about 80 % of the true rates.")
_UNTESTED = " With so few areas nothing tests how wide intervals ought to be."
_LEAST = 0.02           # weights below are none: a bad model's long tails would show in any sd


@dataclass(frozen=True)
class Weighing:
    """Weights of the candidates, and what they rest on.

    Parameters
    ----------
    weights : dict of str to float
        By candidate; they sum to one.
    recovery : xr.Dataset or None
        ``error``, ``deviance`` and ``coverage_95`` (model, grouping), of candidates, mixture and
        simple maps.
    verdict : str
        The mixture beside the simple maps, in words.
    notes : tuple of str
        What went wrong on the way.
    simple_wins : bool
        Whether a simple map recovered the areas as well as the mixture, or better.
    untested : bool
        Whether there was nothing to weigh the candidates by.
    """

    weights: dict[str, float]
    recovery: xr.Dataset | None
    verdict: str
    notes: tuple[str, ...]
    simple_wins: bool = False
    untested: bool = False


def equal_weights(names: list[str], why: str = "the candidates were not tested", also: str = ""
                  ) -> Weighing:
    """All candidates alike, but for the flat one, which weighs as much as the others together.

    What cannot be tested should not be far from the simple map.
    """
    alike = {name: 1.0 for name in names}
    if "flat" in alike and len(names) > 1:
        alike["flat"] = len(names) - 1.0
    total = sum(alike.values())
    return Weighing({name: share / total for name, share in alike.items()}, None,
                    f"The candidates were not tested: {why}. The flat one weighs as much as the "
                    "others together; a simple map may be as good or better: compare them with "
                    f"wb.compare.{also}", (), untested=True)


def weigh(models: Mapping[str, object], ds: xr.Dataset, effort: Effort, seed: int, workers: int,
          progress: bool, callback: Callable | None, values: Mapping[str, Mapping] | None
          ) -> Weighing:
    """Let candidates and simple maps recover the areas from merged ones; weights by stacking.

    Positives out of trials, which cannot be drawn given those of their union, are predicted by
    models that are learnt anew without some of the areas, beside one share for all of them.

    Parameters
    ----------
    models : mapping of str to model
        The candidates, as they are fitted to the areas.
    ds : xr.Dataset
        Bagged dataset.
    effort : Effort
        Sizes and numbers of groupings.
    seed, workers, progress, callback
        As of `Auto`.
    values : mapping of str to mapping, or None
        Hyperparameters of the fits to the areas, at which merged ones are conditioned on; None to
        learn them again (``benchmarks/recovery.py`` compares the two).
    """
    from workbench.evaluation.grouping import FEWEST_AREAS, fewest_groups

    names, areas = list(models), ds.sizes[BAG]
    if not ds.sizes["covariate"] and "x" not in ds:
        return equal_weights(names, "there are neither covariates nor coordinates")
    if areas < FEWEST_AREAS:
        return equal_weights(names, f"{areas} area{'s are' if areas != 1 else ' is'} too few to "
                             "merge some and recover them; nothing tells which of them is right",
                             "" if areas > _VERY_FEW else
                             _NARROW if kind(ds) == "count" else _UNTESTED)
    if "trials" not in ds and fewest_groups(ds) >= areas:
        return equal_weights(names, "there is one area in each period, so that none can be merged "
                             "with a neighbour and recovered")

    def show(done: int, total: int, what: str) -> None:
        stages.at(stages.WEIGHING, done, total)
        if callback is not None:
            callback(done, float("nan"), done / total)

    options = {"samples": max(100, min(_SAMPLES, BUDGET // ds.sizes[INDIVIDUAL])), "seed": seed,
               "workers": workers, "progress": True if progress else show}
    with without_warnings():        # of fits to few areas
        if "trials" in ds:
            return _held_out(models, ds, effort, options)
        return _recovered(models, ds, effort, options, values)


def _held_out(models: Mapping[str, object], ds: xr.Dataset, effort: Effort, options: dict
              ) -> Weighing:
    names = list(models)
    try:
        found = hold_out(models, ds, effort.folds, **options)
        freely, plausible = (found.weights(names, shrink) for shrink in ("auto", np.inf))
    except InputError as error:
        return equal_weights(names, str(error))
    notes = tuple(f"{name}, areas held out {k + 1}: {error}"
                  for (name, k), error in found.errors.items())
    areas = found.areas(names)
    weights = _shrunk(names, freely, plausible, areas)
    return _judged(weights, found.scored(weights, options["seed"]), areas, notes)


def _recovered(models: Mapping[str, object], ds: xr.Dataset, effort: Effort, options: dict,
               values: Mapping[str, Mapping] | None) -> Weighing:
    from workbench.evaluation.baselines import simple_maps
    from workbench.evaluation.grouping import fewest_groups, groupings
    from workbench.evaluation.recovery.draws import recover_draws
    from workbench.evaluation.recovery.weights import recovery_weights

    names, areas, seed = list(models), ds.sizes[BAG], options["seed"]
    levels = sorted({max(fewest_groups(ds), round(share * areas)) for share in effort.shares})
    groups = groupings(ds, levels, effort.draws, seed)
    tested = dict(models) if values is None else {
        name: AsFitted(model, values[name]) for name, model in models.items()}
    # What a map of values that are no counts has to beat is the map of what areas were given as:
    # the flat model, of which draws preserve the values of the groups.
    name = FLAT_RATE if aggregation(ds) == "sum" else FLAT_MAP
    alike = {name: tested["flat"]} if "flat" in tested else {}
    everyone = tested | (simple_maps(ds) or alike)
    recovered = recover_draws(everyone, ds, groups, **options)
    try:
        found, plausible = (recovery_weights(recovered.sel(model=names), shrink).values
                            for shrink in ("auto", np.inf))
    except InputError as error:
        why = next((text for text in recovered["error"].values.ravel().tolist() if text), "")
        return equal_weights(names, f"{error} (the first: {why})" if why else str(error))
    # Groups are the units that tell the models apart, and they are not the map's own step.
    weights = _shrunk(names, found, plausible, float(recovered["group"].max()) + 1)
    notes = tuple(f"{name}, {level} groups, draw {draw}: {error}" for name in everyone
                  for level in recovered["level"].values for draw in recovered["draw"].values
                  if (error := recovered["error"].sel(model=name, level=level, draw=draw).item()))
    return _judged(weights, scored(recovered, weights, ds, seed), areas, notes)


def _shrunk(names: list[str], found: np.ndarray, plausible: np.ndarray, units: float
            ) -> dict[str, float]:
    """Weights that few units move little away from those of all that is plausible."""
    trust = units / (units + _PRIOR)
    shrunk = trust * found + (1 - trust) * plausible
    shrunk = np.where(shrunk >= _LEAST, shrunk, 0.0)
    return dict(zip(names, (shrunk / shrunk.sum()).tolist(), strict=True))


def _judged(weights: dict[str, float], recovery: xr.Dataset, areas: int, notes: tuple[str, ...]
            ) -> Weighing:
    told, simple_wins = verdict(recovery, areas)
    return Weighing(weights, recovery, told, notes, simple_wins)


class AsFitted:
    """A candidate with the hyperparameters of its fit to the areas, for totals of merged ones.

    Learnt again from a few merged areas they would test how little a model needs to be learnt, not
    how well it shares out a total.
    """

    def __init__(self, model, values: Mapping):
        self._model, self._values = model, dict(values)

    def __repr__(self) -> str:
        return f"{self._model!r} at {self._values}"

    def fit(self, ds: xr.Dataset):
        """Condition on the totals; nothing is trained."""
        return self._model.condition(ds, self._values)
