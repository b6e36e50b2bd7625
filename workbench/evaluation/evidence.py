"""What a test says of a map beside simple maps, and from where on that is good, doubtful or bad.

The thresholds stand here once, for the mixture of `workbench.Auto`, reports and apps alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import xarray as xr

#: Names of the simple maps of totals of counts, see `workbench.evaluation.baselines.simple_maps`.
SPLIT, GLM = "population split", "GLM on totals"
#: Those of means, and of totals of other values, for which these have no meaning: each place has
#: its area's mean, or its rate per unit of weight; where areas are merged, that of their group.
FLAT_MAP, FLAT_RATE = "areas' own means", "areas' own rates"
#: Standard errors by which a map must be ahead of a simple one to be called surely better.
SURE = 3.0
#: Coverage of 95 % intervals that are too narrow to rely on, too narrow, and wider than need be.
TOO_NARROW, NARROW, WIDE = 0.80, 0.90, 0.99
_CHANCE = 0.05
#: Share of the individuals beyond what areas have seen from which it is said.
MOSTLY = 0.5
#: Attribute of a test that says what was predicted, where areas were not merged and recovered.
WHERE = "where"
_MERGED = "of the held-out areas (merged, then predicted from their groups' totals)"
#: Areas below which nothing can be tested, and below which a test is weak.
TOO_FEW, FEW = 10, 30


@dataclass(frozen=True)
class Evidence:
    """What a test says of a map.

    Parameters
    ----------
    score : str
        Name of the score, of which less is better.
    ours : float
    rivals : mapping of str to (float, float)
        Of each simple map its score, and the standard error of the difference; where that is not
        known, NaN, nothing is sure.
    coverage : float
        Share of the truth inside 95 % intervals.
    where : str
        What was predicted, such as "of the true rates".
    maps : mapping of str to (float, float)
        Of each simple map by how much the error of its map alone, without intervals, is more, and
        the standard error of that.
    tested : int
        On how many areas the coverage rests; 0 of individuals, whose errors depend on each other.
    """

    score: str
    ours: float
    rivals: Mapping[str, tuple[float, float]]
    coverage: float
    where: str
    maps: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    tested: int = 0


class Standing(NamedTuple):
    """How a map stands beside the simple ones that have a score.

    Attributes
    ----------
    known : dict of str to (float, float)
        Score and standard error of the difference.
    better : list of str
        Those that are better, and not within error, the best first.
    tied : list of str
        Others that are as good or better, but within `SURE` standard errors, the best first.
    unsure : list of str
        Others that the map does not beat by `SURE` standard errors.
    alone : list of str
        Others that it beats with its intervals, but not surely by the maps alone.
    """

    known: dict[str, tuple[float, float]]
    better: list[str]
    tied: list[str]
    unsure: list[str]
    alone: list[str]


def standing_of(found: Evidence) -> Standing:
    """Which simple maps are better, as good within error, or not surely worse.

    Parameters
    ----------
    found : Evidence

    Returns
    -------
    Standing
    """
    known = {name: pair for name, pair in found.rivals.items() if np.isfinite(pair[0])}
    ahead = sorted((n for n in known if known[n][0] <= found.ours), key=lambda n: known[n][0])
    tied = [n for n in ahead if within_error(found.ours - known[n][0], known[n][1])]
    unsure = [n for n in known if n not in ahead
              and not surely(known[n][0] - found.ours, known[n][1])]
    alone = [n for n in known if n in found.maps and n not in ahead + unsure
             and not surely(*found.maps[n])]
    return Standing(known, [n for n in ahead if n not in tied], tied, unsure, alone)


def surely(lead: float, error: float) -> bool:
    """Whether a lead is more than chance; it is not where its standard error is not known.

    Parameters
    ----------
    lead, error : float
        Units of the score.

    Returns
    -------
    bool
    """
    return bool(lead > 0 and lead >= SURE * np.nan_to_num(error, nan=np.inf, posinf=np.inf))


def within_error(lead: float, error: float) -> bool:
    """Whether the lead of a simple map may be chance; where its error is not known, it counts.

    Parameters
    ----------
    lead, error : float
        Units of the score.

    Returns
    -------
    bool
        True also where the scores are the same.

    Examples
    --------
    >>> within_error(0.01, 0.5), within_error(2.0, 0.5), within_error(0.01, float("nan"))
    (True, False, False)
    """
    return lead <= 0 or bool(np.isfinite(error) and lead < SURE * error)


def width(coverage: float, tested: int = 0) -> str:
    """What the coverage of 95 % intervals says of their width, beyond what chance may have done.

    Parameters
    ----------
    coverage : float
        Share of truths inside.
    tested : int
        Of how many areas; 0 if not known, or of individuals: what is said rests on the share.

    Returns
    -------
    {"narrow", "wide", ""}
        Empty also where so few truths may be inside, or so many, of intervals that are right
        (binomial test at 5 %): of fewer than 59 truths all may be.

    Examples
    --------
    >>> width(0.8, 50), width(0.8, 5), width(1.0, 200), width(1.0, 40)
    ('narrow', '', 'wide', '')
    """
    if not np.isfinite(coverage) or NARROW <= coverage <= WIDE:
        return ""
    narrow = coverage < NARROW
    if tested:
        from scipy.stats import binomtest

        side = "less" if narrow else "greater"
        if binomtest(round(coverage * tested), tested, 0.95, side).pvalue > _CHANCE:
            return ""
    return "narrow" if narrow else "wide"


def of_recovery(recovered: xr.Dataset, model: str) -> Evidence:
    """What the known areas say, merged and found again from the totals of their groups.

    Parameters
    ----------
    recovered : xr.Dataset
        From `workbench.recover`, or of areas held out, which have an attribute `WHERE`.
    model : str
        Which of its models is judged; all others are rivals.

    Returns
    -------
    Evidence
    """
    main = recovered.attrs["headline"]
    at = recovered["scores"]
    rivals = {str(name): (float(at.sel(model=name, score=main)),
                          float(recovered["difference_error"].sel(model=model, other=name,
                                                                  score=main)))
              for name in recovered["model"].values if name != model}
    alone = "deviance" if "deviance" in recovered["score"].values else "squared_error"
    beside = recovered.sel(model=model, score=alone)
    maps = {name: (-float(beside["difference"].sel(other=name)),
                   float(beside["difference_error"].sel(other=name))) for name in rivals}
    title = str(recovered["score_title"].sel(score=main).item())
    return Evidence(title, float(at.sel(model=model, score=main)), rivals,
                    float(at.sel(model=model, score="coverage_95")),
                    recovered.attrs.get(WHERE, _MERGED),
                    maps, recovered.sizes["area"])
