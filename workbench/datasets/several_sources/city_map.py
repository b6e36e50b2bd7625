"""A simulated city on a fine grid, and its outlines for drawing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import xarray as xr

from workbench.checks import number, require, whole
from workbench.datasets.several_sources.city_air import START, City, make_city
from workbench.datasets.several_sources.city_network import with_features
from workbench.datasets.several_sources.city_plan import EXTENT, FEATURES
from workbench.datasets.several_sources.series import UNITS
from workbench.datasets.several_sources.tree import observations, settings, singletons


def city_map(
    tree: xr.DataTree | Mapping[str, object], hour: float, spacing: float = 0.25,
) -> xr.Dataset:
    """The true NO2 of a simulated city on a fine grid at one hour, with all that a model needs.

    Parameters
    ----------
    tree : xr.DataTree or mapping
        From `load`, or its options (of which the seed decides).
    hour : float
        Hours since midnight of the first day.
    spacing : float
        Side of a pixel in km.

    Returns
    -------
    xr.Dataset
        Bagged dataset of singletons, pixel by pixel from the north-west, with the covariates of
        the tree, row, column and the grid's attributes. Value and ``truth`` are the NO2 without
        noise in ug/m3.

    Raises
    ------
    InputError
        If the tree is not one of `load`, the hour is not a number, or the spacing not positive.

    References
    ----------
    Hamelijnck et al. 2019, Figure 4.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.city_map({"seed": 0}, hour=8, spacing=7.0).attrs["grid_shape"]
    [5, 6]
    """
    require(number("spacing", spacing) > 0, f"spacing must be positive, got {spacing}")
    city, hour = _city_of(tree), number("hour", hour)
    columns, rows = (int(np.ceil(width / spacing - 1e-9)) for width in EXTENT)
    row, column = np.divmod(np.arange(rows * columns), columns)
    places = np.column_stack([(column + 0.5) * spacing, (rows - row - 0.5) * spacing])
    table = with_features(pd.DataFrame(places, columns=["x", "y"]), city)
    table = table.assign(time=hour, row=row, column=column,
                         value=city.table(places, np.array([hour]))[:, 0])
    points = observations(table.assign(truth=table["value"]), {"time": "h", **FEATURES}, "value",
                          long_name="NO2", units=UNITS, task="no2", x="x", y="y", truth="truth",
                          labels=["row", "column"])
    ds = singletons(points)
    ds.attrs |= {"title": f"True NO2 at {START + pd.Timedelta(hours=hour):%Y-%m-%d %H:%M}",
                 "level": f"pixels of {spacing:g} km", "grid_shape": [rows, columns],
                 "grid_transform": [spacing, 0.0, 0.0, 0.0, -spacing, rows * spacing]}
    return ds


def city_outlines(tree: xr.DataTree | Mapping[str, object]) -> xr.Dataset:
    """Roads, parks and river of a simulated city as lines for drawing.

    Parameters
    ----------
    tree : xr.DataTree or mapping
        See `city_map`.

    Returns
    -------
    xr.Dataset
        ``road_x``, ``road_y`` (road_vertex) with the number of the ``road`` and its ``flow``;
        ``park_x``, ``park_y`` (park, corner); ``river_x``, ``river_y`` (river_vertex); all in km.

    Examples
    --------
    >>> import workbench as wb
    >>> wb.city_outlines({"seed": 0}).attrs["extent"]
    [42.0, 35.0]
    """
    plan = _city_of(tree).plan
    lines = [np.concatenate([plan.segments[plan.road == r, :2],
                             plan.segments[plan.road == r, 2:][-1:]])
             for r in range(plan.flow.size)]
    road = np.repeat(np.arange(len(lines)), [len(line) for line in lines])
    x, y = np.concatenate(lines).T
    turn = np.linspace(0, 2 * np.pi, 49)
    centre_x, centre_y, a, b, angle = (plan.parks[:, [i]] for i in range(5))
    along, across = a * np.cos(turn), b * np.sin(turn)
    km = {"units": "km"}
    return xr.Dataset({
        "road_x": ("road_vertex", x, km), "road_y": ("road_vertex", y, km),
        "road": ("road_vertex", road), "flow": ("road_vertex", plan.flow[road]),
        "park_x": (("park", "corner"), centre_x + np.cos(angle) * along - np.sin(angle) * across,
                   km),
        "park_y": (("park", "corner"), centre_y + np.sin(angle) * along + np.cos(angle) * across,
                   km),
        "river_x": ("river_vertex", plan.river[:, 0], km),
        "river_y": ("river_vertex", plan.river[:, 1], km)},
        attrs={"extent": list(EXTENT), "river_width": plan.river_width})


def _city_of(tree: xr.DataTree | Mapping[str, object]) -> City:
    options = settings(tree) if isinstance(tree, xr.DataTree) else tree
    made = not isinstance(tree, xr.DataTree) or tree.attrs.get("dataset") == "simulated-city"
    require(made and "seed" in options, "only a tree of load_sources('simulated-city'), or options "
            "with its seed, has a map")
    return make_city(whole("seed", options["seed"], 0))
