"""What the app's verdict on a map rests on: scores, doubts and faults of its fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from workbench.evaluation import judgement_words as words
from workbench.evaluation.evidence import FEW, SPLIT, Evidence
from workbench.evaluation.judgement import AMBER, GREEN, OPEN, RED, Verdict, judge
from workbench.labelled.verdict import standing
from workbench.plots.theme import OWN_BAG
from workbench.schema import counts_add_up
from workbench.ui.base.messages import sentence
from workbench.ui.disaggregate import names

if TYPE_CHECKING:
    from workbench.labelled import Fit

__all__ = ["AMBER", "FLAT", "GREEN", "OPEN", "RED", "Beside", "Verdict", "beside", "doubts_of",
           "doubts_of_mixture", "faults_of", "fine_target", "in_full", "judge", "of_scores",
           "reasons_of", "said_once", "scores_of", "weighed_here"]

FLAT = "one flat rate"
_PRAISE = ("Beats ", "Better than ")        # how `judgement_words.beats` and `better` open


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


@dataclass(frozen=True)
class Beside:
    """What stands beside every fit of the same data, scored once for all of them.

    Parameters
    ----------
    flat : Fit
        Of the flat model.
    scored : dict
        Of the flat model and the areas' own rates: see `workbench.comparison.assessment.assemble`.
    split : array (individual,), optional
        CRPS of the population split with intervals of its own; of totals of counts whose truth is
        known.
    """

    flat: Fit
    scored: Mapping[str, dict[str, xr.Dataset]]
    split: np.ndarray | None


def beside(data: xr.Dataset, flat: Fit, samples: int) -> Beside:
    """Score what needs no fit on data with so many draws, and the flat model's fit to them."""
    from workbench.comparison.assessment import score_all
    from workbench.evaluation.baselines import PopulationSplit
    from workbench.evaluation.units import crps_of, targets

    fine, split = [target for target in targets(data) if target != "bag"], None
    if fine and counts_add_up(data):
        fit = PopulationSplit().fit(data).given_totals()
        split = crps_of(fit, data, fine_target(fine), samples, 0)
    return Beside(flat, score_all({"constant": flat}, data, samples), split)


def scores_of(fit: Fit, data: xr.Dataset, others: Beside, samples: int) -> xr.Dataset:
    """Scores of a fit as of `workbench.evaluate`, and beside them those of the population split.

    Parameters
    ----------
    fit : Fit
        Scored with so many draws as the others.
    data : xr.Dataset
        What is scored.
    others : Beside
        On the same data; the flat model's is left out where ``fit`` is one.
    samples : int
        Draws.

    Returns
    -------
    xr.Dataset
        With the attribute `names.EFFECTS`, whether the flat model has effects of areas,
        ``membership`` and, of totals of counts whose truth is known, ``split_crps``, both
        (individual,).
    """
    from workbench.comparison.assessment import assemble
    from workbench.evaluation.units import score_units, targets
    from workbench.gp.kernels.persistent import VARIANCE
    from workbench.labelled.once import converted_once

    name = fit.model.name
    with converted_once():
        own = score_units(fit, data, targets(data), samples, 0)
    scores = assemble({name: own} | {other: units for other, units in others.scored.items()
                                     if other != name}, data, pinned=True)
    flat = fit if name == "constant" else others.flat
    scores.attrs[names.EFFECTS] = bool({"area.std", VARIANCE} & set(flat.hyperparameters))
    scores = scores.assign(membership=("individual", data["membership"].values))
    return scores if others.split is None else scores.assign(
        split_crps=("individual", others.split))


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


def said_once(found: Verdict) -> Verdict:
    """A verdict without reasons that say of an earlier test what its sentence opens with.

    Parameters
    ----------
    found : Verdict

    Examples
    --------
    >>> told = Verdict(AMBER, words.unsure("share of all areas", "CRPS", "−2 %"),
    ...                (words.may_be_chance_when_weighed(["share of all areas"]), words.few(9)))
    >>> said_once(told).reasons
    ('9 areas are a weak test',)
    """
    return replace(found, reasons=tuple(
        one for one in found.reasons if not (said := one.partition(" it was ")[2])
        or not found.sentence.lower().startswith(said.lower())))


def in_full(found: Verdict) -> str:
    """A verdict as the page says it, its sentence with what stands below it.

    Parameters
    ----------
    found : Verdict

    Examples
    --------
    >>> in_full(Verdict(AMBER, "Better than the population split, with doubts: …", ("a", "b")))
    'Better than the population split, with doubts: … But a; b.'
    """
    return f"{found.sentence} {reasons_of(found)}".strip()


def reasons_of(found: Verdict) -> str:
    """What stands below the sentence of a verdict, which it contradicts only where that is praise.

    Parameters
    ----------
    found : Verdict

    Examples
    --------
    >>> reasons_of(Verdict(AMBER, "Better than the population split, with doubts: …", ("a", "b")))
    'But a; b.'
    >>> reasons_of(Verdict(AMBER, "Not clearly better than the population split: …", ("a", "b")))
    'A; b.'
    """
    if not found.reasons:
        return ""
    said = "; ".join(found.reasons)
    return f"But {said}." if found.sentence.startswith(_PRAISE) else f"{sentence(said)}."
