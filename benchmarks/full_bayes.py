"""Figure 5 of Hamelijnck et al. 2019 at full size: fully Bayesian posteriors of each likelihood.

    python benchmarks/full_bayes.py                    # Gibbs, five to eight minutes a data set
    python benchmarks/full_bayes.py --sampler nuts     # the same posteriors by NUTS, six to eleven
    python benchmarks/full_bayes.py --sampler walks    # Gibbs without jumps between modes

Data are those of App. B.1 (`workbench.papers.hamelijnck2019.full_bayes.figure5`): 100 points with
noise 1 and 50 means of pairs with noise 0.1, three data sets. Lyddon's and Ribatet's weights are
estimated on them. Stored are the bands of f, thinned draws of both noises, and each likelihood's R̂
and acceptance of hyperparameters, and of jumps. One thread. Writes data/results/full_bayes.nc,
full_bayes_nuts.nc or full_bayes_walks.nc; walks alone sample the product and the true likelihood.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import numpy as np
import torch
import typer
import xarray as xr

RESULTS = Path(__file__).parents[1] / "data" / "results"
FILES = {"gibbs": RESULTS / "full_bayes.nc", "nuts": RESULTS / "full_bayes_nuts.nc",
         "walks": RESULTS / "full_bayes_walks.nc"}
# The block whose acceptance is stored; that of jumps stands beside it.
PROPOSED = {"gibbs": "hyperparameters", "nuts": "nuts", "walks": "hyperparameters"}
DRAWS = 500             # of each likelihood that are kept


def estimated_weights(size: str, seed: int) -> dict[str, float]:
    """Lyddon's and Ribatet's weight of the data of the figure."""
    from workbench.gp.data.bags import Bags, Columns, Source, Targets
    from workbench.gp.models.several_sources.mr_gp import MRGP
    from workbench.papers.hamelijnck2019.full_bayes.figure5 import SIZES, pairs

    low, high, count = SIZES[size]["inputs"]
    x, _, points, aggregates, _ = pairs(count, low, high, seed)

    def source(name: str, values: np.ndarray) -> Source:
        bags = Bags(torch.as_tensor(x)[:, None],
                    torch.arange(len(values)).repeat_interleave(count // len(values)),
                    torch.ones(count, dtype=torch.float64), len(values), Columns(("x",)))
        return Source(bags, Targets(torch.as_tensor(values)), "mean", "continuous", name)

    found = MRGP(kernel="rbf", composite="ribatet").weights_of(
        [source("points", points), source("aggregates", aggregates)])
    return {"lyddon": float(found.lyddon), "ribatet": float(found.ribatet)}


def posteriors(size: str, sampler: str, seed: int) -> xr.Dataset:
    """Sample the posteriors of one data set, with chains of the same seed."""
    from workbench.papers.hamelijnck2019.full_bayes import figure5
    from workbench.papers.hamelijnck2019.full_bayes.diagnostics import rhat

    weights = {} if sampler == "walks" else estimated_weights(size, seed)
    started = time.perf_counter()
    found = figure5(weights, size=size, sampler=sampler, seed=seed)
    seconds = time.perf_counter() - started
    names, bands = list(found.latent), ("mean", "sd", "low", "high")
    chains = list(found.chains.values())
    length = chains[0].latent.shape[0] * chains[0].latent.shape[1]
    kept = np.linspace(0, length - 1, DRAWS).astype(int)
    ds = xr.Dataset(
        {**{band: (("likelihood", "individual"),
                   np.stack([getattr(found.latent[name], band) for name in names]))
            for band in bands},
         **{noise: (("likelihood", "draw"),
                    np.stack([one.pooled(noise)[kept] for one in chains]))
            for noise in ("point_noise", "aggregate_noise")},
         "rhat": ("likelihood", [max(float(rhat(v)) for v in one.hyperparameters.values())
                                 for one in chains]),
         "acceptance": ("likelihood", [float(one.acceptance[PROPOSED[sampler]].mean())
                                       for one in chains]),
         "jumps": ("likelihood", [float(np.mean(one.acceptance.get("jump", np.nan)))
                                  for one in chains]),
         "weight": ("likelihood", [weights.get(name, 1.0) for name in names]),
         "points": ("individual", found.points), "aggregates": ("bag", found.aggregates),
         "seconds": seconds},
        coords={"likelihood": names, "x": ("individual", found.x),
                "truth": ("individual", found.truth), "seed": seed})
    for name in names:
        print(f"seed {seed}, {name}: weight {float(ds['weight'].sel(likelihood=name)):.3f}, sd "
              f"relative to the true likelihood's {found.relative_sd(name):.3f}, noise of points "
              f"{float(ds['point_noise'].sel(likelihood=name).median()):.3f}, R-hat "
              f"{float(ds['rhat'].sel(likelihood=name)):.3f}", flush=True)
    print(f"{seconds:.0f} s", flush=True)
    return ds


def main(size: str = "full", sampler: str = "gibbs", seeds: int = 3,
         out: Path | None = None) -> None:
    """Sample all posteriors and write them."""
    from workbench.outputs import versions

    torch.set_num_threads(1)
    ds = xr.concat([posteriors(size, sampler, seed) for seed in range(seeds)], "seed")
    ds.attrs = {"experiment": "full-bayes", "size": size, "sampler": sampler,
                "versions": json.dumps(versions("aggregate-workbench", "torch", "numpy", "python")),
                "source": "Hamelijnck et al. 2019, appendix B.1, B.5 and figure 5"}
    ds.to_netcdf(out or FILES[sampler], engine="h5netcdf")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    typer.run(main)
