"""How the app offers a dataset of one's own: areas, thresholds and lengthscales of its size."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from workbench.checks import require
from workbench.ui.disaggregate.catalogue import Choice, kernels_for
from workbench.ui.disaggregate.engine import EXACT_LIMIT
from workbench.ui.disaggregate.kinds import kind_of

if TYPE_CHECKING:
    import xarray as xr

ALL = "all"
_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95)


def choice_of(ds: xr.Dataset, title: str, dataset: str, options: Mapping) -> Choice:
    """How the app offers a dataset of one's own.

    Parameters
    ----------
    ds : xr.Dataset
        As the check read it.
    title : str
        Its name for people.
    dataset : str
    options : Mapping
        As of `options_of`.

    Raises
    ------
    InputError
        If there is nothing to draw a map on, or no rate but zero.
    """
    from workbench.plots import observed_rate, rate_unit
    from workbench.plots.maps import map_unit

    require("x" in ds.coords and "y" in ds.coords, "these data have no coordinates x and y of "
            "their individuals, which the maps of this app need; use them from Python")
    areas, (factor, _) = ds.sizes["bag"], rate_unit(ds)
    rate = np.asarray(observed_rate(ds).values, dtype=float)
    rate = rate[np.isfinite(rate)]
    require(bool((rate != 0).any()), "the totals of all areas are zero or missing: there is "
            "nothing to disaggregate; choose another column")
    extent = max(float(np.ptp(ds[c].values)) for c in "xy")
    offered = sorted({_rounded(v * factor) for v in np.quantile(rate, _QUANTILES)} - {0.0})
    merged = {f"{k} merged areas": str(k) for k in (areas // 2, areas // 4) if k >= 10}
    return Choice(
        title, {f"{areas} areas, as they are": ALL} | merged,
        (_rounded(extent / 100), _rounded(extent)), map_unit(ds) or "unit",
        tuple(offered), offered[len(offered) // 2], factor, float(rate.std()) or 1.0,
        kernels=kernels_for(bool(ds.sizes["covariate"])), dataset=dataset, loader=dict(options),
        large=ds.sizes["individual"] > EXACT_LIMIT,
        known="truth" in ds or "individual_value" in ds, kind=kind_of(ds),
        negative=bool((rate < 0).any()))


def _rounded(value: float) -> float:
    return round(value, 1 - math.floor(math.log10(abs(value)))) if value else 0.0
