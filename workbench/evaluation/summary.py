"""From scores of units to scores of a model: the catalogue of scores and their averages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import xarray as xr

from workbench.evaluation import accuracy
from workbench.evaluation.calibration import covered_by_pit, pit_histogram, reliability


@dataclass(frozen=True)
class Score:
    """One column of a score table."""

    title: str
    unit: str  # "value" and "rate" stand for the units of the target
    aim: str  # "lower", "higher", or the nominal value
    of: Callable[[xr.Dataset], float]
    counts_only: bool = False


def _mean(name: str) -> Callable[[xr.Dataset], float]:
    return lambda units: float(units[name].mean(skipna=False))


def _at(name: str, dim: str, value: float, factor: float = 1.0) -> Callable[[xr.Dataset], float]:
    return lambda units: factor * float(units[name].sel({dim: value}, method="nearest").mean())


def _point(function: Callable, name: str = "mean", **options) -> Callable[[xr.Dataset], float]:
    def score(units: xr.Dataset) -> float:
        if name not in units or bool(units[name].isnull().any()):
            return float("nan")
        return function(units["observed"].values, units[name].values, **options)

    return score


def _coverage(level: float) -> Score:
    percent = round(100 * level)
    of = _at("covered", "level", level, factor=100)
    return Score(f"{percent} % coverage", "%", str(percent), of)


_DEVIANCE, _NLL = accuracy.poisson_deviance, accuracy.poisson_nll
_STIRLING = _point(_NLL, convention="stirling")
SCORES: dict[str, Score] = {
    "crps": Score("CRPS", "value", "lower", _mean("crps")),
    "wis": Score("weighted interval score", "value", "lower", _mean("wis")),
    "log_score": Score("log score", "nats", "lower", _mean("log_score")),
    "rmse": Score("RMSE", "value", "lower", _point(accuracy.rmse)),
    "mae": Score("MAE", "value", "lower", _point(accuracy.mae)),
    "bias": Score("bias", "value", "0", _point(accuracy.bias)),
    "correlation": Score("correlation", "", "higher", _point(accuracy.correlation)),
    "deviance": Score("Poisson deviance", "per unit", "lower", _point(_DEVIANCE), True),
    "nll": Score("Poisson NLL", "nats", "lower", _point(_NLL), True),
    "nll_stirling": Score("Poisson NLL, Stirling", "nats", "lower", _STIRLING, True),
    "pinned_deviance": Score(
        "pinned deviance", "per unit", "lower", _point(_DEVIANCE, "pinned"), True
    ),
    "pinned_rmse": Score("pinned RMSE", "value", "lower", _point(accuracy.rmse, "pinned")),
    "pinned_correlation": Score(
        "pinned correlation", "", "higher", _point(accuracy.correlation, "pinned")
    ),
    "coverage_50": _coverage(0.5),
    "coverage_80": _coverage(0.8),
    "coverage_95": _coverage(0.95),
    "interval_score_95": Score(
        "95 % interval score", "value", "lower", _at("interval_score", "interval", 0.95)
    ),
    "width_95": Score("95 % interval width", "value", "lower", _at("width", "interval", 0.95)),
}


def average(units: xr.Dataset, counts: bool) -> xr.DataArray:
    """Every score of the catalogue over the units; NaN where it has no meaning.

    Parameters
    ----------
    units : xr.Dataset
        Of `workbench.evaluation.units.score_units`, one target.
    counts : bool
        Whether values are counts.

    Returns
    -------
    xr.DataArray (score,)
        In the order of the catalogue.
    """
    values = [
        float("nan") if score.counts_only and not counts else score.of(units)
        for score in SCORES.values()
    ]
    return xr.DataArray(values, dims="score", coords={"score": list(SCORES)})


def summarise(units: xr.Dataset, groups: np.ndarray | None, counts: bool) -> xr.Dataset:
    """Scores, reliability curve and PIT histogram of one model at one target.

    Parameters
    ----------
    units : xr.Dataset
        Of `workbench.evaluation.units.score_units`, one target.
    groups : array (unit,), optional
        Units of one group share their errors.
    counts : bool
        Whether values are counts.

    Returns
    -------
    xr.Dataset
        ``scores``, ``coverage``, ``pit_density`` and their bands.
    """
    # By the PIT, so that a calibrated distribution lies on the diagonal even for small counts.
    inside = covered_by_pit(units["pit"].values, units["level"].values)
    curve = reliability(inside, units["level"].values, groups)
    histogram = pit_histogram(units["pit"].values).drop_vars(["left", "right"])
    return xr.Dataset(
        {
            "scores": average(units, counts),
            "units_scored": curve.attrs["units_counted"],
            "coverage": curve["coverage"],
            "coverage_lower": curve["lower"],
            "coverage_upper": curve["upper"],
            "effective_n": curve["effective_n"],
            "pit_density": histogram["density"],
            "pit_lower": histogram["lower"],
            "pit_upper": histogram["upper"],
        }
    )


def describe(result: xr.Dataset, ds: xr.Dataset) -> xr.Dataset:
    """Write titles, units and aims of the scores into the result.

    Parameters
    ----------
    result : xr.Dataset
        Of `workbench.evaluate`.
    ds : xr.Dataset
        The dataset that was scored.

    Returns
    -------
    xr.Dataset
        The result with ``score_title``, ``score_aim`` and ``score_units``.
    """
    names = [str(n) for n in result["score"].values]
    value = ds["value"].attrs.get("units", "value units")
    own = {"bag": value, "individual": value, "rate": rate_units(ds)}
    units = [
        [own[str(target)] if SCORES[n].unit == "value" else SCORES[n].unit for n in names]
        for target in result["target"].values
    ]
    result = result.assign_coords(
        score_title=("score", [SCORES[n].title for n in names]),
        score_aim=("score", [SCORES[n].aim for n in names]),
        score_units=(("target", "score"), np.array(units, dtype=str)),
    )
    for name, array in result.data_vars.items():
        target, _, quantity = str(name).partition("_")
        if target in own and quantity in (
            "observed",
            "mean",
            "std",
            "quantile",
            "crps",
            "wis",
            "pinned",
        ):
            array.attrs["units"] = own[target]
    return result


def rate_units(ds: xr.Dataset) -> str:
    """Units of the rate, such as "deaths per person", or of the value if that is a mean."""
    value = ds["value"].attrs.get("units", "value units")
    if "trials" in ds:
        return "share"
    if ds["value"].attrs.get("aggregation", "sum") == "mean":
        return value
    weight = ds["weight"].attrs.get("units", "unit of weight")
    return f"{value} per {'person' if weight == 'people' else weight.removesuffix('s')}"
