"""What a map is worth, in plain words, from what was tested and what went wrong."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from workbench.checks.figures import figure
from workbench.comparison.tests import independent
from workbench.evaluation.evidence import (
    FEW,
    MOSTLY,
    TOO_FEW,
    TOO_NARROW,
    WHERE,
    of_recovery,
    width,
)
from workbench.evaluation.judgement import AMBER, GREEN, OPEN, RED, judge
from workbench.evaluation.judgement import Verdict as Judged
from workbench.labelled.caveats import FAR_OFF, far_off
from workbench.pipeline.base import FIRST
from workbench.pipeline.scoring import is_scored, scores
from workbench.schema import counts_add_up

GOOD, CARE, BAD = "good", "care", "bad"
ASSUMED = ("No test of totals can see inside the areas: the map takes for granted that what tells "
           "areas apart tells places inside them apart in the same way.")
_LIGHTS = {GREEN: GOOD, AMBER: CARE, RED: BAD, OPEN: CARE}
_MARKS = {GOOD: "✓", CARE: "!", BAD: "✗"}


@dataclass(frozen=True)
class Point:
    """One thing to know before the map is used."""

    kind: str
    text: str

    @property
    def mark(self) -> str:
        """A sign for those who see no colours."""
        return _MARKS[self.kind]


@dataclass(frozen=True)
class Verdict:
    """One sentence, and the points that it rests on."""

    kind: str
    sentence: str
    points: list[Point]


def verdict_of(maps: xr.Dataset, card: dict[str, Any], *, compared: xr.Dataset | None = None,
               recovered: xr.Dataset | None = None, judged: Judged | None = None) -> Verdict:
    """Whether a map can be relied on, by what was tested and what is known to be wrong.

    Parameters
    ----------
    maps : xr.Dataset
        A map.
    card : dict
        Of its model; may be empty.
    compared : xr.Dataset, optional
        ``data`` of a `Comparison`.
    recovered : xr.Dataset, optional
        From `workbench.recover`.
    judged : workbench.evaluation.judgement.Verdict, optional
        What the app said of the map: the report says it in the same words, with the same light.

    Returns
    -------
    Verdict
        Bad if the fit failed or a simple map predicts as well; good if a test speaks for the map
        and nothing against it; with care otherwise.
    """
    if judged is not None:
        return Verdict(_LIGHTS[judged.light], judged.sentence, _beside(judged, maps, card))
    tests = [*_held_out(maps), *_weighed(card), *_compared(compared, card),
             *_recovered(maps, recovered, card)]
    tested = any(point.kind == GOOD for point in tests)
    points = [*_training(maps, card), *tests]
    if not tests:
        told = ("Score it on held-out areas (--cv 10), and set it against simple maps (workbench "
                "compare)." if can_be_scored(maps) else "Learn from a part of the data, and see "
                "whether the map predicts the rest.")
        points.append(Point(CARE, f"Nothing has tested this map. {told}"))
    points += _limits(maps, card)
    if any(p.kind == BAD for p in points):
        return Verdict(BAD, "Do not rely on this map as it is.", points)
    cares = sum(p.kind == CARE for p in points)
    if tested and not cares:
        return Verdict(GOOD, "The tests that were run speak for this map.", points)
    things = "one thing" if cares == 1 else f"{cares} things"
    start = "The tests speak for this map, but know" if tested else "Use this map with care: know"
    return Verdict(CARE, f"{start} {things} first.", points)


def _beside(judged: Judged, maps: xr.Dataset, card: dict[str, Any]) -> list[Point]:
    """What a verdict says against the map, and what is known beside what it rests on."""
    if judged.light == OPEN:
        return [*_training(maps, card), *_weighed(card), *_limits(maps, card)]
    found = [Point(CARE, f"{one[:1].upper()}{one[1:]}.") for one in judged.reasons]
    return [*found, *_odd(maps)]


def can_be_scored(maps: xr.Dataset) -> bool:
    """Whether the command that made a map could have scored it on held-out areas."""
    return json.loads(maps.attrs.get("spec", "{}")).get("command", FIRST) == FIRST


def _training(maps: xr.Dataset, card: dict[str, Any]) -> list[Point]:
    found = []
    if maps.attrs.get("partial"):
        found.append(Point(CARE, f"It is not finished: {maps.attrs['partial']}."))
    elif maps.attrs.get("cancelled") == "True":
        found.append(Point(CARE, "The fit was stopped early; what is shown is the best so far."))
    if card.get("failed"):
        found.append(Point(BAD, "The optimisation failed: a simpler model, which this one "
                           "includes, explains the data better."))
    elif maps.attrs.get("converged") == "False" and maps.attrs.get("cancelled") != "True":
        found.append(Point(CARE, "Training has not converged; see the section on convergence for "
                           "the cause and what to try."))
    said = next((str(one) for one in card.get("notes", ()) if str(one).startswith(FAR_OFF)), "")
    if said:            # of the fit, which effects of areas given their totals would conceal
        found.append(Point(BAD, f"{said[0].upper()}{said[1:]}."))
    elif "bag_mean" in maps and "value" in maps and "trials" not in maps and counts_add_up(maps):
        said = far_off(float(maps["bag_mean"].sum()), float(maps["value"].sum()))
        found += [Point(BAD, f"{said[0].upper()}{said[1:]}.")] if said else []
    return found


def _held_out(maps: xr.Dataset) -> list[Point]:
    """The model beside the flat one on areas held out, fold by fold."""
    if not is_scored(maps):
        return []
    result = scores(maps)
    names = [str(n) for n in result["model"].values]
    main = next((n for n in ("crps", "rmse") if n in result["score"].values), None)
    model = next((n for n in names if n != "constant"), None)
    if main is None or model is None:
        return []
    at = result["scores"].sel(target="bag", score=main)
    ours, flat = float(at.sel(model=model)), float(at.sel(model="constant"))
    if not np.isfinite([ours, flat]).all():
        return [Point(CARE, "Held-out areas: some models have no scores; see the notes there.")]
    title = str(result["score_title"].sel(score=main).item())
    said = f"Held-out areas: {title} {figure(ours, 3)} against {figure(flat, 3)} of one flat rate"
    wins = _folds(result, main, model)
    if wins:
        said += f", better in {wins[0]} of {wins[1]} folds"
    most = not wins or wins[0] > wins[1] / 2
    found = [Point(GOOD, f"{said}.") if ours < flat and most else Point(
        BAD if ours >= flat else CARE, f"{said}. A flat map predicts areas "
        f"{'as well' if ours >= flat else 'nearly as well'}: prefer it unless there is a reason "
        "not to, or look for covariates that tell areas apart.")]
    if "coverage_95" in result["score"].values:
        share = float(result["scores"].sel(target="bag", score="coverage_95", model=model)) / 100
        tested = int(result["units_scored"].sel(target="bag").max()
                     if "units_scored" in result else 0)
        found += _covered(share, "of held-out areas", tested)
    return found


def _covered(share: float, where: str, tested: int = 0) -> list[Point]:
    """What the coverage of 95 % intervals of so many areas says; 0 if that is not known."""
    if not np.isfinite(share):
        return []
    said = f"Its 95 % intervals cover {share:.0%} {where}"
    found = width(share, tested)
    if found == "narrow":
        return [Point(BAD if share < TOO_NARROW else CARE, f"{said}: they are too narrow.")]
    return [Point(GOOD, f"{said}: wider than need be." if found == "wide" else f"{said}.")]


def _folds(result: xr.Dataset, main: str, model: str) -> tuple[int, int] | None:
    """In how many folds the model is better than the flat one, and of how many."""
    if "fold_scores" not in result:
        return None
    each = result["fold_scores"].sel(score=main)
    if "target" in each.dims:
        each = each.sel(target="bag")
    gap = (each.sel(model=model) - each.sel(model="constant")).values
    gap = gap[np.isfinite(gap)]
    return (int((gap < 0).sum()), gap.size) if gap.size else None


def _weighed(card: dict[str, Any]) -> list[Point]:
    """What a mixture found when it recovered the known areas."""
    if "verdict" not in card or card.get("weighed") == "given":
        return []
    if card.get("weighed") != "recovered":      # untested, or a card of an earlier version
        return [Point(CARE, str(card["verdict"]))]
    share = card.get("recovery_coverage")           # None of cards of earlier versions
    share = 1.0 if share is None else share
    areas = int(card.get("areas") or FEW)
    narrow = share < TOO_NARROW and width(share, areas) == "narrow"
    weak = card["not_surely_worse"] or areas < FEW
    kind = BAD if card["as_good"] or narrow else CARE if weak else GOOD
    return [Point(kind, str(card["verdict"]))]


def _compared(data: xr.Dataset | None, card: dict[str, Any]) -> list[Point]:
    if data is None:
        return []
    use = str(data.attrs.get("recommended", ""))
    text = f"Compared with other models: {data.attrs.get('sentence', '')}"
    ours = _mine([use], card) == use != ""
    kind = GOOD if ours else BAD if use and use == data.attrs.get("baseline") else CARE
    covered = [] if not ours else [point for point in _there(data, use) if point.kind != GOOD]
    return [Point(kind, text), *covered]


def _there(data: xr.Dataset, use: str) -> list[Point]:
    """What intervals covered in the test that decides."""
    test = str(data["test"].values[0])
    share = float(data["scores"].sel(test=test, model=use, score="coverage_95"))
    return _covered(share, f"there ({test})", independent(data, test))


def _recovered(maps: xr.Dataset, data: xr.Dataset | None, card: dict[str, Any]) -> list[Point]:
    """The map's model beside the others that found known areas from merged ones."""
    if data is None or not data.attrs.get("sentence"):
        return []
    mine = _mine([str(name) for name in data["model"].values], card)
    how = "Areas held out" if WHERE in data.attrs else "Areas recovered from merged ones"
    if not mine:
        return [Point(CARE, f"{how}: {data.attrs['sentence']} "
                            "The model of this map is not among them.")]
    beyond = maps.get("extrapolation")
    outside = float((beyond > 1e-9).mean()) if beyond is not None and beyond.size else 0.0
    found = judge(of_recovery(data, mine), outside)
    said = f" But {'; '.join(found.reasons)}." if found.reasons else ""
    return [Point(_LIGHTS[found.light],
                  f"{how}: {found.sentence}{said}")]


