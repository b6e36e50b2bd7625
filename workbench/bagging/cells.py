"""Cells of a raster that a finding is about, few enough to be drawn on a map."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

from workbench.bagging.findings import is_listing

MOST = 2_000        # cells that are kept of a finding


@dataclass(frozen=True)
class Cells:
    """Cells of a raster that a finding is about, all of them or every so many.

    Parameters
    ----------
    x, y : np.ndarray (cell,)
        Their centres, in the CRS.
    width, height : float
        Of each, in units of the CRS.
    count : int
        How many there are, also those that are not kept.
    crs : str
        As pyproj reads it; empty if nobody knows.
    """

    x: np.ndarray
    y: np.ndarray
    width: float
    height: float
    count: int
    crs: str = ""

    def corners(self, crs: str = "") -> tuple[np.ndarray, np.ndarray]:
        """Corners of the cells kept.

        Parameters
        ----------
        crs : str
            Of the map they are drawn on; empty for their own.

        Returns
        -------
        x, y : np.ndarray (cell, 4)
            Counterclockwise from the lower left.
        """
        right, up = np.array([-0.5, 0.5, 0.5, -0.5]), np.array([-0.5, -0.5, 0.5, 0.5])
        x = self.x[:, None] + right * self.width
        y = self.y[:, None] + up * self.height
        if not crs or not self.crs or crs == self.crs:
            return x, y
        from pyproj import Transformer

        return Transformer.from_crs(self.crs, crs, always_xy=True).transform(x, y)


def cells_of(grid: xr.DataArray | None, which: np.ndarray, most: int = MOST) -> Cells | None:
    """Some cells of a raster, for a finding of the check under way.

    Parameters
    ----------
    grid : xr.DataArray or None
        Raster (y, x) with coordinates of the centres; None if nobody knows where it lies.
    which : np.ndarray
        Truth values in the shape of the raster, or numbers of cells, row by row.
    most : int
        Cells that are kept.

    Returns
    -------
    Cells or None
        None outside a check, and where there is no cell.

    Examples
    --------
    >>> from workbench.bagging.findings import listing
    >>> grid = xr.DataArray(np.zeros((2, 3)), coords={"y": [15.0, 5.0], "x": [5.0, 15.0, 25.0]})
    >>> with listing():
    ...     found = cells_of(grid, np.array([0, 4]))
    >>> found.x, found.y, found.count
    (array([ 5., 15.]), array([15.,  5.]), 2)
    """
    if grid is None or not is_listing():
        return None
    flat = np.asarray(which)
    flat = np.flatnonzero(flat) if flat.dtype == bool else np.unique(flat)
    if not flat.size:
        return None
    kept = flat[np.linspace(0, flat.size - 1, min(flat.size, most)).round().astype(int)]
    x, y = (grid[axis].values.astype(float) for axis in ("x", "y"))
    width, height = (abs(float(v[1] - v[0])) if v.size > 1 else 0.0 for v in (x, y))
    row, column = np.divmod(kept, grid.shape[1])
    crs = grid.rio.crs.to_string() if "spatial_ref" in grid.coords and grid.rio.crs else ""
    return Cells(x[column], y[row], width or height, height or width, int(flat.size), crs)
