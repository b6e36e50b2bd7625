"""Seconds from starting the server to a first page with controls, and with maps, in Chromium.

    python benchmarks/first_page.py

The server starts in a fresh process on the embedded data and a browser opens the page as soon as it
listens. Needs the extras `apps` and `test`, and Chromium.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time

import pandas as pd
import typer
from playwright.sync_api import sync_playwright

PORT = 5171
# A finite mean in a drawn table: columns of nothing are there before the models are loaded.
MAPS = """() => window.Bokeh && Bokeh.documents.some(doc => [...doc._all_models.values()].some(m =>
  m.type === 'ColumnDataSource' && [...(m.data.get?.('mean') ?? m.data['mean'] ?? [])].some(part =>
    [...(part.length === undefined ? [part] : part)].some(Number.isFinite))))"""
IDLE = "() => Bokeh.documents[0].is_idle"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def once() -> dict[str, float]:
    """Seconds after the start at which each thing was there."""
    laps = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("chromium-browser"),
            args=FLAGS)
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        started = time.perf_counter()
        server = subprocess.Popen(
            [sys.executable, "-m", "workbench", "serve", "--port", str(PORT)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def lap(name: str) -> None:
            laps[name] = time.perf_counter() - started

        try:
            while not _listening():
                if server.poll() is not None:
                    raise SystemExit("the server ended before it listened")
                time.sleep(0.02)
            lap("listening")
            page.goto(f"http://127.0.0.1:{PORT}/disaggregate", timeout=90_000, wait_until="commit")
            lap("page sent")
            page.wait_for_selector("button", timeout=90_000)
            lap("controls")
            page.wait_for_function(MAPS, timeout=90_000)
            page.wait_for_function(IDLE, timeout=90_000)
            lap("maps")
            page.get_by_text("ready", exact=True).wait_for(timeout=90_000)
            lap("scores")
        finally:
            server.terminate()
            server.wait(60)
            browser.close()
    return laps


def main(repeats: int = 3) -> None:
    """Print a table of the runs."""
    table = pd.DataFrame([once() for _ in range(repeats)]).round(1)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n{table.to_string(index=False)}")


def _listening() -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", PORT)) == 0


if __name__ == "__main__":
    typer.run(main)
