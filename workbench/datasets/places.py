"""Outlines, altitudes and towns that come inside packages, read without importing these."""

from __future__ import annotations

import gzip
import json
import sqlite3
from contextlib import closing

import numpy as np
import pandas
from scipy.spatial import cKDTree

from workbench.checks import package
from workbench.datasets.packaged import altitude_on, packaged_file

_EARTH_KM = 6371.0
_BOUNDARIES = ("bokeh_sampledata", "_data", "geographic_boundaries.db")


def us_counties(state: str | None = None):  # a geopandas.GeoDataFrame
    """Outlines of US counties of 2009, in degrees.

    Parameters
    ----------
    state : str, optional
        Postal abbreviation, such as "CA"; all states and territories if not given.

    Returns
    -------
    geopandas.GeoDataFrame
        Indexed by five-digit FIPS code, with state (postal abbreviation).

    Raises
    ------
    ImportError
        If bokeh-sampledata is not installed.
    """
    geopandas = package("geopandas", extra="geo")
    where, given = (" where state = ?", (state,)) if state else ("", ())
    path = packaged_file(*_BOUNDARIES)
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as base:
        rows = base.execute(
            f"select id, state, geometry from us_counties{where} order by id", given).fetchall()
    codes, states, outlines = zip(*rows, strict=True)
    shapes = geopandas.GeoSeries.from_wkb(list(outlines), index=list(codes), crs="EPSG:4269")
    return geopandas.GeoDataFrame({"state": list(states)}, index=list(codes),
                                  geometry=shapes.to_numpy(), crs="EPSG:4269")


def us_county_names() -> pandas.Series:
    """Names of US counties with their state, by FIPS code."""
    with closing(sqlite3.connect(
            f"{packaged_file(*_BOUNDARIES).as_uri()}?mode=ro", uri=True)) as base:
        return pandas.read_sql("select id, json_extract(metadata, '$.detailed_name') as name "
                               "from us_counties", base, index_col="id")["name"]


def altitude_at(north: np.ndarray, east: np.ndarray, degrees: float = 0.25) -> np.ndarray:
    """Altitude at points, averaged over squares of ``degrees``, in metres.

    Parameters
    ----------
    north, east : array (n,)
        Latitudes and longitudes in degrees.
    degrees : float
        Side of the squares averaged over.

    Returns
    -------
    array (n,)
        Metres.

    Raises
    ------
    ImportError
        If pvlib is not installed.
    """
    step = 1 / 12
    lat = np.arange(north.min() - step, north.max() + 2 * step, step)
    lon = np.arange(east.min() - step, east.max() + 2 * step, step)
    grid = altitude_on(lat, lon, degrees)
    return grid.interp(lat=("point", north), lon=("point", east)).values


def places_within(north: np.ndarray, east: np.ndarray, km: float) -> np.ndarray:
    """Number of towns and villages of the United States within so many kilometres of points.

    They are those of GeoNames as bokeh-sampledata has them (37,616; CC BY 3.0).

    Parameters
    ----------
    north, east : array (n,)
        Latitudes and longitudes in degrees.
    km : float
        Distance.

    Returns
    -------
    int array (n,)
        Numbers of places.

    Raises
    ------
    ImportError
        If bokeh-sampledata is not installed.
    """
    with gzip.open(packaged_file("bokeh_sampledata", "_data", "us_cities.json.gz")) as file:
        towns = json.load(file)
    tree = cKDTree(_sphere(np.array(towns["lat"]), np.array(towns["lon"])))
    chord = 2 * np.sin(km / _EARTH_KM / 2)
    return tree.query_ball_point(_sphere(north, east), chord, return_length=True)


def _sphere(north: np.ndarray, east: np.ndarray) -> np.ndarray:
    north, east = np.radians(north), np.radians(east)
    return np.column_stack([np.cos(north) * np.cos(east), np.cos(north) * np.sin(east),
                            np.sin(north)])
