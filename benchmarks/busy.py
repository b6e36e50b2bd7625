"""A fit in Python on cores that do something else, too: threads that spin, sleep, or are one.

    python benchmarks/busy.py       # some five minutes on two cores

The README's first fit, in a fresh process each time, while as many other processes compute as are
asked for. ``wall`` and ``processor`` are medians of seconds over turns that alternate; ``ratio`` is
that of the wall time to the package's default, turn by turn. Writes data/results/busy.csv.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import typer

RESULTS = Path(__file__).parents[1] / "data" / "results" / "busy.csv"
DEFAULT = "default: threads sleep"
#: What is set before torch is loaded.
SETTINGS = {DEFAULT: {}, "threads spin (torch alone)": {"GOMP_SPINCOUNT": "300000"},
            "one thread": {"OMP_NUM_THREADS": "1"}}
_SPIN = "while True: pass"


def once() -> dict[str, float]:
    """Seconds of one fit, its imports done before."""
    import warnings

    import workbench as wb

    warnings.simplefilter("ignore")
    ds = wb.load("simulated-country")
    wb.VBAgg(max_steps=1).fit(ds)
    wall, processor = time.perf_counter(), time.process_time()
    wb.VBAgg().fit(ds)
    return {"wall": time.perf_counter() - wall, "processor": time.process_time() - processor}


@contextlib.contextmanager
def busy(others: int) -> Iterator[None]:
    """So many other processes that compute, until it is left."""
    running = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(others)]
    try:
        yield
    finally:
        for one in running:
            one.kill()
            one.wait()


def turn(setting: dict[str, str]) -> dict[str, float]:
    """`once` in a fresh process with a setting."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OMP_")}
    done = subprocess.run([sys.executable, str(Path(__file__)), "--alone"], check=True,
                          stdout=subprocess.PIPE, text=True, env=kept | setting)
    return json.loads(done.stdout.splitlines()[-1])


def main(turns: int = 5, alone: bool = False) -> None:
    """Measure all settings by turns and store their medians."""
    if alone:
        print(json.dumps(once()))
        return
    facts = {"machine": platform.machine(), "processors": os.cpu_count(),
             "python": platform.python_version()}
    rows = []
    for others in (0, 1, os.cpu_count() or 1):
        with busy(others):
            found = [{name: turn(one) for name, one in SETTINGS.items()} for _ in range(turns)]
        for name in SETTINGS:
            rows.append({
                "others": others, "threads": name, "turns": turns,
                **{what: statistics.median(one[name][what] for one in found)
                   for what in ("wall", "processor")},
                "ratio": statistics.median(
                    one[name]["wall"] / one[DEFAULT]["wall"] for one in found), **facts})
        print(pd.DataFrame(rows).round(2).to_string(), flush=True)
    pd.DataFrame(rows).drop_duplicates(["others", "threads"]).to_csv(
        RESULTS, index=False, float_format="%.3g")


if __name__ == "__main__":
    typer.run(main)
