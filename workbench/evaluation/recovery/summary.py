"""Averages of recovered areas over draws and levels, paired differences, the trend, and words."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from workbench.evaluation.area_scores import clustered_error, headline, relative
from workbench.evaluation.evidence import surely
from workbench.evaluation.recovery.trend import extrapolate

CAVEAT = (
    "The step from groups to areas stands for that from areas to individuals. The trend over "
    "levels carries the standing of each model on to that step, which lies outside the levels "
    "tested; a relation that changes with scale below the areas cannot be seen in them."
)
_RATIO = ("deviance", "squared_error", "crps", "crps_sqrt")


def summarise(result: xr.Dataset, counts: bool, per_area: float) -> xr.Dataset:
    """Add means, paired differences with standard errors, the trend and the sentences.

    Parameters
    ----------
    result : xr.Dataset
        With area_scores (model, level, draw, area, score), group, error.
    counts : bool
    per_area : float
        Individuals per area.

    Returns
    -------
    xr.Dataset
        See `workbench.recover`.
    """
    values, groups = result["area_scores"].values, result["group"].values
    shared = _shared(values)
    levels = _level_means(values, shared)
    out = result.assign(
        scores=(("model", "score"), _mean(levels, axis=1)),
        level_scores=(("model", "level", "score"), levels),
        compared=(("level", "draw"), shared,
                  {"long_name": "finished by every model that finished any"}),
    )
    difference = out["scores"] - out["scores"].rename(model="other")
    error = _difference_errors(values, groups, shared)
    out = out.assign(
        difference=difference.transpose("model", "other", "score"),
        difference_error=(("model", "other", "score"), error,
                          {"long_name": "standard error of the difference, over groups"}))
    ratio = len(result["area"]) / result["groups"].values
    out = out.assign(_trend(out, values, groups, shared, np.log(ratio), np.log(per_area)))
    out = out.assign_coords(areas_per_group=("level", ratio))
    out.attrs |= {"headline": headline(counts), "individuals_per_area": per_area,
                  "caveat": CAVEAT, "comparison": _comparison(out, shared)}
    counts = [str(int(g)) for g in out["groups"].values]
    listed = counts[0] if len(counts) == 1 else f"{', '.join(counts[:-1])} and {counts[-1]}"
    out.attrs["sentence"] = in_order(out, f"Merged into {listed} groups, the {out.sizes['area']} "
                                     "areas are recovered from the groups' totals")
    return out


def recovery_table(result: xr.Dataset, digits: int = 3) -> pd.DataFrame:
    """One row per model, best first: scores, the paired difference from the best, the trend.

    Parameters
    ----------
    result : xr.Dataset
        From `recover`, or of areas held out (`workbench.labelled.held_out.HeldOut.compared`).
    digits : int
        Significant digits; coverage is in per cent.

    Returns
    -------
    pd.DataFrame
        Indexed by model.
    """
    frame = result["scores"].to_pandas()
    main = result.attrs["headline"]
    order = frame[main].sort_values(na_position="last").index
    frame, best = frame.loc[order], order[0]
    percent = [name for name in frame if name.startswith("coverage")]
    frame[percent] = (100 * frame[percent]).round(1)
    titles = result["score_title"].to_series()
    worse = result["difference"].sel(other=best, score=main).to_series()[order]
    error = result["difference_error"].sel(other=best, score=main).to_series()[order]
    frame.columns = [f"{titles[n]} (%)" if n in percent else titles[n] for n in frame]
    frame[f"{titles[main]}: worse by"], frame["± (1 s.e.)"] = worse, error
    if "extrapolated" in result:        # areas that were held out are of one size
        frame["at individuals, relative"] = result["extrapolated"].sel(
            score=main).to_series()[order]
    rest = [name for name in frame if "%" not in name]
    frame[rest] = frame[rest].map(lambda v: float(f"{v:.{digits}g}"))
    if "group" in result:
        frame["fits"] = (result["error"] == "").where(
            result["group"].isel(area=0, drop=True) >= 0).sum(["level", "draw"]).to_series()[
                order].astype(int)
    frame.index.name = "model"
    return frame


def _shared(values: np.ndarray) -> np.ndarray:
    """Which (level, draw) every model finished that finished any."""
    done = np.isfinite(values[..., 0]).any(-1)          # (model, level, draw)
    ever = done.any((1, 2))
    return done[ever].all(0) if ever.any() else np.zeros(done.shape[1:], bool)


def _mean(values: np.ndarray, axis) -> np.ndarray:
    """Mean without the missing; NaN where all are."""
    there = np.isfinite(values) | np.isinf(values)
    with np.errstate(invalid="ignore"):
        return np.where(there, values, 0).sum(axis) / np.where(
            there.any(axis), there.sum(axis), np.nan)


def _level_means(values: np.ndarray, shared: np.ndarray) -> np.ndarray:
    by_draw = np.where(shared[..., None], _mean(values, axis=3), np.nan)
    return _mean(by_draw, axis=2)


def _difference_errors(values: np.ndarray, groups: np.ndarray, shared: np.ndarray) -> np.ndarray:
    models, scores = values.shape[0], values.shape[-1]
    out = np.full((models, models, scores), np.nan)
    for a in range(models):
        for b in range(models):
            for s in range(scores):
                errors = np.full(shared.shape, np.nan)
                for i, k in np.argwhere(shared):
                    errors[i, k] = clustered_error(
                        values[a, i, k, :, s] - values[b, i, k, :, s], groups[i, k])
                out[a, b, s] = np.sqrt(_mean(_mean(errors**2, axis=1), axis=0))
    return out


def _trend(out: xr.Dataset, values, groups, shared, at: np.ndarray, to: float) -> dict:
    models, scores = values.shape[0], values.shape[-1]
    extrapolated = np.full((3, models, scores), np.nan)
    ever = np.isfinite(values[..., 0]).any((1, 2, 3))
    for s, name in enumerate(out["score"].values):
        if name.startswith("coverage") or not shared.any():
            continue
        ratio = name in _RATIO
        standing = np.full((2, int(ever.sum()), *shared.shape), np.nan)
        for i, k in np.argwhere(shared):
            one = values[ever, i, k, :, s]
            inside = np.isfinite(one).all(0)
            mean = one[:, inside].mean(1)
            if not inside.any() or (ratio and not (mean > 0).all()):
                continue
            point = np.log(mean) if ratio else mean
            standing[0, :, i, k] = point - point.mean()
            parts = relative(one[:, inside], ratio)
            standing[1, :, i, k] = [clustered_error(p, groups[i, k][inside]) for p in parts]
        mean, error = _mean(standing[0], axis=2), np.sqrt(_mean(standing[1] ** 2, axis=2))
        found = np.array(extrapolate(mean, error, at, to))
        if ratio:                                       # from logarithms to ratios
            found[0] = np.exp(found[0])
            found[1] *= found[0]
        extrapolated[:, ever, s] = found
    dims = ("model", "score")
    note = {"long_name": "score over that of the (geometric) average model; for the log score the "
                         "difference from the average model",
            "individuals_per_area": float(np.exp(to))}
    return {"extrapolated": (dims, extrapolated[0], note),
            "extrapolated_error": (dims, extrapolated[1]),
            "trend": (dims, extrapolated[2], {"long_name": "shrunk slope of the standing per "
                                              "unit of log(areas per group)"})}


def _comparison(out: xr.Dataset, shared: np.ndarray) -> str:
    meant = (out["group"].isel(area=0) >= 0).values
    lines = [f"scores are over {int(shared.sum())} of {int(meant.sum())} groupings, those that "
             "every model with any predictions finished"
             if shared.sum() < meant.sum() else
             f"scores are over all {int(meant.sum())} groupings"]
    for name in out["model"].values:
        reasons = out["error"].sel(model=name).values
        failed = (reasons != "") & meant
        if failed.any():
            first = reasons[failed][0]
            lines.append(f"{name} failed on {int(failed.sum())} of {int(meant.sum())} groupings "
                         f"(the first: {first})")
    return "\n".join(lines)


def in_order(out: xr.Dataset, start: str) -> str:
    """Models from best to worst in a sentence that begins with how they were tested.

    Parameters
    ----------
    out : xr.Dataset
        With ``scores`` (model, score), ``difference`` and ``difference_error`` (model, other,
        score), ``score_title`` (score) and the attribute ``headline``.
    start : str
        Without a full stop.
    """
    main = out.attrs["headline"]
    scores = out["scores"].sel(score=main).to_series().dropna().sort_values()
    title = str(out["score_title"].sel(score=main).item())
    if scores.size == 0:
        return f"{start} by no two models alike, so that nothing can be compared."
    best = scores.index[0]
    first = "best by" if scores.size > 1 else "by"
    said, others = f"{start} {first} {best} ({title} {scores.iloc[0]:.3g})", []
    for name in scores.index[1:]:
        gap = float(out["difference"].sel(model=name, other=best, score=main))
        error = float(out["difference_error"].sel(model=name, other=best, score=main))
        sure = "" if surely(gap, error) else ", which may be chance"
        told = "" if others else " (one standard error)"
        others.append(f"{name} is worse by {gap:.2g} ± {error:.1g}{told}{sure}")
    return f"{said}{': ' if others else ''}{'; '.join(others)}."
