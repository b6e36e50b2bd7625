"""The maps of several engines side by side, and where they differ."""

from __future__ import annotations

import holoviews as hv
import xarray as xr

from workbench.checks import require
from workbench.plots.maps import AXES, value_map
from workbench.plots.outlines import simplified
from workbench.plots.scales import colour_scale

SIZE = 300


def engines(found: xr.Dataset, *, log: bool = False, size: int = SIZE,
            axes: tuple[str, str] = AXES) -> hv.Layout:
    """Mean and standard deviation of every engine, on common scales, and its difference.

    Parameters
    ----------
    found : xr.Dataset
        From `workbench.compare_engines`.
    log : bool
        Logarithmic colours of the rate.
    size : int
        Pixels along the longer side of a map.
    axes : (str, str)
        Coordinates of the individuals that make the map, for data without geography.

    Returns
    -------
    hv.Layout
        A row of maps for each engine: mean, standard deviation, and in the rows of all but the
        reference the difference from its mean, in its standard deviations.

    Raises
    ------
    InputError
        If the dataset is none of engines.
    """
    require("engine" in found.dims and "difference" in found, "there are no engines to draw; give "
            "what wb.compare_engines or `workbench engines` made")
    found = simplified(found)
    reference = found.attrs["reference"]
    unit = {"1": ""}.get(given := str(found["mean"].attrs.get("units", "")), given)
    options = {"size": size, "axes": axes}
    rate = colour_scale(found["mean"], label="mean", unit=unit, log=log)
    spread = colour_scale(found["std"], label="standard deviation", unit=unit, kind="spread")
    apart = colour_scale(found["difference"], label="difference", unit="sd", kind="difference")
    panels = []
    order = sorted(found["engine"].values.tolist(), key=lambda one: one != reference)
    for one in order:
        row = found.sel(engine=one)
        panels += [value_map(found, row["mean"], rate, f"{one}: mean", **options),
                   value_map(found, row["std"], spread, f"{one}: standard deviation", **options)]
        if one == reference:
            panels.append(_convergence(found, options) if "rhat" in found else hv.Empty())
        else:
            panels.append(value_map(found, row["difference"], apart,
                                    f"{one} less {reference}", **options))
    return hv.Layout(panels).cols(3).opts(shared_axes=True)


def _convergence(found: xr.Dataset, options: dict):
    scale = colour_scale(found["ess"], label="effective draws", kind="spread")
    return value_map(found, found["ess"], scale, "nuts: effective number of draws", **options)
