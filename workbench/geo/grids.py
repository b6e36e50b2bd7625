"""Grids and weights where no raster of a population is given: area counts, or every pixel alike."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.interpolate import RectBivariateSpline

from workbench.bagging.warping import LAID
from workbench.checks import choose, option, package, require, whole
from workbench.geo.shapes import on_earth
from workbench.geo.treatments import Record

WEIGHTS = ("area", "uniform")
CELLS = 100             # along the longer side of a grid that is laid over the areas
_OTHERS = (50, 200, 300)        # that are named beside it
MOST_CELLS = 2000
_PIXELS_OF = "pixels_of"        # in attrs of a weight that was made: the covariate with its pixels
_LATTICE = 50           # places along each side at which a projection's scale is computed


def counts_alike(aggregation: str) -> str:
    """What it means for values that are totals or means that no weight was given."""
    return ("no weight was given: every km² counts alike"
            + (" in an area's mean" if aggregation == "mean" else ", so that rates are per km²"))


def unweighted(aggregation: str) -> str:
    """The same, and what would give numbers per person."""
    wanted = ("a raster of population for means" if aggregation == "mean" else
              "a raster of population, or a column of the areas with it, for rates")
    return f"{counts_alike(aggregation)}; give {wanted} per person"


def is_word(weight: object) -> bool:
    """Whether a weight is one of the words, or not given, rather than a raster."""
    return weight is None or (isinstance(weight, str) and weight in WEIGHTS)


def called(grid: xr.DataArray) -> tuple[str, str]:
    """What messages call the raster of the individuals, and what a finding about it names.

    Parameters
    ----------
    grid : xr.DataArray
        A weight that was given, or one of `made_weight`, whose pixels are a covariate's.

    Returns
    -------
    str
        Its name where nobody gave a weight.
    str
    """
    name = grid.attrs.get(_PIXELS_OF)
    return ("the weight raster", "weight") if name is None else (f"raster {name!r}", name)


def weight_units(weight: object, units: str | None) -> str:
    """Units of a weight: as given, else persons of a raster, km² of an area.

    Parameters
    ----------
    weight : object
        As of `workbench.bag_polygons`.
    units : str, optional
        As given.

    Returns
    -------
    str
        The units.
    """
    if units is not None:
        return units
    if not is_word(weight):
        return "persons"
    return "pixels" if weight == "uniform" else "km²"


def made_weight(weight: str | None, layers: dict[str, xr.DataArray], areas, record: Record,
                people: str | None = None, cells: int = CELLS, aggregation: str = "sum"
                ) -> xr.DataArray:
    """A raster of weights on the grid of the first covariate, or on one laid over the areas.

    Parameters
    ----------
    weight : {"area", "uniform"} or None
        Square kilometres of each pixel, one for each pixel; None is "area", and said.
    layers : dict of str to xr.DataArray
        Covariates as read; without a covariate a grid is laid over the areas.
    areas : geopandas.GeoDataFrame
        With a CRS.
    record : Record
        Receives what the weight is, and of which grid.
    people : str, optional
        Column of the areas whose population is spread over the pixels in these proportions.
    cells : int
        Square pixels along the longer side of the areas' extent, where a grid is laid over them.
    aggregation : {"sum", "mean"}
        What the areas' values are, to say what it means that no weight was given.

    Returns
    -------
    xr.DataArray
        (y, x), NaN where the first covariate is missing, named after what it is.
    """
    kind, about = choose("weight", weight or "area", WEIGHTS), {}
    cells = whole("grid_size", cells, 1, MOST_CELLS)
    if layers:
        name, grid = next(iter(layers.items()))
        told = f"pixels of covariate {name!r}"
    else:
        grid = _over(areas, cells)
        about = {"code": "own-grid", "fix": f"pass {option('grid_size', *_OTHERS)} for larger or "
                 "smaller pixels", "effect": "smaller pixels take longer, and show no detail that "
                 "the areas cannot tell"}
        told = f"a grid of {grid.shape[0]} x {grid.shape[1]} {LAID}: the map follows place alone"
    if weight is None:
        record.note(unweighted(aggregation))
    by = "their area in km²" if kind == "area" else "one each"
    record.note(f"individuals are {told}" + ("" if people else f", weighted by {by}"),
                **about)
    values = _km2(grid) if kind == "area" else np.ones(grid.shape)
    made = grid.copy(data=np.where(np.isnan(grid.values), np.nan, values)).rename(kind)
    if layers:
        made.attrs[_PIXELS_OF] = name
    return made.rio.write_crs(grid.rio.crs).rio.write_nodata(np.nan)


def _over(areas, cells: int) -> xr.DataArray:
    west, south, east, north = (float(b) for b in areas.total_bounds)
    size = max(east - west, north - south) / cells
    require(size > 0, "the areas have no extent; nothing can be laid over them")
    columns, rows = (max(1, int(np.ceil(width / size - 1e-9)))
                     for width in (east - west, north - south))
    package("rioxarray", extra="geo")
    grid = xr.DataArray(
        np.zeros((rows, columns)), dims=("y", "x"),
        coords={"y": north - size * (np.arange(rows) + 0.5),
                "x": west + size * (np.arange(columns) + 0.5)})
    return grid.rio.write_crs(areas.crs).rio.write_transform(
        package("affine", extra="geo").Affine(size, 0, west, 0, -size, north))


def _km2(grid: xr.DataArray) -> np.ndarray:
    """Area of each pixel on the ground (y, x)."""
    pyproj = package("pyproj", extra="geo")
    crs = pyproj.CRS.from_user_input(grid.rio.crs)
    west, south, east, north = grid.rio.bounds()
    rows, columns = grid.shape
    if crs.is_geographic:
        ellipsoid, width = crs.get_geod(), (east - west) / columns
        edges = np.clip(np.linspace(north, south, rows + 1), -90, 90)
        each = [abs(ellipsoid.polygon_area_perimeter(
            [0, width, width, 0], [low, low, high, high])[0])
            for high, low in zip(edges[:-1], edges[1:], strict=True)]
        return np.repeat(np.array(each)[:, None] / 1e6, columns, axis=1)
    flat = (east - west) / columns * (north - south) / rows
    flat *= crs.axis_info[0].unit_conversion_factor ** 2 / 1e6
    if not on_earth(crs):
        return np.full(grid.shape, flat)
    x, y = (np.linspace(low, high, _LATTICE) for low, high in ((west, east), (south, north)))
    across, up = np.meshgrid(x, y)
    longitude, latitude = pyproj.Transformer.from_crs(
        crs, crs.geodetic_crs, always_xy=True).transform(across, up)
    scale = pyproj.Proj(crs).get_factors(longitude, latitude).areal_scale
    require(bool(np.isfinite(scale).all()), f"areas of pixels cannot be computed in {crs.name} as "
            "far as these rasters reach; use weight='uniform', or an equal-area CRS")
    smooth = RectBivariateSpline(y, x, scale, kx=1, ky=1)
    return flat / smooth(np.sort(grid["y"].values), grid["x"].values)[::-1]
