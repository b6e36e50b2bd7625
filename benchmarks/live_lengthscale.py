"""Milliseconds from moving the lengthscale's slider in `disaggregate` until its map is pushed.

    python benchmarks/live_lengthscale.py [--own]

The whole page of a session without a browser: the slider is dragged over stops that no answer is
kept of, each as soon as the map of the one before is in the sources that the page draws. By default
the example's data, 10,000 places in 120 areas; with ``--own`` a file of one's own, of some 5,000.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import typer

import workbench as wb
from workbench.ui.disaggregate import own
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.controls import Controls
from workbench.ui.disaggregate.views.screen import Screen

MOVES = 20


def own_file(folder: Path) -> Path:
    """A bagged file of every second place of the simulated country, truth left out."""
    ds = wb.load("simulated-country").drop_vars(["truth", "individual_value"], errors="ignore")
    ds = ds.isel(individual=np.arange(0, ds.sizes["individual"], 2))
    path = folder / "own.nc"
    wb.write(ds, path)
    return path


def drag(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Milliseconds by the clock and of the processor, of every move."""
    store = Store(state)
    controls, screen = Controls(store), Screen(store)
    store.refresh()
    _until(lambda: store.work == "")
    store.fit()
    _until(lambda: store.work == "" and store.testing == (0, 0))
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
        store.dragged = True
        slider.value = value
        _until(lambda before=before: screen.maps.atlas.fine.source.data["mean"] is not before
               and store.work == "scoring")
        walls.append(1e3 * (time.perf_counter() - wall))
        cpus.append(1e3 * (time.process_time() - cpu))
    store.leave()
    return np.array(walls), np.array(cpus)


def _until(done, seconds: float = 300) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            raise SystemExit("the app did not answer")
        time.sleep(0.002)


def main(own_data: bool = typer.Option(False, "--own", help="a file of some 5,000 places")) -> None:
    """Median, 90th percentile and largest of some twenty moves."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        state = State()
        if own_data:
            path = own_file(Path(folder))
            found = own.check(str(path), {})
            state.add("own-1", own.choice_of(found.data, "Own: own.nc", str(path), {}))
        state.model = "vbagg"
        walls, cpus = drag(state)
    for name, each in (("clock", walls), ("processor", cpus)):
        low, high = np.quantile(each, [0.5, 0.9])
        print(f"{name}: median {low:.0f} ms, 90 % below {high:.0f} ms, largest {each.max():.0f} ms")


if __name__ == "__main__":
    typer.run(main)
