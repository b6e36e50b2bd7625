"""Maps as small still pictures in SVG: no browser to make them, and no script to see them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import shapely
import xarray as xr

from workbench.checks import require
from workbench.plots.maps import AXES, gridded, map_unit, places
from workbench.plots.outlines import frame, simplified
from workbench.plots.panels import exceedances_of, map_scales, threshold_told
from workbench.plots.scales import (
    ColourScale,
    colour_scale,
    map_rate_unit,
    observed_rate,
    rate_unit,
)
from workbench.plots.still_parts import (
    BELOW,
    LEFT,
    RIGHT,
    TOP,
    View,
    bar,
    borders,
    of_grid,
    of_points,
    of_shapes,
    where,
)
from workbench.plots.svg import (
    element,
    indices,
    label,
    picture,
    png,
)
from workbench.schema import BAG, INDIVIDUAL

SIZE = 330                  # pixels along the longer side of a map
_MOST_BORDERS = 1500
_MANY = 0.05                # share of individuals beyond a scale that is worth a word


@dataclass(frozen=True)
class StillMap:
    """One map as a picture.

    Parameters
    ----------
    title, caption : str
        What it shows, and what its colours mean.
    svg : str
        The picture.
    """

    title: str
    caption: str
    svg: str


def still_maps(maps: xr.Dataset, *, log: bool = False, size: int = SIZE,
               axes: tuple[str, str] = AXES) -> list[StillMap]:
    """Observed areas, mean, sd, exceedance and extrapolation of a map, each as a still picture.

    What the map lacks is left out. Observed values and mean share one scale.

    Parameters
    ----------
    maps : xr.Dataset
        From ``fit.to_dataset``, or `workbench.read` of a stored one.
    log : bool
        Logarithmic colours of the rate.
    size : int
        Pixels along the longer side of a map.
    axes : (str, str)
        Coordinates of the individuals that make the map.

    Returns
    -------
    list of StillMap
        In the order in which one reads them.

    Raises
    ------
    InputError
        If the dataset is no map of individuals, or nothing says where they are.
    """
    require("mean" in maps and maps["mean"].dims == (INDIVIDUAL,),
            "there is no map to draw: the dataset has no 'mean' of individuals; "
            "give what `workbench disaggregate` or fit.to_dataset made")
    maps, found = simplified(maps, 2 * size), []

    def add(values, scale: ColourScale, title: str, said: str = "") -> None:
        told = scale.caption.partition(": ")[2]
        if scale.kind == "probability":
            told = f"{scale.unit or scale.label}, from 0 to 1."
        found.append(StillMap(title, f"{told} {said}".strip(),
                              still_map(maps, values, scale, title, size=size, axes=axes)))

    if {"value", "weight", "membership"} <= set(maps.variables):
        factor, unit = rate_unit(maps)
        scales = map_scales(maps, maps, log)
        add(observed_rate(maps), scales["rate"], "Observed areas")
    else:
        factor, unit = map_rate_unit(maps)
        scales = {"rate": colour_scale(maps["mean"], label="mean", unit=unit, log=log,
                                       factor=factor),
                  "exceedance": colour_scale(label="probability", kind="probability")}
        if "std" in maps:
            scales["spread"] = colour_scale(maps["std"], label="standard deviation", unit=unit,
                                            kind="spread", factor=factor)
    add(maps["mean"], scales["rate"], "Posterior mean", _beyond(maps["mean"], scales["rate"]))
    if "std" in maps:
        add(maps["std"], scales["spread"], "Standard deviation")
    for one, title in exceedances_of(maps, factor):
        add(one, replace(scales["exceedance"], unit=threshold_told(one, factor, unit)), title)
    beyond = maps.get("extrapolation")
    if beyond is not None and bool((beyond > 0).any()):
        scale = colour_scale(beyond.where(beyond > 0), label="extrapolation", kind="spread",
                             unit="ranges of the area means")
        add(beyond.where(beyond > 0), replace(scale, lower=0.0, upper=max(scale.upper, 1e-6)),
            "Extrapolation", f"{float((beyond > 0).mean()):.1%} of the individuals lie beyond "
            "what the areas have seen; blank where none is.")
    return found


def still_map(ds: xr.Dataset, values: xr.DataArray, scale: ColourScale, title: str = "", *,
              size: int = SIZE, axes: tuple[str, str] = AXES) -> str:
    """Map values of bags or individuals as SVG, with a colour bar, and a scale bar or ticks.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset that knows where its individuals are.
    values : xr.DataArray (bag,) or (individual,)
        Values before the scale's factor.
    scale : ColourScale
        From `colour_scale`.
    title : str
        Written above.
    size : int
        Pixels along the longer side.
    axes : (str, str)
        Coordinates of the individuals to use as a map.

    Returns
    -------
    str
        An ``<svg>`` element of some 20 kB.

    Examples
    --------
    >>> import workbench as wb
    >>> from workbench.plots import colour_scale, still_map
    >>> ds = wb.load("swiss-roll", n_bags=5, mean_size=4, size_std=3)
    >>> scale = colour_scale(ds["weight"], label="weight")
    >>> still_map(ds, ds["weight"], scale, axes=("roll_1", "roll_3")).startswith("<svg")
    True
    """
    dim = str(values.dims[0])
    require(values.dims in ((BAG,), (INDIVIDUAL,)),
            f"expected values over bag or individual, got dims {values.dims}")
    shown = indices(np.asarray(values.values, dtype=float) * scale.factor, scale.lower,
                    scale.upper, scale.log)
    on_grid = all(n in ds.coords for n in ("row", "column")) and "grid_transform" in ds.attrs
    if f"{dim}_geometry" in ds.coords:
        shapes = ds[f"{dim}_geometry"].values
        view = View(frame(tuple(shapely.total_bounds(shapes)), map_unit(ds, axes), size))
        image = of_shapes(view, shapes, shown)
    elif on_grid and axes == AXES:
        each = np.asarray(values.values, dtype=float)
        if dim == BAG:
            each = each[ds["membership"].values]
        grids, extent, bounds = gridded(ds, {"value": each * scale.factor})
        view = View(frame(bounds, map_unit(ds, axes), size))
        image = of_grid(view, indices(grids["value"], scale.lower, scale.upper, scale.log), extent)
    else:
        x, y = places(ds, axes)
        if dim == BAG:
            shown = shown[ds["membership"].values]
        view = View(frame((x.min(), y.min(), x.max(), y.max()), map_unit(ds, axes), size))
        image = of_points(view, x, y, shown)
    parts = [label(title, LEFT, 15, 13, font_weight="bold"),
             element("image", href=png(image, scale.kind), x=LEFT, y=TOP, width=view.width,
                     height=view.height, preserveAspectRatio="none",
                     style="image-rendering:pixelated")]
    if "bag_geometry" in ds.coords and ds.sizes[BAG] <= _MOST_BORDERS:
        parts.append(borders(view, ds["bag_geometry"].values))
    parts += [bar(view, scale), *where(view, map_unit(ds, axes), axes)]
    return picture(LEFT + view.width + RIGHT, TOP + view.height + BELOW,
                   f"{title}: {scale.caption}", *parts)


def _beyond(values: xr.DataArray, scale: ColourScale) -> str:
    """Of how many the end colours are all that is seen."""
    shown = values.values * scale.factor
    share = float(((shown < scale.lower) | (shown > scale.upper)).mean())
    return "" if share < _MANY else (f"{share:.0%} of the individuals lie beyond these ends and "
                                     "have the end colours.")
