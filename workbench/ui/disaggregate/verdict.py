"""What the app's verdict on a map rests on: scores, doubts and faults of its fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from workbench.evaluation import judgement_words as words
from workbench.evaluation.evidence import FEW, SPLIT, Evidence
from workbench.evaluation.judgement import AMBER, GREEN, OPEN, RED, Verdict, judge
from workbench.labelled.verdict import standing
from workbench.plots.theme import OWN_BAG
from workbench.schema import counts_add_up
from workbench.ui.disaggregate import names

if TYPE_CHECKING:
    from workbench.labelled import Fit

__all__ = ["AMBER", "FLAT", "GREEN", "OPEN", "RED", "Verdict", "doubts_of", "doubts_of_mixture",
           "faults_of", "fine_target", "judge", "of_scores", "weighed_here", "with_split"]

FLAT = "one flat rate"


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


def with_split(scores: xr.Dataset, data: xr.Dataset, samples: int, flat: Fit) -> xr.Dataset:
    """Scores, and beside them those of the population split with intervals of its own.

    Parameters
    ----------
    scores : xr.Dataset
        From `workbench.evaluate`.
    data : xr.Dataset
        What was scored.
    samples : int
        Draws.
    flat : Fit
        Of the flat model, which is scored with the effects of areas that it has.

    Returns
    -------
    xr.Dataset
        With the attribute `names.EFFECTS`, ``membership`` and, of totals of counts whose truth is
        known, ``split_crps``, both (individual,).
    """
    from workbench.evaluation.baselines import PopulationSplit
    from workbench.evaluation.units import crps_of

    scores = scores.assign(membership=("individual", data["membership"].values))
    scores.attrs[names.EFFECTS] = "area.std" in flat.hyperparameters
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


def faults_of(fit: Fit) -> tuple[str, ...]:
    """What makes a fit useless whatever its scores.

    Parameters
    ----------
    fit : Fit
    """
    from workbench.labelled.caveats import FAR_OFF

    failed = (words.FAILED,) if fit.inner.history.failed else ()
    return (*failed, *(note for note in fit.notes if note.startswith(FAR_OFF)))


def weighed_here(fit: Fit) -> bool:
    """Whether a fit is of a mixture that has the test by which its models were weighed.

    Parameters
    ----------
    fit : Fit
        Of any model.
    """
    from workbench.labelled import AutoFit

    return isinstance(fit, AutoFit) and fit.recovery is not None


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
