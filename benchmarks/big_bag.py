"""Peak memory and time of a fit where one bag holds 200,000 individuals.

    python benchmarks/big_bag.py

The largest bag lies beside 40 ordinary ones; links exp and square, hyperparameters learnt, every
individual predicted. The aim is less than 2 GiB, of which 0.5 are the packages.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import typer

BIG, SMALL, BAGS = 200_000, 100, 40


def one(link: str) -> None:
    """Fit in this process and print the row."""
    import torch

    import workbench as wb
    from workbench.bagging import bag_along, from_table

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    sizes = np.r_[np.full(BAGS // 2, SMALL), BIG, np.full(BAGS // 2, SMALL)]
    x = np.sort(rng.uniform(0, 10, sizes.sum()))
    other = rng.normal(size=x.size)
    rate = np.exp(-1 + np.sin(x) + 0.3 * other)
    table = pd.DataFrame({"along": x, "other": other, "count": rng.poisson(rate), "rate": rate})
    ds = bag_along(from_table(table, ["along", "other"], "count", truth="rate"), "along",
                   sizes=sizes)
    started = time.perf_counter()
    fit = wb.VBAgg(kernel="ard-rbf", link=link, inducing=60, overdispersion="none",
                   nugget=0.0).fit(ds)
    mean, truth = fit.at(ds).mean.values, ds["truth"].values
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"{link:8} {time.perf_counter() - started:6.1f} s  {peak:.2f} GiB  converged "
          f"{fit.converged}  correlation {np.corrcoef(mean, truth)[0, 1]:.3f}")


def main(link: str = "") -> None:
    """Each link in a process of its own, so that the peak is its own."""
    if link:
        one(link)
        return
    for each in ("exp", "square"):
        subprocess.run([sys.executable, __file__, "--link", each], check=True,
                       env=os.environ | {"OMP_NUM_THREADS": "1"})


if __name__ == "__main__":
    typer.run(main)
