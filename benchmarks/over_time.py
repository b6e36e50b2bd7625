"""Counts of areas in several years: what the effect that areas keep is worth, beside one year.

    python benchmarks/over_time.py          # five minutes; writes data/results/over_time.csv

Countries of 30 districts (Voronoi cells) on 60 x 60 pixels: the log rate is 0.6 times a rough
covariate and 0.4 times a smooth map, and each district has a log difference of its own of a
standard deviation that is zero or 0.3, in three years, in each of which it is the same but for 0.1
or nothing. `VBAgg` of slopes and place, through averages, learns from the first year, or from all
three with and without ``persistence``. Scored is the map of the first year, by people: the mean
squared error of its log rate, and how much of the true rates (without the year's own difference)
the 95 % intervals cover. Seconds are of the processor with one thread.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import rioxarray  # noqa: F401 (the accessor rio)
import shapely
import torch
import typer
import xarray as xr
from scipy.ndimage import gaussian_filter

import workbench as wb

RESULTS = Path(__file__).parents[1] / "data" / "results" / "over_time.csv"
DISTRICTS, SIDE, YEARS = 30, 60, (2019, 2020, 2021)
CASES = {"alike": (0.0, 0.0), "differ": (0.3, 0.0), "differ, and by year": (0.3, 0.1)}
MODELS = {"one year": (1, "none"), "three years": (3, "none"),
          "three years, persistence": (3, "area")}


def country(seed: int, own: float, yearly: float):
    """Districts, rasters of covariate and people, a table of counts, and the true rates."""
    rng = np.random.default_rng(seed)

    def smooth(width: float) -> np.ndarray:
        field = gaussian_filter(rng.normal(size=(SIDE, SIDE)), width)
        return (field - field.mean()) / field.std()

    height, place, crowd = smooth(3), smooth(9), smooth(2)
    places = np.arange(SIDE) + 0.5
    box = shapely.box(0, 0, SIDE, SIDE)
    seeds = shapely.MultiPoint(rng.uniform(0, SIDE, (DISTRICTS, 2)))
    cells = [cell & box for cell in shapely.voronoi_polygons(seeds, extend_to=box).geoms]
    districts = gpd.GeoDataFrame({"code": [f"D{k:02d}" for k in range(len(cells))]},
                                 geometry=cells, crs="EPSG:32633")
    x, y = np.meshgrid(places, places)
    tree = shapely.STRtree(cells)
    area = np.empty(x.size, dtype=int)
    point, which = tree.query(shapely.points(x.ravel(), y.ravel()), predicate="within")
    area[point] = which
    people = np.round(300 * np.exp(crowd))
    rate = 0.01 * np.exp(0.6 * height + 0.4 * place) * np.exp(
        own * rng.normal(size=DISTRICTS))[area].reshape(x.shape)
    expected = np.bincount(area, (people * rate).ravel(), DISTRICTS)
    table = pd.concat([pd.DataFrame({
        "code": districts["code"], "year": year,
        "cases": rng.poisson(expected * np.exp(yearly * rng.normal(size=DISTRICTS)))})
        for year in YEARS])

    def raster(values: np.ndarray, name: str) -> xr.DataArray:
        grid = xr.DataArray(values[::-1].astype(float), {"y": places[::-1], "x": places},
                            ("y", "x"), name=name)
        return grid.rio.write_crs("EPSG:32633")

    return districts, raster(height, "height"), raster(people, "people"), table, rate[::-1]


def scored(made, years: int, persistence: str) -> dict[str, float]:
    """One fit, and the scores of its first year."""
    districts, height, people, table, rate = made
    time_of = {} if years == 1 else {"time": "year"}
    ds = wb.bag_polygons(districts, [height], people, value="cases", join="code",
                         totals=table[table["year"].isin(YEARS[:years])], **time_of)
    began = time.process_time()
    fit = wb.VBAgg(kernel="linear(height)+matern32(coordinates)", inducing_inputs="averages",
                   persistence=persistence).fit(ds)
    seconds = time.process_time() - began
    first = ds["membership"].values < ds.sizes["bag"] // years
    truth = rate[ds["row"].values, ds["column"].values][first]
    weight, found = ds["weight"].values[first], fit.at(ds)
    low, high = (np.asarray(bound)[first] for bound in found.interval(0.95))
    return {"error": np.average(np.square(np.log(found.mean.values[first] / truth)),
                                weights=weight),
            "coverage": np.average((low <= truth) & (truth <= high), weights=weight),
            "seconds": seconds}


def main(seeds: int = 5) -> None:
    """Run all countries and write the table."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows = []
    for case, (own, yearly) in CASES.items():
        for seed in range(1, seeds + 1):
            made = country(seed, own, yearly)
            for model, given in MODELS.items():
                rows.append({"case": case, "seed": seed, "model": model, **scored(made, *given)})
                print(rows[-1], flush=True)
    pd.DataFrame(rows).round(5).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    typer.run(main)