def _mine(names: list[str], card: dict[str, Any]) -> str:
    """The name that the model of a map has in a comparison; empty if it is not there."""
    model = str(card.get("model", ""))
    return next((name for name in names if name == model or name.startswith(f"{model}:")), "")


def _limits(maps: xr.Dataset, card: dict[str, Any]) -> list[Point]:
    known = maps.sizes.get("bag", 0) if "individual" in maps.sizes else 0   # of totals no areas
    found, areas = [], int(card.get("areas") or known)
    beyond = maps.get("extrapolation")
    if beyond is not None and beyond.size:
        share = float((beyond > 1e-9).mean())
        if share > MOSTLY:
            found.append(Point(CARE, f"{share:.0%} of the individuals lie beyond what the areas' "
                               "means have seen of some covariate: there the map extrapolates "
                               "(see its map)."))
    if 0 < areas < TOO_FEW:
        found.append(Point(CARE, f"{areas} areas are too few to test what a map says inside them."))
    elif areas < FEW and areas:
        found.append(Point(CARE, f"{areas} areas make a weak test of any map."))
    return [*found, *_odd(maps)]


def _odd(maps: xr.Dataset) -> list[Point]:
    found = []
    sanity = str(maps.attrs.get("sanity", "none"))
    if sanity not in ("none", "not looked at", ""):
        for line in filter(None, (re.sub(r"^[-•]\s*", "", one) for one in sanity.split("\n"))):
            found.append(Point(CARE, f"The data look odd: {line}"))
    return found
