"""Tiny data and a tiny fit of every model, for what has to be true of all of them."""

from dataclasses import fields

import numpy as np
import xarray as xr

import workbench as wb
from workbench.gp.models.registry import ENTRIES

OPTIONS = {"inducing": 6, "max_steps": 8, "tolerance": 1e-2, "boundary": "half", "samples": 8,
           "composite": "none"}


def made(areas=6, seed=0, kind="count") -> xr.Dataset:
    """Areas side by side, with coordinates and one covariate."""
    rng, size = np.random.default_rng(seed), 4
    n, member = areas * size, np.repeat(np.arange(areas), size)
    x, y = 10.0 * member + rng.uniform(0, 9, n), rng.uniform(0, 20, n)
    slope = np.sin(x / 15)
    weight = rng.uniform(5, 20, n)
    total = np.bincount(member, weight * np.exp(0.5 * slope))
    value = rng.poisson(total) if kind == "count" else (
        total / np.bincount(member, weight) + 0.05 * rng.normal(size=areas))
    attrs = {"kind": kind, "aggregation": "sum" if kind == "count" else "mean", "units": "cases"}
    return xr.Dataset(
        {"covariates": (("individual", "covariate"),
                        slope[:, None] + 0.1 * rng.normal(size=(n, 1))),
         "weight": ("individual", weight, {"units": "people"}),
         "membership": ("individual", member), "value": ("bag", value.astype(float), attrs)},
        {"covariate": ["slope"], "bag": [f"area {k}" for k in range(areas)],
         "x": ("individual", x), "y": ("individual", y)}, {"title": "made"})


def data_of(name: str) -> xr.Dataset | dict[str, xr.Dataset]:
    """What a model learns from here: one dataset, or two sources."""
    several = name in ENTRIES and ENTRIES[name].several
    data = made(kind="continuous" if several and name != "mr-vbagg" else "count")
    return {"one": data, "two": made(4, 5, "continuous")} if several else data


def learnt(name: str, **extra):
    """A tiny fit of a model, and what it is asked about."""
    if name == "auto":
        return wb.Auto(effort="quick", workers=1, **extra).fit(made()), made(5, 3)
    allowed = {f.name for f in fields(ENTRIES[name].load().options_type)}
    model = wb.make_model(name, **{k: v for k, v in (OPTIONS | extra).items() if k in allowed})
    return model.fit(data_of(name)), made(5, 3)
