"""A field seen by counts of wide areas and by measurements at a few places."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging import bag_along, from_table
from workbench.labelled.predictive import LabelledPredictive
from workbench.plots.sources import MODEL, SOURCES, TRUTH, WIDE


def counts_and_measurements(seed: int = 1) -> dict[str, xr.Dataset]:
    """Cases counted in six areas of a line, and the log rate measured at six places.

    Parameters
    ----------
    seed : int
        Of the counts and of the noise of the measurements (standard deviation 0.1).

    Returns
    -------
    dict
        ``cases``: 240 places with two people each, in areas 2 wide, ``truth`` in cases per person;
        ``measured``: log rates at places from 6.5 to 9.5, each a bag of its own.

    Examples
    --------
    >>> {name: ds.sizes["bag"] for name, ds in counts_and_measurements().items()}
    {'cases': 6, 'measured': 6}
    """
    rng = np.random.default_rng(seed)
    place = np.linspace(0.025, 11.975, 240)
    rate = np.exp(np.sin(1.6 * place) - 0.5)
    people = pd.DataFrame({"x": place, "people": 2.0, "rate": rate,
                           "cases": rng.poisson(2 * rate)})
    counted = from_table(people, ["x"], "cases", weight="people", truth="rate")
    spots = pd.DataFrame({"x": np.linspace(6.5, 9.5, 6)})
    spots["log_rate"] = np.sin(1.6 * spots["x"]) - 0.5 + 0.1 * rng.normal(size=6)
    logs = from_table(spots, ["x"], "log_rate", aggregation="mean", kind="continuous")
    return {"cases": bag_along(counted, "x", sizes=np.full(6, 40), descending=False),
            "measured": bag_along(logs, "x", sizes=np.ones(6, int), descending=False)}


def rate_bands(cases: xr.Dataset, measured: xr.Dataset,
               rates: dict[str, LabelledPredictive]) -> hv.Layout:
    """Posterior rates along the line with 95 % bands, beside what was seen and the truth.

    Parameters
    ----------
    cases, measured : xr.Dataset
        As of `counts_and_measurements`.
    rates : dict
        Distributions of the rate at the places of ``cases``, by title; measurements are drawn on
        the last.

    Returns
    -------
    hv.Layout
        A panel for each.
    """
    x = cases["covariates"].values[:, 0]
    order = np.argsort(x)
    areas = cases["membership"].values
    edges = [(x[areas == a].min(), x[areas == a].max()) for a in range(cases.sizes["bag"])]
    people = np.bincount(areas, cases["weight"].values)
    seen = cases["value"].values / people
    bars = hv.Segments([(low, y, high, y) for (low, high), y in zip(edges, seen, strict=True)],
                       ["x", "rate", "x1", "y1"]).opts(color=SOURCES[0], line_width=3)
    known = hv.Curve((x[order], cases["truth"].values[order]), "x", "rate").opts(**TRUTH)
    dots = hv.Points((measured["covariates"].values[:, 0], np.exp(measured["value"].values)),
                     ["x", "rate"]).opts(color=SOURCES[1], marker="x", size=8, line_width=2)
    panels = []
    for name, dist in rates.items():
        low, high = (end.values[order] for end in dist.interval(0.95))
        band = hv.Area((x[order], low, high), "x", ["rate", "high"]).opts(
            color=MODEL, alpha=0.25, line_alpha=0)
        mean = hv.Curve((x[order], dist.mean.values[order]), "x", "rate").opts(color=MODEL)
        drawn = band * mean * known * bars
        panels.append((drawn * dots if name == list(rates)[-1] else drawn).opts(
            **WIDE, title=name, ylim=(0, 5)))
    return hv.Layout(panels).opts(shared_axes=False)
