"""Households in Californian counties 1990, with the truth by block group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.bagging import assemble, from_table
from workbench.checks import choose, package, require
from workbench.datasets.california import ROWS, read_table
from workbench.datasets.places import us_counties, us_county_names

# Albers equal area of California (as EPSG:3310), in kilometres.
CRS_KM = ("+proj=aea +lat_0=0 +lon_0=-120 +lat_1=34 +lat_2=40.5 +x_0=0 +y_0=-4000 +datum=NAD83 "
          "+units=km +no_defs")
_UNITS = {"log10_income": "log10 10,000 dollars", "house_age": "years",
          "log10_value": "log10 100,000 dollars", "log10_population": "log10 persons",
          "log10_rooms": "log10 rooms / household", "log10_bedrooms": "log10 bedrooms / household"}
COVARIATES = ("log10_income", "house_age", "log10_value", "log10_population")


def load(
    covariates: Sequence[str] = COVARIATES,
    directory: str | Path | None = None,
    download: bool = False,
) -> xr.Dataset:
    """California 1990 (real): households in 58 counties, with the truth in 20,640 block groups.

    Households are population / mean occupancy of the housing table, which gives whole numbers to
    1e-9; weights are persons. Covariates: median income, age and value of houses, and population.

    Traps: the table's AveOccup is the answer (its inverse is the rate of households) and is never
    a covariate; AveRooms and AveBedrms are means over households and can be asked for, but whoever
    knows them has counted households. Incomes above 15, values above 5 and ages above 52 are cut
    off there; a few block groups have more households than people. Only 12,590 coordinates are
    distinct: block groups at the same point differ. Barracks, prisons and colleges have tens to
    hundreds of persons a "household". Points are given to 0.01 degree, so that some lie outside
    all counties; these go to the nearest (``treatments`` has their number). Counties are those of
    2009, which are those of 1990.

    Parameters
    ----------
    covariates : sequence of str
        Any of log10_income, house_age, log10_value, log10_population, log10_rooms,
        log10_bedrooms.
    directory, download
        Where the housing table is, as for ``california-housing``.

    Returns
    -------
    xr.Dataset
        Individuals are block groups with households as individual_value, which fitting never
        sees; x and y are kilometres, bag_geometry the counties.

    Raises
    ------
    ImportError
        If bokeh-sampledata, which has the counties, is not installed.
    InputError
        If the housing table is not found.
    """
    geopandas, shapely = package("geopandas", extra="geo"), package("shapely", extra="geo")
    names = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    for name in names:
        choose("covariate", name, _UNITS)
    counties = us_counties("CA").to_crs(CRS_KM)
    table = read_table(directory, download)
    require(len(table) == ROWS, f"expected {ROWS:,} rows of California housing, got {len(table)}")
    households = table["Population"] / table["AveOccup"]
    table["households"] = np.round(households)
    off = float(np.abs(households - table["households"]).max())
    require(off < 1e-3, f"Population / AveOccup should be whole numbers of households, but one is "
                        f"off by {off:.3g}: this is another table than California housing")
    for name, column in (("log10_income", "MedInc"), ("log10_value", "MedHouseVal"),
                         ("log10_population", "Population"), ("log10_rooms", "AveRooms"),
                         ("log10_bedrooms", "AveBedrms")):
        table[name] = np.log10(table[column])
    table["house_age"] = table["HouseAge"]
    points = geopandas.GeoSeries.from_xy(table["Longitude"], table["Latitude"], crs="EPSG:4269"
                                         ).to_crs(CRS_KM)
    table["x"], table["y"] = points.x, points.y
    tree = shapely.STRtree(counties.geometry.to_numpy())
    place, county = tree.query(points.to_numpy(), predicate="intersects")
    member = np.full(len(table), -1)
    member[place[::-1]] = county[::-1]      # on a border: the first county
    outside = member < 0
    member[outside] = tree.nearest(points[outside].to_numpy())
    present = np.unique(member)
    rows = from_table(table, list(names), "households", weight="Population", x="x", y="y",
                      units=_UNITS | {"x": "km", "y": "km", "Population": "persons",
                                      "households": "households"})
    rows["weight"].attrs["long_name"] = "population"
    attrs = rows["individual_value"].attrs
    ds = assemble(
        rows, np.searchsorted(present, member),
        np.bincount(np.searchsorted(present, member), table["households"]),
        counties.index[present].to_numpy(), value_attrs=attrs,
        bag_coords={"bag_name": us_county_names().reindex(counties.index[present]).to_numpy(str),
                    "bag_geometry": shapely.simplify(
                        counties.geometry.to_numpy()[present], 0.5).astype(object)},
    )
    ds.attrs |= {
        "title": "Households in California, 1990", "level": "county", "levels": "county",
        "source": "Pace and Barry 1997, StatLib; counties of the Census Bureau (TIGER/Line) via "
                  "bokeh-sampledata 2026.1",
        "licence": "public domain (US census of 1990)", "crs": CRS_KM,
        "simplified": "outlines to 0.5 km",
        "treatments": f"{int(outside.sum())} block groups outside all counties were given to the "
                      "nearest",
    }
    return ds
