"""Covariates that are made of other layers: distance to features, slope of an elevation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr
from scipy.spatial import cKDTree

from workbench import schema
from workbench.checks import InputError, choose, option, package, reading, require
from workbench.geo.rasters import read_rasters
from workbench.geo.shapes import usable_crs
from workbench.geo.treatments import Record

_EARTH = 6371.0088              # km, mean radius
_MOST = 3_000_000               # points along features, in degrees
_PARTS = 4                      # points for each pixel along a line
_SIDE = 1000                    # steps along the extent of points that are on no grid


def distance_to(features: object, like: object, *, name: str | None = None,
                layer: str | None = None, crs: str | None = None) -> xr.DataArray:
    """Distance from the centre of each pixel to the nearest feature, in kilometres.

    Parameters
    ----------
    features : geopandas.GeoDataFrame, str or Path
        Points, lines or polygons, such as clinics, roads or lakes; inside polygons it is zero.
    like : xr.DataArray, str or Path
        A raster on whose grid the distances are wanted.
    name : str, optional
        Of the covariate; "distance to" and the file's name if not given.
    layer : str, optional
        The layer of a file that has several.
    crs : str, optional
        CRS of features that do not state one.

    Returns
    -------
    xr.DataArray
        (y, x), in km: in the plane of a projected CRS, along the Earth in one of degrees (lines
        are then followed by four points per pixel).

    Raises
    ------
    InputError
        If features cannot be read, are none, or have no CRS.

    Examples
    --------
    >>> import geopandas, numpy as np, rioxarray, shapely, xarray as xr, workbench as wb
    >>> grid = xr.DataArray(np.zeros((2, 3)), dims=("y", "x"), name="height", coords={
    ...     "y": [1500.0, 500.0], "x": [500.0, 1500.0, 2500.0]}).rio.write_crs("EPSG:32633")
    >>> well = geopandas.GeoDataFrame(geometry=[shapely.Point(500, 500)], crs="EPSG:32633")
    >>> wb.distance_to(well, grid, name="well").values[1].tolist()
    [0.0, 1.0, 2.0]
    """
    grid = _single(like)
    shapes, told = _features(features, layer, crs)
    shapes = shapes.to_crs(grid.rio.crs)
    x, y = np.meshgrid(grid["x"].values, grid["y"].values)
    km = _km(shapes, told, x.ravel(), y.ravel(), abs(grid.rio.resolution()[0]))
    made = xr.DataArray(km.reshape(grid.shape), dims=("y", "x"),
                        coords={"y": grid["y"], "x": grid["x"]}, name=name or f"distance to {told}",
                        attrs={"units": "km", "long_name": f"distance to {told}"})
    return made.rio.write_crs(grid.rio.crs).rio.write_nodata(np.nan)


def slope(elevation: object, *, name: str = "slope") -> xr.DataArray:
    """Slope of an elevation in degrees, from differences to the neighbouring pixels.

    Parameters
    ----------
    elevation : xr.DataArray, str or Path
        A raster in metres.
    name : str
        Of the covariate.

    Returns
    -------
    xr.DataArray
        (y, x), from 0 (level) to 90; missing where a neighbour is.

    Raises
    ------
    InputError
        If the raster cannot be read or has a single row or column.

    Examples
    --------
    >>> import numpy as np, rioxarray, xarray as xr, workbench as wb
    >>> ramp = xr.DataArray([[0.0, 100.0], [0.0, 100.0]], dims=("y", "x"), name="height", coords={
    ...     "y": [150.0, 50.0], "x": [50.0, 150.0]}).rio.write_crs("EPSG:32633")
    >>> float(wb.slope(ramp)[0, 0].round(6))
    45.0
    """
    height = _single(elevation)
    known = package("pyproj", extra="geo").CRS.from_user_input(height.rio.crs)
    wide, high = (abs(step) for step in height.rio.resolution())
    if known.is_geographic:
        degree = np.pi * _EARTH * 1000 / 180
        wide, high = wide * degree * np.cos(np.radians(height["y"].values))[:, None], high * degree
    else:
        metres = known.axis_info[0].unit_conversion_factor
        wide, high = wide * metres, high * metres
    require(min(height.shape) > 1, f"raster {height.name!r} has {height.shape[0]} x "
            f"{height.shape[1]} pixels, and a slope is a difference of neighbours: expected y and "
            "x of two pixels or more")
    down, across = np.gradient(height.values)
    steep = np.degrees(np.arctan(np.hypot(down / high, across / wide)))
    made = height.copy(data=steep).rename(name)
    return made.assign_attrs(units="degree", long_name=f"slope of {height.name}")


def with_derived(layers: dict[str, xr.DataArray], grid: xr.DataArray | None,
                 distances: object, slope_of: str | None, record: Record
                 ) -> dict[str, xr.DataArray]:
    """Covariates with those that are made of them and of features.

    Parameters
    ----------
    layers : dict of str to xr.DataArray
        Covariates as read.
    grid : xr.DataArray or None
        Where distances are wanted; None where only slopes are.
    distances : features, or a sequence of them
        As of `distance_to`.
    slope_of : str or None
        Covariate that is an elevation in metres.
    record : Record
        Receives what was made.

    Returns
    -------
    dict of str to xr.DataArray
        By name.
    """
    found = dict(layers)
    if slope_of is not None:
        found["slope"] = slope(layers[choose("slope_of", slope_of, layers)])
        record.note(f"covariate 'slope' was made of {slope_of!r}, in degrees")
    if grid is not None and distances is not None:
        for one in (distances if _several(distances) else [distances]):
            made = distance_to(one, grid)
            require(made.name not in found, f"two covariates are named {made.name!r}; "
                    "rename a file")
            found[str(made.name)] = made
            record.note(f"covariate {made.name!r} was made, in km")
    return found


def with_distances(ds: xr.Dataset, distances: object, record: Record) -> xr.Dataset:
    """A bagged dataset with distances from its individuals to features as further covariates.

    Parameters
    ----------
    ds : xr.Dataset
        With x, y and a CRS.
    distances : features, a sequence of them, or None
        As of `distance_to`.
    record : Record
        Receives what was made.

    Returns
    -------
    xr.Dataset
        Each ``distance to NAME``, in km, after the covariates that are there.

    Raises
    ------
    InputError
        If features cannot be read, or the dataset has no CRS.
    """
    if distances is None:
        return ds
    require("crs" in ds.attrs, "distances need the CRS of the points; state it with "
            + option("points_crs", "EPSG:..."))
    x, y = ds["x"].values, ds["y"].values
    step = abs(ds.attrs["grid_transform"][0]) if "grid_transform" in ds.attrs else (
        max(np.ptp(x), np.ptp(y)) / _SIDE or 1.0)
    names = [str(name) for name in ds["covariate"].values]
    units, columns = list(ds["covariate_units"].values), [ds["covariates"].values]
    for one in (distances if _several(distances) else [distances]):
        shapes, told = _features(one, None, None)
        name = f"distance to {told}"
        require(name not in names, f"two covariates are named {name!r}; rename a file")
        names, units = [*names, name], [*units, "km"]
        columns.append(_km(shapes.to_crs(ds.attrs["crs"]), told, x, y, step)[:, None])
        record.note(f"covariate {name!r} was made, in km")
    return ds.drop_dims(schema.COVARIATE).assign(
        covariates=((schema.INDIVIDUAL, schema.COVARIATE), np.hstack(columns))).assign_coords(
        covariate=names, covariate_units=(schema.COVARIATE, np.array(units, dtype=str)))


def _km(shapes, told: str, x: np.ndarray, y: np.ndarray, step: float) -> np.ndarray:
    """Distances (n,) from coordinates in the CRS of the shapes, along the Earth from degrees."""
    finite = shapes.geometry[~shapes.geometry.is_empty & shapes.geometry.notna()].to_numpy()
    require(finite.size > 0, f"{told} holds no features to measure distances to")
    known = package("pyproj", extra="geo").CRS.from_user_input(shapes.crs)
    if known.is_geographic:
        return _around(finite, x, y, step)
    shapely = package("shapely", extra="geo")
    points = shapely.points(x, y)
    nearest = finite[shapely.STRtree(finite).nearest(points)]
    return shapely.distance(points, nearest) * known.axis_info[0].unit_conversion_factor / 1000


def _several(distances: object) -> bool:
    return isinstance(distances, Sequence) and not isinstance(distances, str)


def _single(raster: object) -> xr.DataArray:
    found = read_rasters(raster, Record(), marks="keep")
    require(len(found) == 1, f"expected one raster, got {list(found)}; choose one of them")
    return next(iter(found.values()))


def _features(features: object, layer: str | None, crs: str | None):
    geopandas = package("geopandas", extra="geo")
    if isinstance(features, str | Path):
        path = Path(features)
        require(path.exists(), f"there is no file of features {str(path)!r}")
        with reading(path, "features", "to open it in QGIS and export it again as GeoPackage"):
            shapes, told = geopandas.read_file(path, layer=layer), path.stem
    else:
        require(isinstance(features, geopandas.GeoDataFrame), "expected features as a GeoDataFrame "
                f"or a path, got {type(features).__name__}")
        shapes, told = features, "features"
    if not isinstance(shapes, geopandas.GeoDataFrame):
        raise InputError(f"{told} has no shapes; give a file of points, lines or polygons")
    if shapes.crs is None:
        require(crs is not None, f"{told} have no CRS; state it with {option('crs', 'EPSG:...')}")
        shapes = shapes.set_crs(usable_crs(crs, "crs"))
    return shapes, told


def _around(shapes: np.ndarray, x: np.ndarray, y: np.ndarray, pixel: float) -> np.ndarray:
    """Distances along the Earth in km, from degrees."""
    shapely = package("shapely", extra="geo")
    step = max(pixel / _PARTS, float(shapely.length(shapes).sum()) / _MOST)
    corners = shapely.get_coordinates(shapely.segmentize(shapes, step))
    chord = cKDTree(_on_sphere(*corners.T)).query(_on_sphere(x, y))[0]
    km = 2 * _EARTH * np.arcsin(np.clip(chord / 2, 0, 1))
    areas = shapes[shapely.area(shapes) > 0]
    if areas.size:
        inside = shapely.STRtree(areas).query(shapely.points(x, y), predicate="intersects")[0]
        km[inside] = 0.0
    return km


def _on_sphere(longitude: np.ndarray, latitude: np.ndarray) -> np.ndarray:
    east, north = np.radians(longitude), np.radians(latitude)
    return np.column_stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east),
                            np.sin(north)])
