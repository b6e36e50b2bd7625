"""Memory of the server of the apps, in MB: libraries, its start, its first pages, ten sessions.

    python benchmarks/memory.py         # some five minutes; writes data/results/server_memory.csv

Each page is opened in Chromium, and read when it is ready and has had a while to rest; the sessions
are then closed, and read when the server has forgotten them. Needs what `first_page` needs, and
Linux.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import typer
from first_page import APPS, IDLE, PORT, REST, WAIT, server, tab
from playwright.sync_api import Page

RESULTS = Path(__file__).parents[1] / "data" / "results" / "server_memory.csv"
#: A process that imports what the server of the apps does, and waits.
LIBRARIES = """import workbench.ui.base.shell
from workbench.ui.base.jobs import load_models
load_models()
import geopandas, rasterio, sklearn, sys
print(flush=True)
sys.stdin.read()"""
FORGOTTEN = 40.0        # seconds after which a server has forgotten sessions that were left


def main(sessions: int = 10, rest: float = 12.0) -> None:
    """Print each number as soon as it is there, and store them."""
    told = {}

    def tell(what: str, field: str = "VmRSS") -> None:
        told[what] = _megabytes(process.pid, field)
        print(f"{what:<14}{told[what]:6.0f}", flush=True)

    with subprocess.Popen([sys.executable, "-c", LIBRARIES], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        tell("libraries")
        process.stdin.close()
    with server() as process:
        time.sleep(REST)
        tell("started")
        for app in APPS:
            with tab() as page:
                _look(page, app, rest)
                tell(app)
        for number in range(sessions):
            with tab() as page:
                _look(page, APPS[number % len(APPS)], 0.0)
        tell(f"{sessions} sessions")
        time.sleep(FORGOTTEN if sessions else 0)
        tell("forgotten")
        tell("the most", "VmHWM")
    table = pd.Series(told, name="mb").round(0).astype(int).rename_axis("after")
    table.to_csv(RESULTS)


def _megabytes(process: int, field: str) -> float:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1000


def _look(page: Page, app: str, rest: float) -> None:
    page.goto(f"http://127.0.0.1:{PORT}/{app}", timeout=WAIT, wait_until="commit")
    page.wait_for_function(IDLE, timeout=WAIT)
    time.sleep(rest)


if __name__ == "__main__":
    typer.run(main)
