"""From individuals back to rasters."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import InputError, choose, package, require

WAYS = ("average", "sum")
_LISTED = 12        # periods that a message lists


def way_of(name: str) -> str:
    """How the parts of a pixel are joined, by the name of the variable: "sum" or "average"."""
    total = name in ("weight", "individual_value") or name.endswith("_count")
    return "sum" if total else "average"


def map_periods(ds: xr.Dataset) -> list[str]:
    """The periods of a dataset or map over time, as text, or the one it was taken at; else none."""
    if "individual_period" not in ds.coords:
        labels = ds.coords.get("period")
        taken = [] if labels is None or labels.dims != (schema.BAG,) else list(
            dict.fromkeys(labels.values.astype(str).tolist()))
        return taken if len(taken) == 1 else []
    return [str(one) for one in dict.fromkeys(ds["individual_period"].values.tolist())]


def listed_periods(periods: list[str]) -> str:
    """Periods for a message: of many the first and the last."""
    told = periods if len(periods) <= _LISTED else [*periods[:3], "...", periods[-1]]
    return ", ".join(told)


def one_period(ds: xr.Dataset) -> None:
    """Refuse a dataset over time where pixels of one period are wanted."""
    periods = map_periods(ds)
    if len(periods) > 1:
        raise InputError(f"this map has {len(periods)} periods, {periods[0]} to {periods[-1]}, and "
                         "a raster one: write it as .nc, and take a period with "
                         f"workbench.at_period(maps, {periods[-1]!r})")


def to_raster(ds: xr.Dataset, values: str | xr.DataArray | np.ndarray, how: str = "average"
              ) -> xr.DataArray:
    """Rebuild a raster from one number per individual.

    A pixel cut by a border is several individuals: their numbers are averaged by weight (rates,
    probabilities, covariates), so that a rate times the pixel's weight is its expected count, or
    summed (counts). Where there is no weight they are averaged by coverage.

    Parameters
    ----------
    ds : xr.Dataset
        Dataset with row, column, weight and coverage of the individuals, and the attributes
        grid_transform and grid_shape.
    values : str, xr.DataArray or np.ndarray
        A variable of the dataset, or one number per individual.
    how : {"average", "sum"}
        How the parts of a pixel are joined.

    Returns
    -------
    xr.DataArray
        Dimensions (y, x) with the CRS; NaN where there are no individuals.

    Raises
    ------
    InputError
        If the individuals are not pixels, or the numbers do not match them.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> wb.to_raster(ds, "truth").shape == tuple(ds.attrs["grid_shape"])
    True
    """
    package("rioxarray", extra="geo")
    choose("how", how, WAYS)
    one_period(ds)
    require(
        "row" in ds.coords and "column" in ds.coords and "grid_shape" in ds.attrs
        and "grid_transform" in ds.attrs,
        "these individuals are not pixels of a raster (no row, column and grid attributes); "
        "write them as polygons (.gpkg) instead",
    )
    if isinstance(values, str):
        choose("values", values, [str(n) for n, v in ds.variables.items()
                                  if v.dims == (schema.INDIVIDUAL,)])
        values = ds[values]
    name = values.name if isinstance(values, xr.DataArray) else None
    attrs = dict(values.attrs) if isinstance(values, xr.DataArray) else {}
    numbers = np.asarray(values, dtype=float)
    count = ds.sizes[schema.INDIVIDUAL]
    require(numbers.shape == (count,), f"expected one number for each of the {count} individuals, "
                                       f"got shape {numbers.shape}")
    rows, columns = (int(n) for n in ds.attrs["grid_shape"])
    cell = ds["row"].values * columns + ds["column"].values
    part = _parts(ds, cell, rows * columns) if how == "average" else np.ones(count)
    total = np.bincount(cell, weights=part * numbers, minlength=rows * columns)
    share = np.bincount(cell, weights=part, minlength=rows * columns)
    filled = np.full(rows * columns, np.nan)
    divisor = share if how == "average" else np.ones_like(share)
    filled[share > 0] = total[share > 0] / divisor[share > 0]
    transform = package("affine", extra="geo").Affine(*ds.attrs["grid_transform"])
    raster = xr.DataArray(
        filled.reshape(rows, columns), dims=("y", "x"), name=name, attrs=attrs,
        coords={
            "y": transform.f + transform.e * (np.arange(rows) + 0.5),
            "x": transform.c + transform.a * (np.arange(columns) + 0.5),
        },
    )
    raster = raster.rio.write_transform(transform).rio.write_nodata(np.nan)
    return raster.rio.write_crs(ds.attrs["crs"]) if ds.attrs.get("crs") else raster


def _parts(ds: xr.Dataset, cell: np.ndarray, cells: int) -> np.ndarray:
    """What each individual counts by among the parts of its pixel (individual,), alone by one."""
    one = np.ones(cell.size)
    coverage = ds["coverage"].values if "coverage" in ds.coords else one
    if "weight" not in ds:
        return coverage
    weight = ds["weight"].values
    held = np.bincount(cell, weights=weight, minlength=cells)[cell]
    return np.where(held > 0, weight / np.where(held > 0, held, 1.0), coverage)
