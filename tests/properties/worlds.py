"""Strategies of small datasets that are as odd as data can be and still be read."""

from __future__ import annotations

import numpy as np
import xarray as xr
from hypothesis import strategies as st

COVARIATES = ("ordinary", "all alike", "one constant", "collinear", "large", "tiny", "one far off")
WEIGHTS = ("one", "scaled", "ragged", "extreme")
COUNTS = ("small", "nearly zero", "a billion", "zero to a billion")
CONTINUOUS = ("ordinary", "constant", "large", "tiny")


@st.composite
def bagged(draw, kind: str = st.sampled_from(["count", "continuous"])) -> xr.Dataset:
    """A bagged dataset: ragged bags, odd covariates, weights from 1e-12 to 1e12, odd values.

    Of kind "positive" it is continuous without negative values, of kind "survey" it has trials.
    """
    kind = draw(kind) if isinstance(kind, st.SearchStrategy) else kind
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    bags = draw(st.sampled_from([1, 2, 3, 9]))
    sizes = {"ragged": np.maximum(1, rng.lognormal(1, 1.3, bags)).astype(int).clip(max=40),
             "one each": np.ones(bags, int), "equal": np.full(bags, 4)}[
                 draw(st.sampled_from(["ragged", "one each", "equal"]))]
    membership = np.repeat(np.arange(bags), sizes)
    names = [f"c{i}" for i in range(draw(st.sampled_from([1, 2, 3, 30, 300])))]
    x = covariates(rng, len(membership), len(names), draw(st.sampled_from(COVARIATES)))
    aggregation = {"count": "sum", "survey": "mean"}.get(kind) or draw(
        st.sampled_from(["sum", "mean"]))
    found = values(rng, bags, "count" if kind in ("count", "survey") else kind, draw)
    found = np.abs(found) if kind == "positive" else found
    known = "count" if kind in ("count", "survey") else "continuous"
    ds = xr.Dataset(
        {"covariates": (("individual", "covariate"), x),
         "weight": ("individual", weights(rng, len(x), draw(st.sampled_from(WEIGHTS)))),
         "membership": ("individual", membership),
         "value": ("bag", found, {"kind": known, "aggregation": aggregation})},
        coords={"bag": [f"b{i}" for i in range(bags)], "covariate": names})
    if kind == "survey":
        more = draw(st.sampled_from([0, 1, 5]))
        ds["trials"] = ("bag", found * draw(st.sampled_from([1, 3])) + more)
    if draw(st.booleans()):
        place = rng.uniform(0, 100, (2, len(x)))
        ds = ds.assign_coords(x=("individual", place[0], {"units": "km"}),
                              y=("individual", place[1], {"units": "km"}))
    return ds


def covariates(rng: np.random.Generator, count: int, columns: int, oddity: str) -> np.ndarray:
    """A table (count, columns) that is odd in the named way."""
    x = rng.normal(size=(count, columns))
    if oddity == "all alike":
        x[:] = x[0]
    elif oddity == "one constant":
        x[:, 0] = 3.0
    elif oddity == "collinear":
        x[:, -1] = 2 * x[:, 0] + 1
    elif oddity == "large":
        x = 1e9 * (1 + x)
    elif oddity == "tiny":
        x *= 1e-9
    elif oddity == "one far off":
        x[0] = 1e12
    return x


def weights(rng: np.random.Generator, count: int, oddity: str) -> np.ndarray:
    """Weights (count,) that are odd in the named way."""
    return {"one": np.ones(count), "scaled": np.full(count, 10.0 ** rng.integers(-12, 13)),
            "ragged": rng.lognormal(0, 3, count), "extreme": 10.0 ** rng.uniform(-12, 12, count),
            }[oddity]


def values(rng: np.random.Generator, bags: int, kind: str, draw) -> np.ndarray:
    """Counts or real numbers (bags,) that are odd in a way that is drawn."""
    if kind == "count":
        return {"small": rng.poisson(5, bags), "nearly zero": (np.arange(bags) == 0) + 0,
                "a billion": rng.poisson(1e9, bags),
                "zero to a billion": rng.choice([0, 1, 1000, 10**9], bags)}[
                    draw(st.sampled_from(COUNTS))].astype(float)
    return {"ordinary": rng.normal(size=bags), "constant": np.full(bags, 2.5),
            "large": 1e9 * rng.normal(size=bags), "tiny": 1e-9 * rng.normal(size=bags)}[
                draw(st.sampled_from(CONTINUOUS))]
