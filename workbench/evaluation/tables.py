"""Score tables for people: rounded, with units in the column heads."""

from __future__ import annotations

import math

import pandas as pd
import xarray as xr

from workbench.checks import choose

HEADLINE = (
    "crps",
    "log_score",
    "rmse",
    "correlation",
    "deviance",
    "pinned_deviance",
    "coverage_50",
    "coverage_80",
    "coverage_95",
    "width_95",
)
#: Attribute of scores that says that models were trained on the bags which were scored.
LEARNT_FROM = "learnt_from"
_NO_TEST = " learnt from, no test of the map"
NAMES = {"bag": "bags", "individual": "individuals", "rate": "the true rate"}


def table(
    result: xr.Dataset,
    target: str = "bag",
    scores: list[str] | None = None,
    digits: int = 3,
) -> pd.DataFrame:
    """One row per model, one column per score, rounded to significant digits.

    Parameters
    ----------
    result : xr.Dataset
        From `evaluate` or `cross_validate`.
    target : {"bag", "individual", "rate"}
        What was predicted.
    scores : list of str, optional
        Names of scores; by default the headline ones that exist for this target.
    digits : int
        Significant digits; coverage is rounded to tenths of a per cent.

    Returns
    -------
    pd.DataFrame
        Columns such as ``"RMSE (deaths)"``; scores that no model has are left out, as are models
        that were not asked about this target. Where folds of a model failed, the columns
        ``"units predicted"`` and ``"units scored"`` say how many units it predicted and how many
        all models did, over which alone they are scored; a model that never could be fitted keeps
        its row, without scores. The heading says where bags were learnt from, whose scores do not
        tell which map is nearer to the truth.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> fit = wb.Constant(max_steps=5).fit(ds)
    >>> wb.table(wb.evaluate(fit, ds, samples=50)).index.tolist()
    ['constant']
    """
    choose("target", target, [str(t) for t in result["target"].values])
    known = [str(s) for s in result["score"].values]
    for name in scores or ():
        choose("score", name, known)
    part = result.sel(target=target)
    frame = part["scores"].sel(score=list(scores or HEADLINE)).to_pandas()
    predicted, scored = (part[f"units_{word}"].to_series() for word in ("predicted", "scored"))
    frame = frame[predicted.notna()]
    if scores is None:
        frame = frame.dropna(axis=1, how="all")
    heads, units = part["score_title"].to_series(), part["score_units"].to_series()
    for name in frame.columns:
        places = 1 if name.startswith("coverage") else None
        frame[name] = [_rounded(value, digits, places) for value in frame[name]]
    frame.columns = [_head(heads[name], units[name]) for name in frame.columns]
    if (predicted != scored)[frame.index].any():
        frame["units predicted"] = predicted[frame.index].astype(int)
        frame["units scored"] = scored[frame.index].fillna(0).astype(int)
    seen = _NO_TEST if target == "bag" and LEARNT_FROM in result.attrs else ""
    frame.index.name, frame.columns.name = "model", f"score of {NAMES[target]}{seen}"
    if seen:
        frame.attrs[LEARNT_FROM] = result.attrs[LEARNT_FROM]
    return frame


def _head(title: str, unit: str) -> str:
    return f"{title} ({unit})" if unit else title


def _rounded(value: float, digits: int, places: int | None) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    if places is None:
        places = digits - 1 - math.floor(math.log10(abs(value)))
    return round(value, places)
