"""Residuals of areas: whether neighbours are alike, and how that falls off with distance."""

from __future__ import annotations

from dataclasses import dataclass

import holoviews as hv
import numpy as np
import xarray as xr

from workbench.checks import require
from workbench.plots.theme import CATEGORIES, CHART, NEUTRAL, axis


@dataclass(frozen=True)
class Residuals:
    """What a check of residuals found, as it is drawn.

    Parameters
    ----------
    areas : array (bag,) of str
    residual, neighbours : array (bag,)
        Of each area, and the mean of those of its neighbours; the latter may be None.
    distance, semivariance, lower, upper : array (distance,)
        The variogram, and the ends of what 90 % of permutations span.
    unit : str
        Of the distances.
    moran, p : float
        Moran's I and its p-value; NaN where the map does not say.
    """

    areas: np.ndarray
    residual: np.ndarray
    neighbours: np.ndarray | None
    distance: np.ndarray
    semivariance: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    unit: str
    moran: float
    p: float

    @property
    def tested(self) -> str:
        """Moran's I in a few words."""
        return f"Moran's I {self.moran:.2f}, p {self.p:.2g}" if np.isfinite(self.moran) else ""


def has_residuals(found: xr.Dataset) -> bool:
    """Whether a dataset holds a check of residuals: of ``fit.residual_check``, or in a map."""
    return "residual" in found and ("semivariance" in found or "variogram" in found)


def residuals_of(found: xr.Dataset) -> Residuals:
    """The check of residuals in a dataset, ready to be drawn.

    Parameters
    ----------
    found : xr.Dataset
        From ``fit.residual_check``, or a map made with ``--residuals``.

    Returns
    -------
    Residuals
        Distances of metres in km.

    Raises
    ------
    InputError
        If there is none.
    """
    require(has_residuals(found), "the dataset has no residuals; give what fit.residual_check made,"
            " or a map of `workbench disaggregate --residuals`")
    of_map = "variogram" in found
    before, middle = ("variogram_", "variogram") if of_map else ("", "semivariance")
    distance = found[f"{before}distance"]
    unit, length = str(distance.attrs.get("units", "")), distance.values.astype(float)
    if unit in ("m", "metre"):
        unit, length = "km", length / 1000
    told = found["residual"].attrs
    near = found.get("residual_neighbours" if of_map else "neighbours")
    return Residuals(
        found["bag"].values.astype(str), found["residual"].values,
        None if near is None else near.values, length, found[middle].values,
        found[f"{before}lower"].values, found[f"{before}upper"].values,
        {"degree": "degrees of latitude"}.get(unit, unit),
        float(told.get("moran_i", np.nan)), float(told.get("moran_p", np.nan)))


def residual_variogram(found: xr.Dataset) -> hv.Overlay:
    """Variogram of the areas' residuals; inside the grey band there is no sign of a pattern.

    Parameters
    ----------
    found : xr.Dataset
        As of `residuals_of`.

    Returns
    -------
    hv.Overlay
        The band is what 90 % of random permutations span at each distance.
    """
    it = residuals_of(found)
    x, y = hv.Dimension("distance"), hv.Dimension("semivariance")
    band = hv.Area((it.distance, it.lower, it.upper), x, [y, "upper"]).opts(
        color=NEUTRAL, alpha=0.25, line_alpha=0)
    line = hv.Curve((it.distance, it.semivariance), x, y).opts(color=CATEGORIES[0], line_width=2)
    dots = hv.Scatter((it.distance, it.semivariance), x, y).opts(
        color=CATEGORIES[0], size=6, tools=["hover"])
    top = 1.1 * float(max(it.semivariance.max(), it.upper.max()))
    return (band * line * dots).opts(
        **CHART, xlim=(0, 1.03 * float(it.distance.max())), ylim=(0, top),
        title="Variogram of residuals", ylabel="semivariance (band: 90 % by chance)",
        xlabel=axis("distance between areas", it.unit))


def moran_scatter(found: xr.Dataset) -> hv.Overlay:
    """Residual of each area against the mean of its neighbours; the line's slope is Moran's I.

    Parameters
    ----------
    found : xr.Dataset
        As of `residuals_of`.

    Returns
    -------
    hv.Overlay
        Flat where neighbours have nothing in common.
    """
    it = residuals_of(found)
    require(it.neighbours is not None, "this map does not hold the residuals of neighbours; make "
            "it again with this version: workbench run MAP.nc --out NEW.nc")
    x, y = hv.Dimension("residual"), hv.Dimension("neighbours")
    dots = hv.Scatter({"residual": it.residual, "neighbours": it.neighbours, "area": it.areas},
                      x, [y, "area"]).opts(color=CATEGORIES[0], size=6, alpha=0.7, tools=["hover"])
    line = hv.Curve(moran_line(it), x, y).opts(color=CATEGORIES[1], line_width=2)
    cross = [one.opts(color=NEUTRAL, line_width=1, line_dash="dashed")
             for one in (hv.HLine(0), hv.VLine(0))]
    return hv.Overlay([*cross, dots, line]).opts(
        **CHART, title=it.tested or "Residuals of neighbours", xlabel="residual of the area",
        ylabel="mean of its neighbours")


def moran_line(it: Residuals) -> np.ndarray:
    """Ends (2, 2) of the line of slope I through the means."""
    ends = np.array([it.residual.min(), it.residual.max()])
    slope = it.moran if np.isfinite(it.moran) else np.polyfit(it.residual, it.neighbours, 1)[0]
    return np.column_stack([ends, it.neighbours.mean() + slope * (ends - it.residual.mean())])
