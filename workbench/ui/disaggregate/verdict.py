"""The verdict on a map: whether it beats simple maps and its intervals cover what they say.

A light is green only where a test was run, no simple map is as good, the difference is more than
chance, and the intervals cover what they say. It is red where a simple map is better by more than
chance, or intervals cover far too little.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from workbench.evaluation.evidence import (
    FEW,
    MOSTLY,
    NARROW,
    SPLIT,
    TOO_NARROW,
    WIDE,
    Evidence,
    standing_of,
)
from workbench.labelled.verdict import standing
from workbench.plots.theme import OWN_BAG
from workbench.schema import counts_add_up
from workbench.ui.disaggregate import messages
from workbench.ui.disaggregate import verdict_words as words

if TYPE_CHECKING:
    from workbench.labelled import Fit

GREEN, AMBER, RED, OPEN = "green", "amber", "red", "open"
FLAT = "one flat rate"


@dataclass(frozen=True)
class Verdict:
    """A traffic light, one sentence, and what kept the light from green.

    Parameters
    ----------
    light : {"green", "amber", "red", "open"}
        Open: nothing has tested the map yet.
    sentence : str
    reasons : tuple of str
    """

    light: str
    sentence: str
    reasons: tuple[str, ...] = ()


def judge(found: Evidence, outside: float, doubts: tuple[str, ...] = ()) -> Verdict:
    """The verdict on a map that was tested.

    Parameters
    ----------
    found : Evidence
    outside : float
        Share of the individuals for which the map extrapolates.
    doubts : tuple of str
        What else speaks against trusting it.
    """
    doubts, light = list(doubts), GREEN
    known, better, tied, unsure, alone = standing_of(found)
    if not np.isfinite(found.ours) or not np.isfinite(found.coverage) or not known:
        return Verdict(AMBER, messages.NO_SCORES, tuple(doubts))
    if unscored := [name for name in found.rivals if name not in known]:
        doubts.insert(0, words.not_scored(unscored))
    if alone:
        doubts.insert(0, words.maps_alone(alone))
    if found.coverage < NARROW:
        doubts.append(words.TOO_NARROW)
    elif found.coverage > WIDE:
        doubts.append(words.WIDER)
    if outside > MOSTLY:
        doubts.append(words.MOSTLY_BEYOND)
    if better or found.coverage < TOO_NARROW:
        light = RED
    elif doubts or tied or unsure:
        light = AMBER
    first, say = _opening(light, known, better, tied, unsure)
    for names, opens, told in ((unsure, words.unsure, words.may_be_chance),
                               (tied, words.no_better, words.as_good_within_error)):
        others = [name for name in names if say is not opens or name != first]
        if not better and others:
            doubts.insert(0, told(others))
    change = words.gap(found.ours, known[first][0])
    sentence = (f"{say(first, found.score, change)} {words.covers(found.coverage, found.where)} "
                f"{messages.beyond(outside)}")
    return Verdict(light, sentence, tuple(doubts))


def _opening(light: str, known: Mapping, better: list[str], tied: list[str],
             unsure: list[str]) -> tuple[str, Callable[[str, str, str], str]]:
    """The simple map that a verdict names, and how it opens: never better than its light."""
    if better:
        return better[0], words.as_good
    usual = SPLIT if SPLIT in known else next(iter(known))
    if light == RED:
        return usual, words.unreliable
    if tied:
        return tied[0], words.no_better
    if unsure:
        return usual if usual in unsure else unsure[0], words.unsure
    return usual, words.beats if light == GREEN else words.better


def of_scores(scores: xr.Dataset, model: str) -> Evidence:
    """What the fine truth says: scores beside the population split and one flat rate.

    Parameters
    ----------
    scores : xr.Dataset
        From `engine.scores`, of data whose true rates or fine values are known.
    model : str
        Which of its models is judged.
    """
    from workbench.evaluation.area_scores import clustered_error

    target = fine_target([str(t) for t in scores["target"].values])
    each, groups = scores[f"{target}_crps"], scores["membership"].values
    splits = [each.sel(model=OWN_BAG).values] if OWN_BAG in scores["model"].values else []
    splits += [scores["split_crps"].values] if "split_crps" in scores else []
    rivals = {SPLIT: min(splits, key=np.mean)} if splits else {}
    if model != "constant":
        rivals[FLAT] = each.sel(model="constant").values
    ours = each.sel(model=model).values
    at = scores["scores"].sel(target=target, model=model)
    return Evidence(
        "CRPS", float(ours.mean()),
        {name: (float(one.mean()), clustered_error(one - ours, groups))
         for name, one in rivals.items()},
        float(at.sel(score="coverage_95")) / 100, words.WHERE[target])


def with_split(scores: xr.Dataset, data: xr.Dataset, samples: int) -> xr.Dataset:
    """Scores, and beside them those of the population split with intervals of its own.

    Parameters
    ----------
    scores : xr.Dataset
        From `workbench.evaluate`.
    data : xr.Dataset
        What was scored.
    samples : int
        Draws.

    Returns
    -------
    xr.Dataset
        With ``membership`` and, of totals of counts whose truth is known, ``split_crps``, both
        (individual,).
    """
    from workbench.evaluation.baselines import PopulationSplit
    from workbench.evaluation.units import crps_of

    scores = scores.assign(membership=("individual", data["membership"].values))
    fine = [str(t) for t in scores["target"].values if t != "bag"]
    if not fine or not counts_add_up(data):
        return scores
    target = fine_target(fine)
    split = PopulationSplit().fit(data).given_totals()
    return scores.assign(split_crps=("individual", crps_of(split, data, target, samples, 0)))


def fine_target(targets: list[str]) -> str:
    """Which of the targets of scores the truth of the map is: the true rate where it is known."""
    return "rate" if "rate" in targets else "individual"


def doubts_of(kind: str, areas: int, converged: bool) -> tuple[str, ...]:
    """What speaks against trusting a fit whatever its scores.

    Parameters
    ----------
    kind : str
        How the maps were come by, see `engine.Answer`.
    areas : int
        Number of areas.
    converged : bool
        Whether training met its tolerance.
    """
    said = []
    if kind == "stopped":
        said.append(words.STOPPED)
    elif not converged:
        said.append(words.NOT_CONVERGED)
    if areas < FEW:
        said.append(words.few(areas))
    return tuple(said)


def doubts_of_mixture(fit: Fit) -> tuple[str, ...]:
    """What a mixture's own verdict on itself speaks against: the one that its report prints.

    Parameters
    ----------
    fit : Fit
        Of any model; only mixtures (`workbench.AutoFit`) have such a verdict.
    """
    from workbench.labelled import AutoFit
    from workbench.labelled.weighing import GIVEN

    if not isinstance(fit, AutoFit):
        return ()
    if fit.recovery is None:
        return (words.GIVEN if fit.verdict == GIVEN else words.NOT_WEIGHED,)
    _, better, tied, unsure, alone = standing(fit.recovery)
    if better:
        return (words.better_when_weighed(better),)
    if tied:
        return (words.no_better_when_weighed(tied),)
    unsure = [*unsure, *map(words.by_the_map_alone, alone)]
    return (words.may_be_chance_when_weighed(unsure),) if unsure else ()
