"""Unemployed people in US states 2009, with the truth by county."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas
import xarray as xr

from workbench.checks import choose, package
from workbench.datasets.packaged import packaged_file
from workbench.datasets.places import (
    altitude_at,
    places_within,
    us_counties,
    us_county_names,
)

# Albers equal area of the contiguous states (as EPSG:5070), in kilometres.
CRS_KM = ("+proj=aea +lat_0=23 +lon_0=-96 +lat_1=29.5 +lat_2=45.5 +datum=NAD83 +units=km +no_defs")
COVARIATES = ("log10_density", "log10_labour_force", "altitude", "log10_towns")
# DC is one county: there is nothing to find out inside it.
_OUTSIDE = ("AK", "HI", "DC", "AS", "GU", "MP", "PR", "VI")
_AROUND_KM = 50
_COLUMNS = ["id", "state_fips", "county_fips", "name", "year", "labour_force", "employed",
            "unemployed", "rate"]


def load(covariates: Sequence[str] = COVARIATES) -> xr.Dataset:
    """US unemployment 2009 (real): unemployed people in 48 states, the truth in 3,108 counties.

    Weights are the labour force. Covariates: its density and its number, altitude, and the number
    of towns and villages within 50 km of the centre. Nothing of them is made from the unemployed,
    though the labour force counts them (9 %) among all.

    Traps: numbers have commas and trailing blanks; codes in two columns without leading zeros;
    Broomfield county (founded in 2001) and independent cities of Virginia are counties here;
    Alaska, Hawaii, the territories and the District of
    Columbia are left out. The counts are
    estimates by the Bureau of Labor Statistics, which models counties with the help of their
    state's total: neighbouring counties are smoother than counted ones would be.

    Parameters
    ----------
    covariates : sequence of str
        Which of the four covariates to take.

    Returns
    -------
    xr.Dataset
        Individuals are counties with unemployed people as individual_value, which fitting never
        sees; x, y and geometries are kilometres.

    Raises
    ------
    ImportError
        If the extra "data" is not installed.
    """
    from workbench.geo import bag_children  # needs the extra "geo"

    chosen = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    for name in chosen:
        choose("covariate", name, COVARIATES)
    file = packaged_file("bokeh_sampledata", "_data", "unemployment09.csv.gz")
    raw = pandas.read_csv(file, header=None, names=_COLUMNS, dtype=str)
    codes = raw["state_fips"].str.strip().str.zfill(2) + raw["county_fips"].str.strip().str.zfill(3)
    counts = raw[["labour_force", "unemployed"]].apply(
        lambda column: column.str.replace(",", "").str.strip().astype(float))
    shapes = us_counties()
    shapes = shapes[~shapes["state"].isin(_OUTSIDE)]
    table = shapes.join(counts.set_axis(codes), how="inner")
    table["county"] = us_county_names()
    table = table.to_crs(CRS_KM)
    centre = table.geometry.centroid.to_crs("EPSG:4269")
    north, east = centre.y.to_numpy(), centre.x.to_numpy()
    table["log10_density"] = np.log10(table["labour_force"] / table.geometry.area)
    table["log10_labour_force"] = np.log10(table["labour_force"])
    table["altitude"] = altitude_at(north, east)
    table["log10_towns"] = np.log10(places_within(north, east, _AROUND_KM) + 1)
    table.geometry = package("shapely", extra="geo").coverage_simplify(
        table.geometry.to_numpy(), 1.0)
    ds = bag_children(
        table, parent="state", covariates=list(chosen), weight="labour_force",
        value="unemployed", name="county", labels={"bag_name": "state"},
        units={"log10_density": "log10 persons/km2", "log10_labour_force": "log10 persons",
               "altitude": "m", "log10_towns": "log10 (towns + 1)", "labour_force": "persons",
               "unemployed": "persons"},
        attrs={
            "title": "Unemployed people in the contiguous United States, 2009",
            "source": "US Bureau of Labor Statistics and Census Bureau (TIGER/Line), and GeoNames, "
                      "via bokeh-sampledata 2026.1; altitude of pvlib 0.16.1",
            "licence": "public domain (US government); towns CC BY 3.0 (GeoNames)",
            "level": "state", "levels": "state", "simplified": "outlines to 1 km",
        },
    )
    for name in ("value", "individual_value"):
        ds[name].attrs["long_name"] = "unemployed people"
    ds.attrs["crs"] = CRS_KM
    dropped = len(shapes) - len(table)
    ds.attrs["treatments"] = "\n".join(filter(None, [
        f"{dropped} counties without figures were left out" if dropped else "",
        ds.attrs["treatments"]]))
    return ds
