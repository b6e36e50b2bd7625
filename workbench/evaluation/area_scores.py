"""Scores of areas predicted from the totals of their groups, and how they differ between models."""

from __future__ import annotations

import numpy as np
from scipy import stats
from scipy.special import kl_div

from workbench.evaluation.calibration import covered_by_pit, pit
from workbench.evaluation.scoring import crps

TITLES = {
    "deviance": "pinned deviance", "squared_error": "squared error", "crps": "CRPS",
    "crps_sqrt": "CRPS of square roots", "log_score": "log score",
    "coverage_50": "50 % coverage", "coverage_80": "80 % coverage", "coverage_95": "95 % coverage",
}
COUNT_SCORES = ("deviance", "crps", "crps_sqrt", "log_score", "coverage_50", "coverage_80",
                "coverage_95")
VALUE_SCORES = ("squared_error", "crps", "log_score", "coverage_50", "coverage_80", "coverage_95")
_LEVELS = (0.5, 0.8, 0.95)


def headline(counts: bool) -> str:
    """The score by which models of counts, or of other values, are compared first."""
    return "crps_sqrt" if counts else "crps"


def square_root(values: np.ndarray) -> np.ndarray:
    """Square roots that keep the sign: the scale on which Poisson counts have one variance."""
    return np.sign(values) * np.sqrt(np.abs(values))


def score_areas(observed: np.ndarray, draws: np.ndarray, groups: np.ndarray, weight: np.ndarray,
                counts: bool, seed: int = 0) -> dict[str, np.ndarray]:
    r"""Scores of each area from joint draws that add up to the total of its group.

    Parameters
    ----------
    observed : array (area,)
    draws : array (sample, area)
    groups : int array (area,)
    weight : array (area,)
        Total weight of each area.
    counts : bool
        Whether values are counts that add up (else means, or continuous values).
    seed : int
        Of the randomised PIT.

    Returns
    -------
    dict of array (area,)
        NaN for an area alone in its group: its value is given. ``deviance`` is of the mean of the
        draws, with one draw more that is shared by weight, so that no mean is zero. ``log_score``
        is that of the beta-binomial share of the group's total with the mean and variance of the
        draws (of the normal distribution, for values that are not counts): smooth, where a mass
        function counted from draws is not. Coverage is that of the shares, 1 or 0, by the
        randomised PIT.
    """
    y, x = np.asarray(observed, dtype=float), np.asarray(draws, dtype=float)
    size = np.bincount(groups)
    total = np.bincount(groups, weights=y)[groups]
    share = weight / np.bincount(groups, weights=weight)[groups]
    out = {}
    mean, variance = x.mean(0), x.var(0, ddof=1)
    if counts:
        expected = (x.sum(0) + total * share) / (len(x) + 1)
        out["deviance"] = 2 * kl_div(y, expected)       # infinite where a mean is negative
        out["crps_sqrt"] = crps(square_root(y), square_root(x))
        out["log_score"] = _beta_binomial(y, total, expected, variance, len(x))
    else:
        out["squared_error"] = (mean - y) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            out["log_score"] = -stats.norm.logpdf(y, mean, np.sqrt(variance))
    out["crps"] = crps(y, x)
    inside = covered_by_pit(pit(y, x, seed), _LEVELS)
    out |= {f"coverage_{100 * level:.0f}": inside[i].astype(float)
            for i, level in enumerate(_LEVELS)}
    alone = size[groups] == 1
    return {name: np.where(alone, np.nan, out[name])
            for name in (COUNT_SCORES if counts else VALUE_SCORES)}


def _beta_binomial(y, total, expected, variance, samples: int) -> np.ndarray:
    """Minus log mass of a count with this mean and variance, out of the total."""
    n, p = np.round(total), np.divide(expected, total, out=np.zeros_like(expected), where=total > 0)
    p = np.clip(p, 1e-12, 1 - 1e-12)
    binomial = n * p * (1 - p)
    # Var = n p (1 - p) (1 + (n - 1) rho), and 1 / (1 + a + b) = rho; draws know rho to 1/samples.
    inflation = np.divide(variance, binomial, out=np.ones_like(p), where=binomial > 0)
    rho = np.divide(inflation - 1, n - 1, out=np.zeros_like(p), where=n > 1)
    rho = np.clip(rho, 1e-9, 1 - 1 / (samples + 1))
    concentration = 1 / rho - 1
    density = stats.betabinom.logpmf(np.round(y), n, p * concentration, (1 - p) * concentration)
    return np.where(total > 0, -density, 0.0)


def clustered_error(values: np.ndarray, groups: np.ndarray) -> float:
    """Standard error of the mean over areas, groups of areas being independent.

    Parameters
    ----------
    values : array (area,)
        NaN is left out.
    groups : int array (area,)

    Returns
    -------
    float
        NaN with fewer than two groups, infinite where a value is.
    """
    if np.isinf(values).any():
        return float("inf")
    there = np.isfinite(values)
    if np.unique(groups[there]).size < 2:
        return float("nan")
    centred = values[there] - values[there].mean()
    _, number = np.unique(groups[there], return_inverse=True)
    sums = np.bincount(number, weights=centred)
    return float(np.sqrt((sums**2).sum() * sums.size / (sums.size - 1)) / centred.size)


def relative(scores: np.ndarray, ratio: bool) -> np.ndarray:
    """Contributions (model, area) of areas to each model's log score ratio to the average model.

    Their mean over areas is zero up to linearisation; their `clustered_error` is the standard error
    of ``log(mean score) - average over models of log(mean score)``. Without ``ratio`` plain
    differences from the average model.

    Parameters
    ----------
    scores : array (model, area)
        Scores of areas.
    ratio : bool
        Whether models are compared by ratios.

    Returns
    -------
    array (model, area)
        Zero on average over models.
    """
    scaled = scores / np.nanmean(scores, axis=1, keepdims=True) if ratio else scores
    return scaled - scaled.mean(0)
