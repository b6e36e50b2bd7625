"""Areas and pixels at a period, for a fit over time to be asked about them."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.bagging.recurring import numbered_areas
from workbench.checks import DataWarning, option, require, warn
from workbench.geo.period_numbers import TIME, as_text, time_of
from workbench.schema import BAG, COVARIATE, INDIVIDUAL

_MOSTLY = 0.5       # of the pixels lie where the model has learnt


def in_period(places: xr.Dataset, period: str | float, learnt: xr.Dataset) -> xr.Dataset:
    """Areas without periods as areas of one period, with its covariate ``time``.

    A fit over time then maps them at that period and expects their totals. Areas that the fit knows
    by label and place have the effect that they keep.

    Parameters
    ----------
    places : xr.Dataset
        Bagged dataset, as of `workbench.polygon_places`, with the other covariates of the model as
        they are in that period.
    period : str or number
        Written as the periods that were learnt from; it may lie between or after them, and is then
        guessed from them.
    learnt : xr.Dataset
        What the model learnt from, ``fit.data``.

    Returns
    -------
    xr.Dataset
        With the covariates in the order of ``learnt``, and labels ``area`` and ``period`` of bags.

    Raises
    ------
    InputError
        If the model has not learnt over time, the period is written otherwise, or the places have
        periods already.

    Warns
    -----
    DataWarning
        If areas lie among those learnt from and none is called alike, so that none is known.

    Examples
    --------
    >>> import geopandas, pandas, shapely, workbench as wb
    >>> areas = geopandas.GeoDataFrame(
    ...     {"code": list("abcd")}, geometry=shapely.box([0, 2, 0, 2], [0, 0, 2, 2], [2, 4, 2, 4],
    ...     [2, 2, 4, 4]), crs="EPSG:32633")
    >>> cases = pandas.DataFrame({"code": list("abcd") * 2, "year": [2019] * 4 + [2021] * 4,
    ...                           "cases": [3, 5, 2, 8, 4, 7, 2, 9]})
    >>> ds = wb.bag_polygons(areas, value="cases", totals=cases, join="code", time="year")
    >>> later = wb.in_period(wb.polygon_places(areas, id="code"), 2022, ds)
    >>> later["covariate"].values.tolist(), later["bag"].values.tolist()
    (['time'], ['a 2022', 'b 2022', 'c 2022', 'd 2022'])
    """
    when, text = time_of(learnt, period), as_text(period)
    names = [str(name) for name in places[COVARIATE].values]
    require(TIME not in names and numbered_areas(places) is None,
            "the places have periods already; choose one of these by workbench.at_period")
    wanted = [str(name) for name in learnt[COVARIATE].values]
    columns = [*names, TIME]
    table = np.column_stack([places["covariates"].transpose(INDIVIDUAL, COVARIATE).values,
                             np.full(places.sizes[INDIVIDUAL], when)])
    units = dict(zip(names, _units(places), strict=True)) | {
        TIME: dict(zip(wanted, _units(learnt), strict=True))[TIME]}
    if sorted(columns) == sorted(wanted):       # else what asks the model says which are others
        table, columns = table[:, [columns.index(name) for name in wanted]], wanted
    areas, attrs = places[BAG].values.astype(str), places["covariates"].attrs
    _warn_of_others(places, areas, learnt)
    out = places.drop_vars("covariates").drop_dims(COVARIATE)
    return out.assign(covariates=((INDIVIDUAL, COVARIATE), table, attrs)).assign_coords({
        COVARIATE: columns, "covariate_units": (COVARIATE, [units[name] for name in columns]),
        BAG: [f"{area} {text}" for area in areas], "area": (BAG, areas),
        "period": (BAG, np.full(areas.size, text)),
        "individual_period": (INDIVIDUAL, np.full(places.sizes[INDIVIDUAL], text))})


def _warn_of_others(places: xr.Dataset, areas: np.ndarray, learnt: xr.Dataset) -> None:
    """Warn where areas lie among those learnt from, and none is called as one of them."""
    known = numbered_areas(learnt)
    if known is None or set(known[0].tolist()) & set(areas.tolist()) or not (
            {"x", "y"} <= set(places.coords) & set(learnt.coords)):
        return
    inside = np.all([(places[axis] >= learnt[axis].min()) & (places[axis] <= learnt[axis].max())
                     for axis in ("x", "y")], axis=0)
    if inside.mean() > _MOSTLY:
        warn(f"none of the areas (first: {str(areas[0])!r}) is called as one of those learnt from "
             f"(first: {str(known[0][0])!r}), among which they lie: if they are the same areas, "
             f"name them alike by {option('id')}, or what the model knows of these is not used",
             DataWarning)


def _units(ds: xr.Dataset) -> list[str]:
    if "covariate_units" in ds.coords:
        return ds["covariate_units"].values.astype(str).tolist()
    return [""] * ds.sizes[COVARIATE]
