"""A regular grid of places to predict a map at."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.assemble import assemble
from workbench.checks import require


def grid_places(ds: xr.Dataset, cells: int = 100, margin: float = 0.05) -> xr.Dataset:
    """Centres of square pixels over the extent of a dataset, ready for `Fit.at` and `to_raster`.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset or summary whose only inputs are coordinates x and y.
    cells : int
        Pixels along the longer side.
    margin : float
        What is added on each side, as a share of the longer side.

    Returns
    -------
    xr.Dataset
        Bagged dataset without ``value``, one bag per pixel, weights one; row, column and the
        grid's attributes, so that maps can be written as rasters.

    Raises
    ------
    InputError
        If there are covariates, which nobody knows at new places, or no coordinates.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> places = wb.grid_places(ds.isel(covariate=[]), cells=10)
    >>> max(places.attrs["grid_shape"])
    10
    """
    require("x" in ds and "y" in ds, "a grid of places needs coordinates x and y")
    require(ds.sizes["covariate"] == 0, "covariates "
            f"{[str(c) for c in ds['covariate'].values]} are not known on a new grid; predict at "
            "a dataset that has them, or leave them out")
    require(cells >= 1 and margin >= 0, f"cells must be one or more and margin zero or more, got "
            f"{cells} and {margin}")
    x, y = ds["x"].values, ds["y"].values
    longer = max(np.ptp(x), np.ptp(y))
    require(longer > 0, "all individuals are at one place; there is no extent to lay a grid over")
    low, high = (np.array([x.min(), y.min()]) - margin * longer,
                 np.array([x.max(), y.max()]) + margin * longer)
    size = float((high - low).max() / cells)
    columns, rows = (max(1, int(np.ceil(width / size - 1e-9))) for width in high - low)
    row, column = np.divmod(np.arange(rows * columns), columns)
    north = low[1] + rows * size
    individuals = xr.Dataset(
        {"covariates": ((schema.INDIVIDUAL, schema.COVARIATE), np.zeros((rows * columns, 0))),
         "weight": (schema.INDIVIDUAL, np.ones(rows * columns))},
        coords={"individual": np.arange(rows * columns), "covariate": ds["covariate"],
                "x": (schema.INDIVIDUAL, low[0] + size * (column + 0.5), dict(ds["x"].attrs)),
                "y": (schema.INDIVIDUAL, north - size * (row + 0.5), dict(ds["y"].attrs)),
                "row": (schema.INDIVIDUAL, row), "column": (schema.INDIVIDUAL, column)})
    out = assemble(individuals, np.arange(rows * columns), np.zeros(rows * columns),
                   np.arange(rows * columns)).drop_vars("value")
    out.attrs |= {"grid_shape": [rows, columns],
                  "grid_transform": [size, 0.0, float(low[0]), 0.0, -size, float(north)],
                  **{name: ds.attrs[name] for name in ("crs",) if name in ds.attrs}}
    return out
