"""One colour scale for all maps that show the same quantity, taken from the data and stated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from workbench.checks import choose, require
from workbench.plots.theme import PALETTES

MOST_TICKS = 6
_STEPS = (range(1, 10), (1, 2, 5), (1, 3), (1,))    # round values of a decade
_PER = ((0.1, 1), (0.001, 1_000), (0.0, 100_000))  # smallest overall rate, shown per so many


@dataclass(frozen=True)
class ColourScale:
    """A locked range of colours: the same value has the same colour wherever it is used.

    Parameters
    ----------
    label, unit, kind, log
        As of `colour_scale`.
    lower, upper : float
        Ends of the range, in the unit shown.
    factor : float
        Map values are multiplied by it to be in the unit shown.
    source : str
        What the range was taken from, for the caption.
    """

    label: str
    unit: str
    lower: float
    upper: float
    kind: str = "rate"
    factor: float = 1.0
    log: bool = False
    source: str = ""

    @property
    def title(self) -> str:
        """What the colour bar is called, with its unit."""
        return f"{self.label} ({self.unit})" if self.unit else self.label

    @property
    def caption(self) -> str:
        """One sentence that says what the colours span."""
        ends = f"{_shown(self.lower)} to {_shown(self.upper)} {self.unit}".strip()
        colours = "logarithmic colours" if self.log else "colours"
        return f"{self.label}: {colours} span {ends}{f', {self.source}' if self.source else ''}."

    @property
    def ticks(self) -> list[float]:
        """Round values to label on a logarithmic colour bar; none on a linear one."""
        if not self.log:
            return []
        decades = range(math.floor(math.log10(self.lower)), math.ceil(math.log10(self.upper)) + 1)
        inside = [[v for v in (m * 10.0**k for k in decades for m in steps)
                   if self.lower <= v <= self.upper] for steps in _STEPS]
        return next((ticks for ticks in inside if len(ticks) <= MOST_TICKS), inside[-1])

    def options(self) -> dict:
        """HoloViews options that lock the colours.

        Returns
        -------
        dict
            ``cmap``, ``clim`` and ``cnorm``.
        """
        return {
            "cmap": PALETTES[self.kind],
            "clim": (self.lower, self.upper),
            "cnorm": "log" if self.log else "linear",
        }


def colour_scale(
    *values: ArrayLike,
    label: str,
    unit: str = "",
    kind: str = "rate",
    quantiles: tuple[float, float] = (0.01, 0.99),
    factor: float = 1.0,
    log: bool = False,
) -> ColourScale:
    """Lock a colour scale to quantiles of everything that will be drawn with it.

    Parameters
    ----------
    *values : arrays
        All values to be shown, pooled; those beyond the quantiles get the end colours.
    label, unit : str
        Named on the colour bar.
    kind : {"rate", "spread", "probability", "difference"}
        The palette; probabilities always span 0 to 1, differences are centred on 0.
    quantiles : (float, float)
        Ends of the scale.
    factor : float
        Multiplier from the values to the unit shown (1,000 for a rate per 1,000).
    log : bool
        Whether equal steps of colour are equal ratios; all values must then be positive.

    Returns
    -------
    ColourScale
        The same for all maps drawn with it.

    Raises
    ------
    InputError
        If no value is finite, or a logarithmic scale meets values of zero or less.
    """
    choose("kind", kind, PALETTES)
    if kind == "probability":
        return ColourScale(label, unit, 0.0, 1.0, kind, factor)
    pooled = np.concatenate([np.asarray(v, dtype=float).ravel() for v in values]) * factor
    pooled = pooled[np.isfinite(pooled)]
    require(pooled.size > 0, f"no finite values to take the colour scale of {label!r} from")
    if log:
        require(bool((pooled > 0).all()), f"{label!r} has values of zero or less: use log=False")
    low, high = (float(end) for end in np.quantile(pooled, quantiles))
    if kind == "difference":
        high = max(abs(low), abs(high))
        low = -high
    if low >= high:  # a flat map still needs a range around its one value
        low, high = low - (abs(low) or 1) * 0.05, high + (abs(high) or 1) * 0.05
    source = f"the {100 * quantiles[0]:g}th to {100 * quantiles[1]:g}th percentile"
    source = source.replace(" 1th", " 1st")
    return ColourScale(label, unit, low, high, kind, factor, log, source)


def rate_unit(ds: xr.Dataset) -> tuple[float, str]:
    """Factor by which the rates of a dataset become readable, and their unit then.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset with units.

    Returns
    -------
    (float, str)
        Such as 1,000 and "deaths per 1,000 people".
    """
    if "trials" in ds:
        return 1.0, "share"
    value = ds["value"].attrs.get("units", "value units")
    if ds["value"].attrs.get("aggregation", "sum") == "mean":
        return 1.0, value
    weight = ds["weight"].attrs.get("units", "")
    if not weight or weight == "1":
        return 1.0, f"{value} per individual"
    overall = abs(float(ds["value"].sum() / ds["weight"].sum()))
    per = next(per for least, per in _PER if overall >= least)
    return float(per), f"{value} per {singular(weight) if per == 1 else f'{per:,} {weight}'}"


def map_rate_unit(maps: xr.Dataset) -> tuple[float, str]:
    """The same of a map without observed values, by the totals that it predicts.

    Parameters
    ----------
    maps : xr.Dataset
        From ``fit.to_dataset``.

    Returns
    -------
    (float, str)
        One and the unit of the mean where nothing adds up.
    """
    if "expected_count" in maps and {"bag_mean", "weight"} <= set(maps.variables):
        return rate_unit(maps.assign(value=maps["bag_mean"]).drop_vars("trials", errors="ignore"))
    return 1.0, {"1": ""}.get(given := str(maps["mean"].attrs.get("units", "")), given)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}"


def singular(unit: str) -> str:
    """One of a unit that is counted: persons, person."""
    return {"people": "person"}.get(unit, unit.removesuffix("s"))


def observed_rate(ds: xr.Dataset) -> xr.DataArray:
    """Observed rates of areas.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    xr.DataArray (bag,)
        Totals per weight, positives per trial (NaN without trials), or values that are means.
    """
    if "trials" in ds:
        return (ds["value"] / ds["trials"].where(ds["trials"] > 0)).assign_attrs(units="share")
    if ds["value"].attrs.get("aggregation", "sum") == "mean":
        return ds["value"]
    total = np.bincount(ds["membership"].values, weights=ds["weight"].values)
    return ds["value"] / total
