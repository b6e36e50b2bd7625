"""Inducing inputs for many totals: what a map gains from more than 100, and what it takes.

    python benchmarks/detail.py             # half an hour

The log rate, or log-odds, is the sum of two fields on 100 x 100 pixels, one that is smooth over 8
and one over 3 of them. ``counts``: Poisson totals of Voronoi areas, which have effects of sd 0.2.
``survey``: positives among 20 to 60 people at places, which have effects of sd 0.5. VBAgg with its
defaults but for ``inducing``, on one thread. ``error`` is the root mean square of log rates, or
shares, of pixels; ``cover`` the share of 95 % intervals that hold a pixel's rate, or, from joint
draws, the mean share of one of 100 districts. Writes data/results/detail.csv.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer
import xarray as xr
from scipy.ndimage import gaussian_filter, map_coordinates
from scipy.spatial import cKDTree
from scipy.special import expit

import workbench as wb

RESULTS = Path(__file__).parents[1] / "data" / "results" / "detail.csv"
SIDE, DISTRICTS, DRAWS = 100, 10, 400
BAGS = {"counts": (400, 1_000, 2_500), "survey": (400, 1_000, 2_500)}
#: Effects of areas, and of places.
EFFECT = {"counts": 0.2, "survey": 0.5}
#: A number of bags beyond which a fit advises a quarter of it, which is tried, too.
MANY = 1_600


def field(rng: np.random.Generator) -> np.ndarray:
    """Detail of two sizes, row by row."""
    parts = []
    for reach in (8.0, 3.0):
        raw = gaussian_filter(rng.normal(size=(SIDE, SIDE)), reach, mode="wrap")
        parts.append((raw - raw.mean()) / raw.std())
    return 0.8 * parts[0] + 0.6 * parts[1]


def counts(areas: int, rng: np.random.Generator) -> tuple[xr.Dataset, xr.Dataset, np.ndarray]:
    """Cases in areas; the same as the pixels to map; the rate that is expected in each."""
    log_rate = field(rng).ravel() - 4
    y, x = (grid.ravel() + 0.5 for grid in np.mgrid[:SIDE, :SIDE])
    place = np.stack([x, y], axis=1)
    members = cKDTree(place[rng.choice(len(place), areas, replace=False)]).query(place)[1]
    order = np.argsort(members, kind="stable")
    place, members, log_rate = place[order], members[order], log_rate[order]
    people = 3 * np.exp(rng.normal(4, 0.7, len(place)))
    effects = rng.normal(0, EFFECT["counts"], areas)
    totals = np.bincount(members, people * np.exp(log_rate + effects[members]))
    ds = xr.Dataset(
        {"covariates": (("individual", "covariate"), np.zeros((len(place), 0))),
         "weight": ("individual", people, {"units": "people"}),
         "membership": ("individual", members),
         "value": ("bag", rng.poisson(totals).astype(float), {
             "units": "cases", "kind": "count", "aggregation": "sum"})},
        coords={"x": ("individual", place[:, 0]), "y": ("individual", place[:, 1]),
                "bag": [f"area {k}" for k in range(areas)],
                "covariate": np.array([], dtype=str)})
    return ds, ds, np.exp(log_rate + EFFECT["counts"]**2 / 2)


def survey(places: int, rng: np.random.Generator) -> tuple[xr.Dataset, xr.Dataset, np.ndarray]:
    """Surveyed places; all pixels; the share that is expected in each."""
    logit = field(rng) - 1
    xy = rng.uniform(0, SIDE - 1, (places, 2))
    own = map_coordinates(logit, xy[:, ::-1].T, order=1)
    own = own + rng.normal(0, EFFECT["survey"], places)
    tested = rng.integers(20, 61, places)
    y, x = (grid.ravel() for grid in np.mgrid[:SIDE, :SIDE])
    tables = (pd.DataFrame({"x": xy[:, 0], "y": xy[:, 1], "n": tested,
                            "positive": rng.binomial(tested, expit(own))}),
              pd.DataFrame({"x": x + 1e-6, "y": y, "n": 1, "positive": 0}))
    ds, pixels = (wb.bag_points(table, "positive", trials="n", kind="count",
                                points_crs="EPSG:32633") for table in tables)
    at, share = np.polynomial.hermite_e.hermegauss(20)
    expected = expit(logit.ravel()[:, None] + EFFECT["survey"] * at) @ share / share.sum()
    return ds, pixels, expected


def scores(kind: str, fit: wb.Fit, pixels: xr.Dataset, truth: np.ndarray) -> dict[str, float]:
    """Error of pixels, and coverage of 95 % intervals."""
    rates = fit.at(pixels)
    mean = rates.mean.values
    if kind == "counts":
        low, high = (one.values for one in rates.interval(0.95))
        return {"error": np.sqrt(np.mean(np.log(mean / truth)**2)),
                "cover": ((low <= truth) & (truth <= high)).mean()}
    y, x = np.divmod(np.arange(SIDE**2), SIDE)
    district = (y * DISTRICTS // SIDE) * DISTRICTS + x * DISTRICTS // SIDE
    size = np.bincount(district)
    means = np.stack([np.bincount(district, draw) / size
                      for draw in rates.sample(DRAWS, seed=0).values])
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    whole = np.bincount(district, truth) / size
    return {"error": np.sqrt(np.mean((mean - truth)**2)),
            "cover": ((low <= whole) & (whole <= high)).mean()}


def row(kind: str, bags: int, seed: int, inducing: int | str) -> dict:
    """Time, error and coverage of one fit."""
    rng = np.random.default_rng([seed, bags, *kind.encode()])
    ds, pixels, truth = {"counts": counts, "survey": survey}[kind](bags, rng)
    began = time.process_time()
    fit = wb.VBAgg(inducing=inducing).fit(ds)
    return {"kind": kind, "bags": bags, "seed": seed, "asked": inducing,
            "inducing": fit.inner.state.options.inducing,
            "processor": time.process_time() - began, **scores(kind, fit, pixels, truth)}


def main(seeds: int = 3) -> None:
    """Measure and store the table."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    row("counts", 30, 0, 10)                        # what is loaded once is not counted
    rows = []
    for kind, numbers in BAGS.items():
        for bags in numbers:
            asked = [100, "auto"] + ([bags // 4] if bags > MANY else [])
            rows += [row(kind, bags, seed, one) for seed in range(seeds) for one in asked]
            print(pd.DataFrame(rows).groupby(["kind", "bags", "asked"], sort=False).mean(
                numeric_only=True).round(3), flush=True)
            pd.DataFrame(rows).to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
