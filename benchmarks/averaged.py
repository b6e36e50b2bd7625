"""Averaged intervals beside those of earlier versions of the package, in turns.

    python benchmarks/averaged.py                       # ten minutes; needs git
    python benchmarks/averaged.py --turns 1 --cases "simulated country"

The first earlier version is of 22 November 2026, which sampled hyperparameters from one Gaussian
and did not watch its weights; the second of a day later, when averaging was finished. They are
checked out beside this one for as long as the runs take; all use the installed libraries. A turn
is a process of each version: a fit with ``average=32`` and the 95 % intervals of all individuals
as of areas without a total, which is what the earlier versions gave; seconds of the processor
with one thread, without imports and data. Writes data/results/averaged.csv.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import typer

HOME = Path(__file__).parents[1]
RESULTS = HOME / "data" / "results" / "averaged.csv"
EARLIER = {"22 November": "f7cdb5ed", "23 November": "d63f924e"}
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
            "effective number": float(getattr(fit.inner, "effective_number", np.nan)),
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
    with tempfile.TemporaryDirectory() as scratch, contextlib.ExitStack() as stack:
        homes = {version: stack.enter_context(checked_out(Path(scratch) / commit, commit))
                 for version, commit in EARLIER.items()} | {"now": HOME}
        for name in cases.split(","):
            found = [{version: turn(home, name) for version, home in homes.items()}
                     for _ in range(turns)]
            rows += summarised(name, found)
            print(pd.DataFrame(rows).round(3).to_string(), flush=True)
    table = pd.DataFrame(rows)
    if RESULTS.exists():
        old = pd.read_csv(RESULTS)
        table = pd.concat([old[~old["case"].isin(table["case"])], table])
    table.to_csv(RESULTS, index=False, float_format="%.4g")


@contextlib.contextmanager
def checked_out(home: Path, commit: str) -> Iterator[Path]:
    """A commit's files at ``home``, until they are left."""
    subprocess.run(["git", "-C", HOME, "worktree", "add", "--detach", home, commit], check=True)
    try:
        yield home
    finally:
        subprocess.run(["git", "-C", HOME, "worktree", "remove", "--force", home], check=True)


def summarised(case: str, found: list[dict]) -> list[dict]:
    """A row for each version: medians over the turns, and of its time as a multiple of today's."""
    facts = {"load": os.getloadavg()[0], "machine": platform.machine(),
             "processors": os.cpu_count(), "python": platform.python_version()}
    rows = []
    for version in found[0]:
        ratio = [one[version]["both"] / one["now"]["both"] for one in found]
        rows.append({
            "case": case, "version": version, "commit": EARLIER.get(version, ""),
            "turns": len(found), **{name: float(np.median([one[version][name] for one in found]))
                                    for name in found[0][version]},
            "ratio": float(np.median(ratio)), "least": min(ratio), "most": max(ratio), **facts})
    return rows


if __name__ == "__main__":
    typer.run(main)
