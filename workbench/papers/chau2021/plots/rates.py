"""Errors of an estimator against the size of its sample, with fitted and promised slopes."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import pandas as pd
import xarray as xr

from workbench.checks import require
from workbench.plots.theme import CATEGORIES, CHART

_PREFIX = "excess_"
_MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "hex")
_KEYS = ("b", "c", "growth", "a", "seed", "slope", "theorem")


def convergence_rates(
    results: xr.Dataset, b: float, c: float, growths: tuple[float, ...] | None = None
) -> hv.Layout:
    """Excess risk of the deconditional mean operator against M, one panel per growth of N.

    Dots are geometric means over the seeds, bars two standard errors of their logarithms around
    them. The legend has the slope on the log axes, fitted to each seed over all M: its mean and
    standard error, and beside it the theorem's exponent, whose line is dashed from the first dot.
    A bound is kept by a slope at or below its exponent.

    Parameters
    ----------
    results : xr.Dataset
        Stored results of the experiment ``dmo-rates``.
    b, c : float
        The reading of the class of P_Y to draw; b may be infinite.
    growths : tuple of float, optional
        Exponents of N = M^(growth a), one panel each; by default all, the largest first.

    Raises
    ------
    InputError
        If the results are of another experiment or hold no such runs.

    References
    ----------
    Chau et al. 2021, theorem 4.2.
    """
    sizes = sorted(int(str(name).removeprefix(_PREFIX)) for name in results.data_vars
                   if str(name).startswith(_PREFIX))
    missing = [key for key in _KEYS if key not in results]
    require(bool(sizes) and not missing, "these are not results of the experiment dmo-rates; make "
            "them with workbench run --experiment dmo-rates --preset paper --out FILE.nc")
    runs = results.to_dataframe()
    chosen = runs[(runs["b"] == b) & (runs["c"] == c)]
    readings = sorted(map(tuple, runs[["b", "c"]].drop_duplicates().to_numpy().tolist()))
    require(len(chosen) > 0, f"no run has b = {b:g} and c = {c:g}; there are (b, c) = {readings}")
    known = sorted(chosen["growth"].unique(), reverse=True)
    growths = tuple(known) if growths is None else growths
    strange = [g for g in growths if g not in known]
    require(not strange, f"no run has growth {strange}; there are {known}")
    steps = sorted(chosen["a"].unique())
    columns = [f"{_PREFIX}{m}" for m in sizes]
    logs = np.log(chosen[columns])
    floor, top = float(np.exp(logs.min(axis=None))), float(np.exp(logs.max(axis=None)))
    panels = [
        _panel(chosen[chosen["growth"] == growth], growth, steps, np.array(sizes), columns).opts(
            ylim=(floor / 2, top * 2), ylabel="excess risk" if growth == growths[0] else ""
        )
        for growth in growths
    ]
    return hv.Layout(panels).cols(len(panels)).opts(shared_axes=False)


def _panel(runs: pd.DataFrame, growth: float, steps, sizes, columns) -> hv.Overlay:
    x, y = hv.Dimension("places M"), hv.Dimension("excess risk")
    curves, dots, bars, promises = [], [], [], []
    for number, a in enumerate(steps):
        part = runs[runs["a"] == a].dropna(axis="columns", how="all")
        there = [column in part for column in columns]
        m, logs = sizes[there], np.log(part[np.array(columns)[there]])
        middle, error = logs.mean().to_numpy(), 2 * logs.sem().fillna(0).to_numpy()
        exponent, colour = float(part["theorem"].iloc[0]), CATEGORIES[number % len(CATEGORIES)]
        slope = f"{part['slope'].mean():.3f} ± {part['slope'].sem():.3f}"
        label = f"a = {a:g}: {slope} (theorem {exponent:.3f})".replace("-", "−")
        curves.append(hv.Curve((m, np.exp(middle)), x, y, label=label).opts(
            color=colour, line_width=1.5))
        ends = np.exp(middle - error), np.exp(middle + error)
        dots += [(u, v, colour, _MARKERS[number % len(_MARKERS)])
                 for u, v in zip(m, np.exp(middle), strict=True)]
        bars += [(u, low, u, high, colour) for u, low, high in zip(m, *ends, strict=True)]
        last = middle[0] + exponent * np.log(m[-1] / m[0])
        promises.append((m[0], np.exp(middle[0]), m[-1], np.exp(last), colour))
    # few elements with columns of colours: HoloViews takes tens of milliseconds for each
    corners = [x, y, "x1", "y1"]
    shapes = [
        hv.Segments(promises, corners, "colour").opts(
            color="colour", line_dash="dashed", line_width=1),
        hv.Segments(bars, corners, "colour").opts(color="colour", line_width=4, alpha=0.3),
        *curves,
        hv.Scatter(dots, x, [y, "colour", "marker"]).opts(
            color="colour", marker="marker", size=5, tools=["hover"]),
    ]
    return hv.Overlay(shapes).opts(
        **CHART, logx=True, logy=True, legend_position="bottom", legend_cols=1, xlabel="places M",
        title="N = M^a" if growth == 1 else f"N = M^({growth:g}a)",
        xticks=[10**k for k in range(1, 9)], legend_opts={"border_line_alpha": 0, "margin": 0},
    )  # fmt: skip
