"""Averaged intervals beside those of an earlier version of the package, in turns.

    python benchmarks/averaged.py                       # five minutes; needs git
    python benchmarks/averaged.py --turns 1 --cases "simulated country"

The earlier version is of 23 November 2026, when averaging was finished, checked out beside this one
for as long as the runs take; both use the installed libraries. A turn is a process of each
version: a fit with ``average=32`` and the 95 % intervals of all individuals as of areas without a
total, which is what the earlier version gave; seconds of the processor with one thread, without
imports and data. Writes data/results/averaged.csv.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import typer

HOME = Path(__file__).parents[1]
RESULTS = HOME / "data" / "results" / "averaged.csv"
EARLIER = "d63f924e"
CASES = {"Korea's districts": ("korea", {"level": "district"}),
         "simulated country": ("simulated-country", {"pixels": 7_896, "districts": 107})}


def once(case: str) -> dict:
    """One averaged fit and its intervals, by the version that is first on the path."""
    import torch

    import workbench as wb

    torch.set_num_threads(1)
    name, options = CASES[case]
    ds = wb.load(name, **options)
    model = wb.VBAgg(kernel="linear+matern32", overdispersion="area", nugget="learn", average=32)
    began = time.process_time()
    fit = model.fit(ds)
    fitted = time.process_time()
    predicted = fit.at(ds, area_effect=False)
    low, high = (np.asarray(bound) for bound in predicted.interval(0.95))
    done = time.process_time()
    truth = (ds["truth"] if "truth" in ds else ds["individual_value"] / ds["weight"]).values
    return {"fit": fitted - began, "intervals": done - fitted, "both": done - began,
            "areas": ds.sizes["bag"], "individuals": ds.sizes["individual"],
            "settings": len(fit.inner.members),
            "effective number": float(fit.inner.effective_number),
            "width": float(np.mean(high - low)), "rate": float(truth.mean())}


def turn(home: Path, case: str) -> dict:
    """`once` in a fresh process, of the version at ``home``."""
    one = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(Path(__file__)), "--case", case], check=True,
        stdout=subprocess.PIPE, text=True, cwd=home, env=os.environ | one | {
            "PYTHONPATH": str(home)})
    return json.loads(done.stdout.splitlines()[-1])


def main(cases: str = ",".join(CASES), turns: int = 5, case: str = "") -> None:
    """Measure the cases by turns and store their medians."""
    if case:
        print(json.dumps(once(case)))
        return
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch) / "earlier"
        subprocess.run(["git", "-C", HOME, "worktree", "add", "--detach", home, EARLIER],
                       check=True)
        try:
            for name in cases.split(","):
                found = [{version: turn(where, name) for version, where in
                          (("earlier", home), ("now", HOME))} for _ in range(turns)]
                rows += summarised(name, found)
                print(pd.DataFrame(rows).round(3).to_string(), flush=True)
        finally:
            subprocess.run(["git", "-C", HOME, "worktree", "remove", "--force", home], check=True)
    table = pd.DataFrame(rows)
    if RESULTS.exists():
        old = pd.read_csv(RESULTS)
        table = pd.concat([old[~old["case"].isin(table["case"])], table])
    table.to_csv(RESULTS, index=False, float_format="%.4g")


def summarised(case: str, found: list[dict]) -> list[dict]:
    """A row for each version: medians over the turns, and of the ratio within a turn."""
    ratio = [one["earlier"]["both"] / one["now"]["both"] for one in found]
    facts = {"commit": EARLIER, "load": os.getloadavg()[0], "machine": platform.machine(),
             "processors": os.cpu_count(), "python": platform.python_version()}
    return [{"case": case, "version": version, "turns": len(found),
             **{name: float(np.median([one[version][name] for one in found]))
                for name in found[0][version]},
             "ratio": float(np.median(ratio)), "least": min(ratio), "most": max(ratio), **facts}
            for version in ("earlier", "now")]


if __name__ == "__main__":
    typer.run(main)
