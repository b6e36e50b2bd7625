"""What can be taken away from the line and the map, and the Python that makes it again."""

from __future__ import annotations

import numpy as np

from workbench.ui.base.bands import HALF_90
from workbench.ui.base.session import file_stem
from workbench.ui.base.views.bundle import Bundle
from workbench.ui.granularity import messages
from workbench.ui.granularity.engine import Answer
from workbench.ui.granularity.observed import OBSERVED
from workbench.ui.granularity.state import KERNELS, LINE, State
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.zones import STRIPS

_FORMULAS = {
    "rbf": "np.exp(-(r**2) / 2)",
    "matern12": "np.exp(-r)",
    "matern32": "(1 + 3**0.5 * r) * np.exp(-(3**0.5) * r)",
    "matern52": "(1 + 5**0.5 * r + 5 * r**2 / 3) * np.exp(-(5**0.5) * r)",
}
_CRS = {"degrees": "EPSG:4326"}
_DIGITS = 17


def bundle(store: Store) -> Bundle | None:
    """What can be taken away of the tab that is open; None while there is nothing."""
    answer, state = store.answer, store.state
    if answer is None:
        return None
    world, model = answer.world, answer.model
    on_line = state.tab == LINE
    told = (messages.headline(
        answer.cells.size, world.values.size, state.size, world.unit, answer.error, answer.against,
        None, state.tolerance, world.truth is not None, not (on_line and state.edges),
        state.hidden, state.formed,
        wide=answer.cells.extent[0] if state.formed == STRIPS else 0.0),
        store.status)
    settings = {
        "data": world.title, "cells": f"{answer.cells.size:,}",
        "likelihood": model.likelihood.capitalize(),
        "kernel": next(title for title, name in KERNELS.items() if name == model.kernel),
        "lengthscale": f"{model.lengthscale:g} {world.unit}", "variance": f"{model.variance:g}",
        "address": f"granularity?{state.query()}"}
    return Bundle(file_stem("granularity", state.tab, store.subject),
                  f"Granularity: {world.title}", told, settings,
                  lambda: program(answer), lambda: table(answer, state),
                  None if on_line else lambda: maps(answer),
                  caption=" ".join((f"{world.title}.", *told)))


def drawn(answer: Answer) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd from summaries where they are drawn; the sd is computed where it is missing."""
    from workbench.ui.granularity.engine import Bench

    band, count = answer.summary, answer.world.pixels.size
    if band.sd is None:             # left out of what a slider waits for
        band = Bench(answer.world).answer(answer.cells, answer.model, whole=True).summary
    return band.mean[:count], band.sd[:count]


def table(answer: Answer, state: State):
    """Mean and ends of the 90 % interval from summaries, and the truth unless it is hidden."""
    import pandas as pd

    world, (mean, sd) = answer.world, drawn(answer)
    places = world.places[: mean.size]
    columns = dict(zip(("x", "y"), places.T, strict=False))
    columns |= {"mean": mean, "low": mean - HALF_90 * sd, "high": mean + HALF_90 * sd}
    if answer.complete is not None:
        columns["complete"] = answer.complete.mean[: mean.size]
    if world.truth is not None and not state.hidden:
        columns["truth"] = world.truth
    return pd.DataFrame(columns)


def maps(answer: Answer):
    """The pixels with mean and sd from summaries, as files of maps are written from."""
    import xarray as xr

    world, (mean, sd) = answer.world, drawn(answer)
    rows, columns = world.shape
    x, y = world.places[: mean.size].T
    row, column = np.divmod(world.pixels, columns)      # from the south
    left, bottom, right, top = world.bounds
    across, up = (right - left) / columns, (top - bottom) / rows
    found = {"mean": mean, "std": sd}
    if answer.complete is not None:
        found["mean_complete_data"] = answer.complete.mean[: mean.size]
    unit = "degree" if world.unit == "degrees" else world.unit
    return xr.Dataset(
        {name: ("individual", values) for name, values in found.items()}
        | {"weight": ("individual", np.ones(mean.size))},
        {"individual": np.arange(mean.size), "x": ("individual", x, {"units": unit}),
         "y": ("individual", y, {"units": unit}), "row": ("individual", rows - 1 - row),
         "column": ("individual", column)},
        {"grid_shape": [rows, columns], "grid_transform": [across, 0.0, left, 0.0, -up, top],
         "title": world.title, "quantity": world.quantity}
        | ({"crs": _CRS[world.unit]} if world.unit in _CRS else {}))


def program(answer: Answer) -> str:
    """Python that computes the posterior from the summaries again: all that is left of the data."""
    world, model, cells = answer.world, answer.model, answer.cells
    statistic = cells.statistic(model.likelihood)
    count = world.pixels.size
    if world.shape[0] == 1:
        ends = float(world.places[0, 0]), float(world.places[count - 1, 0])
        places = f"places = np.linspace({ends[0]!r}, {ends[1]!r}, {count})[:, None]"
        axes = 'table = pd.DataFrame({"x": places[:, 0]})'
    else:
        places = _of_grid(world)
        axes = 'table = pd.DataFrame(places, columns=["x", "y"])'
    noise = ("np.exp(-statistic) / counts     # of a log mean of counts"
             if not OBSERVED[model.likelihood].noisy else f"{model.noise!r} ** 2 / counts")
    return f'''import numpy as np
import pandas as pd
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist

# What is left of the data: the place, {_STATISTIC[model.likelihood]} and count of each cell.
cells = np.array([
{_rows(np.column_stack([cells.places, statistic, cells.counts]))}])
where, statistic, counts = cells[:, :-2], cells[:, -2], cells[:, -1]
{places}

def covariance(first, second):
    """The kernel, lengthscale {model.lengthscale:g} {world.unit}, variance {model.variance:g}."""
    r = cdist(first, second) / {model.lengthscale!r}
    return {model.variance!r} * {_FORMULAS[model.kernel]}

mean = {world.constant!r}
noise = {noise}
factor = cho_factor(covariance(where, where) + np.diag(noise), lower=True)
cross = covariance(places, where)
found = mean + cross @ cho_solve(factor, statistic - mean)
sd = np.sqrt({model.variance!r} - (cross * cho_solve(factor, cross.T).T).sum(1))
{axes}
table["mean"], table["low"], table["high"] = (
    found, found - {HALF_90} * sd, found + {HALF_90} * sd)
'''


_STATISTIC = {"normal": "mean", "poisson": "log mean"}


def _of_grid(world) -> str:
    """The pixels of a map as code: all of the grid, or those that are named."""
    rows, columns = world.shape
    left, bottom, right, top = (float(end) for end in world.bounds)
    code = (f"x = {left!r} + (np.arange({columns}) + 0.5) * {(right - left) / columns!r}\n"
            f"y = {bottom!r} + (np.arange({rows}) + 0.5) * {(top - bottom) / rows!r}\n"
            "places = np.column_stack([axis.ravel() for axis in np.meshgrid(x, y)])")
    if world.pixels.size < rows * columns:
        numbers = ", ".join(map(str, world.pixels.tolist()))
        code += f"\nplaces = places[np.array([{numbers}])]     # on land"
    return code


def _rows(values: np.ndarray) -> str:
    return "".join("    [" + ", ".join(f"{value:.{_DIGITS}g}" for value in row) + "],\n"
                   for row in values)
