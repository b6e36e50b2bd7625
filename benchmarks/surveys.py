"""Surveys with known shares: `auto` beside VBAgg and plain shares, and what it says of pure noise.

    python benchmarks/surveys.py                # twelve maps and 24 of noise; an hour
    python benchmarks/surveys.py --seeds 2

Areas of 900 pixels, up to 120 people tested in each. ``smooth``: logits are a smooth field;
``covariate``: they follow a covariate; ``uneven``: a covariate, and each area has something of its
own, of sd 0.5; ``noise``: one share everywhere, where nothing can be better than one share, and
``surely`` says whether the fit claims it. Writes data/results/surveys.csv.
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
from scipy.ndimage import gaussian_filter
from scipy.special import expit
from tqdm import tqdm

import workbench as wb
from workbench.evaluation import coverage, crps
from workbench.labelled.held_out import ONE_SHARE
from workbench.labelled.verdict import standing

RESULTS = Path(__file__).parents[1] / "data" / "results" / "surveys.csv"
SIDE, SAMPLES = 30, 1000
MODELS = {"auto": lambda: wb.Auto(workers=1), "VBAgg": wb.VBAgg,
          "VBAgg without effects": lambda: wb.VBAgg(overdispersion="none")}


def survey(kind: str, areas: int, seed: int) -> xr.Dataset:
    """Voronoi areas on a square, positives out of trials, and the share of each pixel."""
    rng = np.random.default_rng([seed, areas, *kind.encode()])
    place = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE)), -1).reshape(-1, 2) + 0.5
    centres = rng.choice(len(place), areas, replace=False)
    members = ((place[:, None] - place[centres]) ** 2).sum(-1).argmin(1)
    order = np.argsort(members, kind="stable")
    place, members = place[order], members[order]

    def field(reach: float) -> np.ndarray:
        raw = gaussian_filter(rng.normal(size=(SIDE, SIDE)), reach, mode="wrap").ravel()[order]
        return (raw - raw.mean()) / raw.std()

    covariate = field(3.0) + 0.5 * rng.normal(size=len(place))
    logit = {"smooth": -2 + 0.8 * field(6.0), "covariate": -2 + 0.9 * covariate,
             "uneven": -2 + 0.9 * covariate, "noise": np.full(len(place), -0.85)}[kind]
    if kind == "uneven":
        logit = logit + 0.5 * rng.normal(size=areas)[members]
    share, people = expit(logit), np.exp(rng.normal(4, 0.7, len(place)))
    mean = np.bincount(members, people * share) / np.bincount(members, people)
    trials = rng.integers(0, 120, areas)
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), covariate[:, None]),
         "weight": ("individual", people), "membership": ("individual", members),
         "value": ("bag", rng.binomial(trials, mean).astype(float),
                   {"kind": "count", "aggregation": "mean", "units": "positives"}),
         "trials": ("bag", trials), "share": ("individual", share)},
        {"covariate": ["c"], "bag": np.arange(areas), "individual": np.arange(len(place)),
         "x": ("individual", place[:, 0], {"units": "km"}),
         "y": ("individual", place[:, 1], {"units": "km"})})


def row(kind: str, areas: int, seed: int, method: str) -> dict:
    """Errors and coverage of one method on one survey."""
    ds = survey(kind, areas, seed)
    truth, given, began = ds["share"].values, ds.drop_vars("share"), time.process_time()
    told = {"kind": kind, "areas": areas, "seed": seed, "method": method}
    if method == "own share":
        found = ((ds["value"] + 0.5) / (ds["trials"] + 1)).values[ds["membership"].values]
    elif method == ONE_SHARE:
        found = np.full(len(truth), float(ds["value"].sum() / ds["trials"].sum()))
    else:
        fit = MODELS[method]().fit(given)
        at = fit.at(given)
        draws, found = at.sample(SAMPLES, seed=0).transpose("sample", ...).values, at.mean.values
        half, most = coverage(truth, draws, (0.5, 0.95))
        told |= {"crps": float(crps(truth, draws).mean()), "cover_50": half, "cover_95": most}
        if method == "auto":
            stands = standing(fit.recovery)
            told |= {"flat": float(fit.weights.sel(model="flat")), "surely": ONE_SHARE not in (
                *stands.better, *stands.tied, *stands.unsure, *stands.alone)}
    return told | {"rmse": float(np.sqrt(np.mean((found - truth) ** 2))),
                   "processor": time.process_time() - began}


def main(seeds: int = 4, noise: int = 12) -> None:
    """Measure every survey, and store the table."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    maps = [(kind, 50, seed, method) for kind in ("smooth", "covariate", "uneven")
            for seed in range(seeds) for method in (*MODELS, "own share", ONE_SHARE)]
    empty = [("noise", areas, seed, "auto") for areas in (12, 40) for seed in range(noise)]
    rows = []
    for one in tqdm([*maps, *empty]):
        rows.append(row(*one))
        pd.DataFrame(rows).to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
