"""Maps with and without the effects of trained areas given their totals, beside known rates.

    python benchmarks/area_effects.py      # some ten minutes

VBAgg and auto with their defaults on data whose rates inside the areas are known: Korea's
neighbourhoods, US counties, Italian comuni and a simulated country. ``error`` is the root mean
square error of rates, weighted by exposure, relative to the overall rate; ``cover`` the share of
95 % intervals that hold the rate; ``adds up`` the map's total over the data's. Writes
data/results/area_effects.csv.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer
import xarray as xr

import workbench as wb

RESULTS = Path(__file__).parents[1] / "data" / "results" / "area_effects.csv"
DATASETS = ("korea", "us-unemployment", "italy", "simulated-country")
MODELS = {"vbagg": wb.VBAgg, "auto": wb.Auto}
SHOWN = {"over their prior": {"area_effect": False}, "given totals": {},
         "draws that keep totals": {"preserve_totals": True}}


def known_rates(ds: xr.Dataset) -> np.ndarray:
    """True rates of individuals, or observed ones where no true ones are known."""
    return (ds["truth"] if "truth" in ds else ds["individual_value"] / ds["weight"]).values


def scores(ds: xr.Dataset, rate: np.ndarray) -> dict[str, float]:
    """Relative error of rates, and the total that they add up to."""
    weight, known = ds["weight"].values, known_rates(ds)
    overall = np.average(known, weights=weight)
    return {"error": float(np.sqrt(np.average((rate - known) ** 2, weights=weight)) / overall),
            "adds up": float((rate * weight).sum() / ds["value"].values.sum())}


def main() -> None:
    """Print each row and store the table."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows = []
    for name in DATASETS:
        ds = wb.load(name)
        area, weight, known = ds["membership"].values, ds["weight"].values, known_rates(ds)
        own = ds["value"].values / np.bincount(area, weight)
        rows.append({"dataset": name, "model": "population split", "effects": "",
                     **scores(ds, own[area])})
        for model, made in MODELS.items():
            fit = made().fit(ds)
            for effects, options in SHOWN.items():
                maps = fit.to_dataset(ds, quantiles=(0.025, 0.975), **options)
                low, high = maps["rate_quantile"].values
                rows.append({"dataset": name, "model": model, "effects": effects,
                             **scores(ds, maps["mean"].values),
                             "cover": float(((known >= low) & (known <= high)).mean())})
                print(pd.Series(rows[-1]).to_string(), flush=True)
    pd.DataFrame(rows).to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
