"""Any dataset as one small grid of pixels, so that its maps are images of one kind."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr

ACROSS = 170            # pixels along the longer side, where the dataset has no grid of its own
FAR = 2.5               # spacings of points beyond which a pixel belongs to none


@dataclass(frozen=True, eq=False)
class Grid:
    """Which individual is seen at each pixel.

    Parameters
    ----------
    index : int array (row, column)
        Position of the individual, the first row at the bottom; -1 where there is none.
    extent : tuple of float
        Left, bottom, width and height.
    unit : str
        Of the extent, such as km; empty if there is none.
    """

    index: np.ndarray
    extent: tuple[float, float, float, float]
    unit: str = ""

    def image(self, values: np.ndarray) -> np.ndarray:
        """Values (individual,) as an image in Bokeh's order, NaN where there is nobody."""
        padded = np.append(np.asarray(values, dtype=np.float32), np.float32(np.nan))
        return padded[self.index]

    @property
    def ratio(self) -> float:
        """Height over width on the page."""
        _, bottom, width, height = self.extent
        if self.unit == "degree":
            return height / (width * max(np.cos(np.radians(bottom + height / 2)), 0.1))
        return height / width if self.unit else 0.75


def grid_of(ds: xr.Dataset, axes: tuple[str, str]) -> Grid:
    """The grid of a dataset: its own pixels, or the polygons or points nearest to new ones.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    axes : (str, str)
        Coordinates that make the map.
    """
    unit = str(ds[axes[0]].attrs.get("units", "")) if axes == ("x", "y") else ""
    if "row" in ds.coords and "grid_transform" in ds.attrs:
        return _pixels(ds, unit)
    x, y = (ds[name].values.astype(float) for name in axes)
    if "individual_geometry" in ds.coords:
        return _polygons(ds["individual_geometry"].values, unit)
    return _points(x, y, ds["bag_geometry"].values if "bag_geometry" in ds.coords else None, unit)


def _pixels(ds: xr.Dataset, unit: str) -> Grid:
    width, _, left, _, height, top = (float(v) for v in ds.attrs["grid_transform"])
    row, column = ds["row"].values, ds["column"].values
    low, first = row.min(), column.min()
    index = np.full((int(row.max() - low) + 1, int(column.max() - first) + 1), -1, dtype=np.int32)
    order = np.arange(row.size)
    if "coverage" in ds.coords:         # of a pixel cut by a border the larger part is seen
        order = np.argsort(ds["coverage"].values, kind="stable")
    index[row[order] - low, column[order] - first] = order
    ends = top + height * np.array([low, low + index.shape[0]])
    return Grid(index[::-1].copy() if height < 0 else index,
                (left + first * width, ends.min(), index.shape[1] * width,
                 index.shape[0] * abs(height)), unit)


def _centres(left: float, bottom: float, right: float, top: float):
    across, up = right - left, top - bottom
    step = max(across, up) / ACROSS
    columns, rows = max(1, round(across / step)), max(1, round(up / step))
    x = left + (np.arange(columns) + 0.5) * across / columns
    y = bottom + (np.arange(rows) + 0.5) * up / rows
    return np.meshgrid(x, y), (left, bottom, across, up)


def _polygons(shapes: np.ndarray, unit: str) -> Grid:
    import shapely

    (x, y), extent = _centres(*shapely.total_bounds(shapes))
    index = np.full(x.size, -1, dtype=np.int32)
    point, shape = shapely.STRtree(shapes).query(shapely.points(x.ravel(), y.ravel()),
                                                 predicate="intersects")
    index[point] = shape
    return Grid(index.reshape(x.shape), extent, unit)


def _points(x: np.ndarray, y: np.ndarray, areas: np.ndarray | None, unit: str) -> Grid:
    from scipy.spatial import cKDTree

    bounds = x.min(), y.min(), x.max(), y.max()
    if areas is not None:
        import shapely

        bounds = tuple(shapely.total_bounds(areas))
    (across, up), extent = _centres(*bounds)
    scale = np.array([extent[2], extent[3]]) if not unit else np.ones(2)
    pixels = np.column_stack([across.ravel(), up.ravel()]) / scale
    away, index = cKDTree(np.column_stack([x, y]) / scale).query(pixels)
    index = index.astype(np.int32)
    if areas is None:
        spacing = np.sqrt(np.prod(np.ptp(pixels, axis=0)) / x.size)
        index[away > FAR * spacing] = -1
    else:
        inside = shapely.STRtree(areas).query(
            shapely.points(across.ravel(), up.ravel()), predicate="intersects")[0]
        index[~np.isin(np.arange(index.size), inside)] = -1
    return Grid(index.reshape(across.shape), extent, unit)
