"""The verdict on a map: whether it beats simple maps and its intervals cover what they say.

A light is green only where a test was run, no simple map is as good, the difference is more than
chance, and the intervals cover what they say. It is red where a simple map is better by more than
chance, intervals cover far too little, or the fit itself failed. Pages and reports alike say this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from workbench.evaluation import judgement_words as words
from workbench.evaluation.evidence import (
    MOSTLY,
    SPLIT,
    TOO_NARROW,
    Evidence,
    standing_of,
    width,
)

GREEN, AMBER, RED, OPEN = "green", "amber", "red", "open"


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


def judge(found: Evidence, outside: float, doubts: tuple[str, ...] = (),
          faults: tuple[str, ...] = ()) -> Verdict:
    """The verdict on a map that was tested.

    Parameters
    ----------
    found : Evidence
    outside : float
        Share of the individuals for which the map extrapolates.
    doubts : tuple of str
        What else speaks against trusting it.
    faults : tuple of str
        What makes its fit useless whatever the scores are.
    """
    doubts, light = list(doubts), GREEN
    known, better, tied, unsure, alone = standing_of(found)
    if faults:
        return Verdict(RED, words.do_not_rely(faults[0]), (*faults[1:], *doubts))
    if not np.isfinite(found.ours) or not np.isfinite(found.coverage) or not known:
        return Verdict(AMBER, words.NO_SCORES, tuple(doubts))
    if unscored := [name for name in found.rivals if name not in known]:
        doubts.insert(0, words.not_scored(unscored))
    if alone:
        doubts.insert(0, words.maps_alone(alone))
    wide = width(found.coverage, found.tested)
    if wide:
        doubts.append(words.TOO_NARROW if wide == "narrow" else words.WIDER)
    if outside > MOSTLY:
        doubts.append(words.MOSTLY_BEYOND)
    if better or wide == "narrow" and found.coverage < TOO_NARROW:
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
                f"{words.beyond(outside)}")
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
