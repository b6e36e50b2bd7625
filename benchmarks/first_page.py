"""Seconds until the pages of the apps say and show something, in Chromium.

    python benchmarks/first_page.py              # from the start of the server, disaggregate
    python benchmarks/first_page.py --warm       # from the request, all apps, a server that is idle

The server starts in a fresh process on the embedded data; `words` are the title and what the app
is for, `maps` (or the first figures) are drawn completely. With ``--warm`` also seconds that the
server's processor took for it (on Linux). Needs the extras `apps` and `test`, and Chromium.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import typer
from playwright.sync_api import Page, sync_playwright

APPS = ("disaggregate", "granularity", "mediated", "sources", "compare")
# A finite mean in a drawn table: columns of nothing are there before the models are loaded.
MAPS = """() => window.Bokeh && Bokeh.documents.some(doc => [...doc._all_models.values()].some(m =>
  m.type === 'ColumnDataSource' && [...(m.data.get?.('mean') ?? m.data['mean'] ?? [])].some(part =>
    [...(part.length === undefined ? [part] : part)].some(Number.isFinite))))"""
# Before that the page lies hidden under its first frame, and takes neither clicks nor keys.
IDLE = """() => window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle
  && !document.querySelector('#first-frame, body > [inert]')"""
WORDS = "() => performance.getEntriesByName('first-contentful-paint').length"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
WAIT = 90_000           # milliseconds
REST = 45.0             # seconds after which what a server makes ahead is done


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


PORT = _free_port()


class Laps(dict):
    """Seconds after the start at which each thing was there."""

    def __init__(self):
        self._started = time.perf_counter()

    def lap(self, name: str) -> None:
        """Note that something is there."""
        self[name] = time.perf_counter() - self._started


@contextmanager
def server() -> Iterator[subprocess.Popen]:
    """A server in a process of its own, as soon as it listens."""
    process = subprocess.Popen([sys.executable, "-m", "workbench", "serve", "--port", str(PORT)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not _listening():
            if process.poll() is not None:
                raise SystemExit("the server ended before it listened")
            time.sleep(0.02)
        yield process
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def tab() -> Iterator[Page]:
    """A page of a fresh browser, with nothing kept from before."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-browser"),
            args=FLAGS)
        try:
            yield browser.new_page(viewport={"width": 1400, "height": 1000})
        finally:
            browser.close()


def visit(page: Page, app: str, laps: Laps, drawn: str = MAPS) -> None:
    """Open an app and note when its parts are there."""
    page.goto(f"http://127.0.0.1:{PORT}/{app}", timeout=WAIT, wait_until="commit")
    laps.lap("answer")
    page.wait_for_function(WORDS, timeout=WAIT)
    laps.lap("words")
    page.wait_for_selector("main button:visible", timeout=WAIT)
    laps.lap("controls")
    page.wait_for_function(drawn, timeout=WAIT)
    page.wait_for_function(IDLE, timeout=WAIT)
    laps.lap("maps")


def from_the_start() -> dict[str, float]:
    """From the start of a server to the scores of disaggregate."""
    with tab() as page:
        laps = Laps()
        with server():
            laps.lap("listening")
            visit(page, APPS[0], laps)
            page.get_by_text("ready", exact=True).wait_for(timeout=WAIT)
            laps.lap("scores")
    return laps


def from_the_request() -> list[dict[str, float]]:
    """From a request for each app to a server that has made ahead what it makes ahead."""
    found = []
    with server() as process:
        time.sleep(REST)
        for app in APPS:
            with tab() as page:
                laps, before = Laps(), processor(process.pid)
                visit(page, app, laps, MAPS if app == APPS[0] else IDLE)
                found.append({"app": app, **laps, "processor": processor(process.pid) - before})
    return found


def main(repeats: int = 3, warm: bool = False) -> None:
    """Print a table of the runs."""
    runs = [from_the_request() if warm else [from_the_start()] for _ in range(repeats)]
    table = pd.DataFrame([row for run in runs for row in run]).round(1)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n{table.to_string(index=False)}")


def processor(process: int) -> float:
    """Seconds that a process has had a processor; nan where the system does not tell."""
    told = Path(f"/proc/{process}/stat")
    if not told.is_file():
        return float("nan")
    user, system = told.read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _listening() -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) == 0


if __name__ == "__main__":
    typer.run(main)
