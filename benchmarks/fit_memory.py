"""Memory that a fit and its map take, beside what was estimated before.

    python benchmarks/fit_memory.py                 # writes data/results/fit_memory.csv
    python benchmarks/fit_memory.py --only 200,000
    python benchmarks/fit_memory.py --estimates     # anew, of fits that were measured before

Each case is fitted in a process of its own, two steps long (later ones take no more), and mapped at
all its individuals. What is measured is the most that the process held beyond the packages and the
data: a small fit before it loads what is loaded once. Needs Linux.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import typer
import xarray as xr

RESULTS = Path(__file__).parents[1] / "data" / "results" / "fit_memory.csv"
AVERAGES = {"inducing_inputs": "averages"}
NORMAL = {"likelihood": "normal", "link": "identity"}
PLAIN = {"overdispersion": "none", "nugget": 0.0}
#: Individuals, areas, and options of the model.
CASES: dict[str, tuple[int, int, dict]] = {
    "4,000 in 1,000 areas, 300 features": (4_000, 1_000, {"inducing": 300}),
    "20,000 in 100 areas": (20_000, 100, {}),
    "20,000 in 100 areas, all learnt on": (20_000, 100, {"compress": 0}),
    "20,000 in 10 areas, all learnt on": (20_000, 10, {"compress": 0}),
    "100,000 in 100 areas": (100_000, 100, {}),
    "100,000 in 1,000 areas": (100_000, 1_000, {}),
    "100,000 in 100 areas, plain Poisson": (100_000, 100, PLAIN),
    "100,000 in 100 areas, link square": (100_000, 100, PLAIN | {"link": "square"}),
    "50,000 in 100 areas, 300 features": (50_000, 100, {"inducing": 300}),
    "200,000 in 200 areas": (200_000, 200, {}),
    "60,000 in 3,000 areas, link square": (60_000, 3_000, PLAIN | {"link": "square"}),
    "10,000 in 1,000 areas, 500 features": (10_000, 1_000, {"inducing": 500}),
    "20,000 in 100 areas, averages": (20_000, 100, AVERAGES),
    "100,000 in 300 areas, averages": (100_000, 300, AVERAGES | {"inducing": 100}),
    "4,000 in 300 areas, 300 averages": (4_000, 300, AVERAGES | {"inducing": 300}),
    "50,000 in 100 areas, Normal, averages": (50_000, 100, NORMAL | AVERAGES),
    "10,000 in 2,000 areas, Normal, 400 features": (10_000, 2_000, NORMAL | {"inducing": 400}),
    "100,000 in 1,000 areas, Normal": (100_000, 1_000, NORMAL),
    # The factors of the estimate were found on those above, not on these:
    "30,000 in 2,000 areas, link square": (30_000, 2_000, PLAIN | {"link": "square"}),
    "100,000 in 10,000 areas, all learnt on": (100_000, 10_000, {"compress": 0}),
}
GIB = 2**30


def country(individuals: int, areas: int) -> xr.Dataset:
    """Counts of areas of different sizes, two covariates and places."""
    rng = np.random.default_rng(0)
    x, place = rng.normal(size=(individuals, 2)), rng.uniform(0, 100, (2, individuals))
    member = np.sort(np.r_[np.arange(areas), rng.integers(0, areas, individuals - areas)])
    rate = np.exp(0.3 * x[:, 0] + np.sin(place[0] / 20) - 1)
    value = rng.poisson(np.bincount(member, rate)).astype(float)
    return xr.Dataset(
        {"covariates": (("individual", "covariate"), x),
         "weight": ("individual", np.ones(individuals)), "membership": ("individual", member),
         "value": ("bag", value, {"kind": "count", "aggregation": "sum"})},
        coords={"bag": [f"b{i}" for i in range(areas)], "covariate": ["a", "b"],
                **{axis: ("individual", at, {"units": "km"})
                   for axis, at in zip("xy", place, strict=True)}})


def one(case: str) -> dict[str, object]:
    """Fit and map a case in this process."""
    import torch

    import workbench as wb
    from workbench.labelled.timing import cost

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")         # of fits as short as these
    individuals, areas, options = CASES[case]
    small = country(300, 10)
    wb.VBAgg(max_steps=1).fit(small).to_dataset(small)
    ds, model = country(individuals, areas), wb.VBAgg(max_steps=2, **options)
    before = _held("VmRSS")
    fit = model.fit(ds)
    fitted = _held("VmHWM") - before
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")     # the peak starts again
    fit.to_dataset(ds)
    mapped = _held("VmHWM") - before
    estimate = cost(model, ds)[1]
    return {"case": case, "individuals": individuals, "areas": areas,
            "features": len(fit.inner.state.field.q_mean), "estimate_gib": estimate / GIB,
            "fit_gib": fitted / GIB, "map_gib": mapped / GIB,
            "ratio": estimate / max(fitted, mapped)}


def _held(field: str) -> float:
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith(field))


def estimated(table: pd.DataFrame) -> pd.DataFrame:
    """The stored table with today's estimates."""
    import workbench as wb
    from workbench.labelled.timing import cost

    table = table.copy()
    for row, name in table["case"].items():
        individuals, areas, options = CASES[name]
        estimate = cost(wb.VBAgg(**options), country(individuals, areas))[1] / GIB
        table.loc[row, "estimate_gib"] = estimate
        table.loc[row, "ratio"] = estimate / table.loc[row, ["fit_gib", "map_gib"]].max()
    return table


def main(only: str = "", case: str = "", estimates: bool = False) -> None:
    """Measure the cases whose names hold ``only``, print and store the table."""
    if case:
        print(json.dumps(one(case)))
        return
    if estimates:
        _store(estimated(pd.read_csv(RESULTS)))
        return
    rows = []
    for name in CASES:
        if only not in name:
            continue
        out = subprocess.run([sys.executable, __file__, "--case", name], check=True, text=True,
                             stdout=subprocess.PIPE, env=os.environ | {"OMP_NUM_THREADS": "1"})
        rows.append(json.loads(out.stdout.strip().splitlines()[-1]))
        print(pd.DataFrame(rows).round(3).to_string(index=False), flush=True)
        _store(pd.DataFrame(rows))


def _store(table: pd.DataFrame) -> None:
    if RESULTS.is_file():
        old = pd.read_csv(RESULTS)
        table = pd.concat([old[~old["case"].isin(table["case"])], table])
    order = {name: number for number, name in enumerate(CASES)}
    table = table.sort_values("case", key=lambda names: names.map(order))
    table.to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
