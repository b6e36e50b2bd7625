"""What random Fourier features cost a map: exact CMP on the CMIP6 fields, at some of the pixels.

    python benchmarks/random_features.py      # some three minutes; needs WORKBENCH_DATA

One split of the experiment temperature, hyperparameters by all pairs, then the posterior by all
pairs and by features: RMSE, share of the truth inside 95 % intervals, root mean square distance to
the map from all pairs, median of the ratios of sds to its own, share of sds that are zero, and
processor seconds of conditioning and map. One thread. Writes data/results/random_features.csv.
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer

RESULTS = Path(__file__).parents[1] / "data" / "results" / "random_features.csv"
SPLIT, PIXELS = 2, 4_000
FEATURES = (0, 1000, 5000)      # none: all pairs
COLUMNS = ["features", "pixels", "rmse", "coverage", "off", "sd_ratio", "zero_sds", "seconds"]


def main(pixels: int = PIXELS) -> None:
    """Fit once, then map with all pairs and with features."""
    from workbench.gp.data.bags import Bags
    from workbench.labelled import CMP
    from workbench.labelled.source import to_bags
    from workbench.papers.chau2021.temperature import MODELS, split

    torch.set_num_threads(1)
    ds, bags, targets = split("cmip6", SPLIT)
    rng = np.random.default_rng(0)
    some = np.sort(rng.choice(ds.sizes["individual"], pixels, replace=False))
    whole, truth = to_bags(ds), ds["truth"].values[some]
    part = Bags(whole.x[some], torch.arange(pixels), whole.weight[some], pixels, whole.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = CMP(**MODELS["cmp"][1]).fit(bags, targets)
    rows, exact, spread = [], None, None
    for count in FEATURES:
        fit.inner.state.operator.features = count
        started = time.process_time()
        fit.inner.state.compute_posterior()
        prediction = fit.inner.at(part)
        seconds = time.process_time() - started
        mean, sd = prediction.mean.numpy(), prediction.std.numpy()
        exact, spread = (mean, sd) if exact is None else (exact, spread)
        rows.append({"features": count, "pixels": pixels,
                     "rmse": np.sqrt(np.mean((mean - truth) ** 2)),
                     "coverage": np.mean(np.abs(mean - truth) < 1.959964 * sd),
                     "off": np.sqrt(np.mean((mean - exact) ** 2)),
                     "sd_ratio": np.median(sd / spread), "zero_sds": np.mean(sd == 0),
                     "seconds": seconds})
        print(rows[-1], flush=True)
        pd.DataFrame(rows, columns=COLUMNS).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    typer.run(main)
