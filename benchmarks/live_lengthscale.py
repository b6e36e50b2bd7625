"""Milliseconds from moving the lengthscale's slider in `disaggregate` until its map is pushed.

    python benchmarks/live_lengthscale.py [--own] [--browser]

The whole page of a session without a browser: the slider is dragged over stops that no answer is
kept of, each as soon as the map of the one before is in the sources that the page draws. By default
the example's data, 10,000 places in 120 areas; with ``--own`` a file of one's own, of some 5,000.

With ``--browser`` the same as a user has it: in Chromium, from the event of the pointer over the
handle, which is held, until the new map is drawn on the canvas. The handle is dragged over all
stops, for each of some fixed values of the variance, so that no map is kept from before.

Each of the four ways writes rows of its own to data/results/live_lengthscale.csv.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import typer
from first_page import IDLE, PORT, WAIT, server, tab
from playwright.sync_api import Page

import workbench as wb
from workbench.ui.disaggregate import own
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.controls import Controls
from workbench.ui.disaggregate.views.screen import Screen

RESULTS = Path(__file__).parents[1] / "data" / "results" / "live_lengthscale.csv"
MOVES = 20
SWEEPS, HELD = 3, 100       # values of the variance; milliseconds between moves
# Notes when the pointer was moved, and when the frame in which a changed map was drawn is over.
WATCH = """() => {
  const map = Bokeh.documents.flatMap(doc => [...doc._all_models.values()])
    .filter(m => m.type === 'Figure' && m.name === 'mean').at(-1)
  window.addEventListener('mousemove', event => { window.moved ??= event.timeStamp }, true)
  map.renderers[0].data_source.properties.data.change.connect(() => requestAnimationFrame(
    () => requestAnimationFrame(() => { window.drawn ??= performance.now() })))
}"""


def own_file(folder: Path) -> Path:
    """A bagged file of every second place of the simulated country, truth left out."""
    ds = wb.load("simulated-country").drop_vars(["truth", "individual_value"], errors="ignore")
    ds = ds.isel(individual=np.arange(0, ds.sizes["individual"], 2))
    path = folder / "own.nc"
    wb.write(ds, path)
    return path


def drag(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Milliseconds by the clock and of the processor, of every move."""
    turns: queue.Queue = queue.Queue()      # as in a server, where one thread alone draws
    store = Store(state, turns.put)
    controls, screen = Controls(store), Screen(store)
    store.refresh()
    _until(lambda: store.work == "", turns)
    store.fit()
    _until(lambda: store.work == "" and store.testing == (0, 0), turns)
    if store.error:
        raise SystemExit(store.error)
    slider, rng = controls.lengthscale.slider, np.random.default_rng(0)
    reference = slider.value
    walls, cpus = [], []
    for factor in np.exp(rng.uniform(-1, 1, MOVES)):
        value = float(f"{reference * factor:.3g}")
        slider.options = {**slider.options, f"{value:.3g} here": value}
        before = screen.maps.atlas.fine.source.data["mean"]
        wall, cpu = time.perf_counter(), time.process_time()
        store.held_until = np.inf
        slider.value = value
        _until(lambda before=before: screen.maps.atlas.fine.source.data["mean"] is not before
               and store.work == "scoring", turns)
        walls.append(1e3 * (time.perf_counter() - wall))
        cpus.append(1e3 * (time.process_time() - cpu))
    store.leave()
    return np.array(walls), np.array(cpus)


def drag_in_browser(path: Path | None) -> np.ndarray:
    """Milliseconds of every move, in Chromium."""
    with server(), tab() as page:
        page.goto(f"http://127.0.0.1:{PORT}/disaggregate?model=vbagg" + "&step=data" * bool(path),
                  timeout=WAIT)
        page.set_default_timeout(WAIT)
        if path:
            page.locator("input[type=file][multiple]").set_input_files(path)
            page.get_by_role("button", name="Check", exact=True).click()
            page.get_by_role("button", name="Use these data").click()
            page.get_by_role("dialog").wait_for(state="hidden")
            page.wait_for_function("() => /dataset=own-1&model=vbagg/.test(location.search)")
        _at_rest(page)
        page.get_by_role("button", name="Fit", exact=True).click()
        page.wait_for_function("() => location.search.includes('status=fitted')")
        _at_rest(page)
        page.evaluate(WATCH)
        found = []
        for _ in range(SWEEPS):
            page.get_by_role("slider", name="Variance").press("ArrowRight")
            _at_rest(page)
            found += _sweep(page)
        return np.array(found)


def _sweep(page: Page) -> list[float]:
    """Take the handle to the first stop, and drag it from there over all others."""
    slider = page.get_by_role("slider", name="Lengthscale")
    track = slider.locator("xpath=ancestor::*[contains(@class, 'MuiSlider-root')]")
    box, last = track.bounding_box(), int(slider.get_attribute("max"))
    stops = [box["x"] + box["width"] * k / last for k in range(last + 1)]
    middle = box["y"] + box["height"] / 2
    page.mouse.move(stops[0], middle)
    page.mouse.down()
    page.wait_for_timeout(3_000)        # for the map of the first stop, where the handle jumps to
    found = []
    for stop in stops[1:]:
        page.evaluate("() => { window.moved = window.drawn = undefined }")
        page.mouse.move(stop, middle)
        page.wait_for_function("() => window.drawn !== undefined")
        found.append(page.evaluate("() => window.drawn - window.moved"))
        page.wait_for_timeout(HELD)
    page.mouse.up()
    _at_rest(page)
    return found


def _at_rest(page: Page) -> None:
    page.wait_for_timeout(1_000)
    page.get_by_role("note").filter(has_text=re.compile("^ready$")).wait_for()
    page.wait_for_function(IDLE)


def _until(done, turns: queue.Queue, seconds: float = 300) -> None:
    """Draw what comes until something is done."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise SystemExit("the app did not answer")
        turn = None
        with contextlib.suppress(queue.Empty):
            turn = turns.get(timeout=0.002)
        if turn is not None:
            turn()


def main(own_data: bool = typer.Option(False, "--own", help="a file of some 5,000 places"),
         browser: bool = typer.Option(False, "--browser", help="in Chromium")) -> None:
    """Median, 90th and 95th percentile and largest of the moves; told, and stored."""
    torch.set_num_threads(1)
    data = "one's own file, 5,000 places" if own_data else "the example, 10,000 places"
    with tempfile.TemporaryDirectory() as folder:
        path = own_file(Path(folder)) if own_data else None
        if browser:
            _tell("Chromium", data, drag_in_browser(path))
            return
        state = State()
        if path:
            found = own.check(str(path), {})
            state.add("own-1", own.choice_of(found.data, "Own: own.nc", str(path), {}))
        state.model = "vbagg"
        walls, cpus = drag(state)
    _tell("server", data, walls)
    _tell("server's processor", data, cpus)


def _tell(where: str, data: str, found: np.ndarray) -> None:
    middle, high, higher = np.percentile(found, [50, 90, 95])
    row = pd.DataFrame({"where": where, "data": data, "moves": found.size, "median_ms": middle,
                        "p90_ms": high, "p95_ms": higher, "largest_ms": found.max(),
                        "load": os.getloadavg()[0]}, index=[0])
    print(row.round(1).to_string(index=False))
    if RESULTS.exists():
        old = pd.read_csv(RESULTS)
        row = pd.concat([old[(old["where"] != where) | (old["data"] != data)], row])
    row.sort_values(["where", "data"]).to_csv(RESULTS, index=False, float_format="%.4g")


if __name__ == "__main__":
    typer.run(main)
