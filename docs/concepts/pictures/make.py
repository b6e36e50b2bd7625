"""The pictures of the concept pages: `python docs/concepts/pictures/make.py` (needs a Chromium).

They are stored beside this script, so that the site is built without a browser.
"""

from __future__ import annotations

from pathlib import Path

import holoviews as hv
import numpy as np
from scipy import stats

import workbench as wb
from workbench.plots import colour_scale, save_png, value_map

HERE = Path(__file__).parent
BLUE, ORANGE, GREY, GREEN = "#1f77b4", "#d95f02", "#888888", "#1b9e77"
FONT = {"title": 12, "labels": 12, "ticks": 10, "legend": 11}


def chart(*elements, width: int = 640, height: int = 300, legend: str = "right", **options):
    """An overlay without a toolbar, of one size."""
    return hv.Overlay(list(elements)).opts(
        hv.opts.Overlay(width=width, height=height, toolbar=None, fontsize=FONT,
                        legend_position=legend, show_grid=False, **options))


def curve(x, y, label: str, color: str, dash: str = "solid") -> hv.Curve:
    """A labelled line."""
    return hv.Curve((x, y), "x", "y", label=label).opts(color=color, line_width=2.5,
                                                        line_dash=dash)


def bags() -> hv.Layout:
    """What is known beside what is wanted."""
    ds = wb.load("simulated-country", pixels=2500, districts=40, regions=8, provinces=4)
    observed = ds["value"] / ds["weight"].groupby(ds["membership"]).sum().values
    observed.attrs["units"] = ds["truth"].attrs.get("units", "")
    scale = colour_scale(ds["truth"], label="cases", unit="per 1,000 persons", factor=1000)
    return (value_map(ds, observed, scale, "known: one rate for each district", size=330)
            + value_map(ds, ds["truth"], scale, "wanted: the rate of each pixel", size=330)
            ).opts(toolbar=None)


def links() -> hv.Overlay:
    """Four links."""
    f = np.linspace(-3, 3, 200)
    return chart(
        curve(f, f, "identity", GREY, "dashed"), curve(f, np.exp(f), "exp", ORANGE),
        curve(f, f**2, "square", BLUE), curve(f, 1 / (1 + np.exp(-f)), "logit", GREEN),
        xlabel="f", ylabel="ψ(f)", ylim=(-1, 6), xlim=(-3, 3))


def overdispersion() -> hv.Overlay:
    """A total of 10,000, as Poisson and with an area effect."""
    counts = np.arange(4000, 18000, 20)
    poisson = stats.norm.pdf(counts, 10_000, 100)
    effect = stats.lognorm.pdf(counts, 0.2, scale=10_000 * np.exp(-0.02))
    return chart(
        curve(counts, poisson / poisson.max(), "Poisson", ORANGE),
        curve(counts, effect / effect.max(), "with an area effect of sd 0.2", BLUE),
        xlabel="cases of one district", ylabel="density, relative to its height", ylim=(0, 1.08),
        legend="top_right", xformatter="%d")


def bounds() -> hv.Overlay:
    """The error of E log η for a bag of 30 individuals with correlated f, exp link."""
    rng = np.random.default_rng(0)
    sds, size, common = np.linspace(0.02, 2.0, 40), 30, 0.5
    normal = np.sqrt(common) * rng.normal(size=(40_000, 1)) + np.sqrt(1 - common) * rng.normal(
        size=(40_000, size))
    correlation = np.full((size, size), common) + (1 - common) * np.eye(size)
    errors = {"jensen": [], "moment": []}
    for sd in sds:
        truth = np.log(np.exp(sd * normal).mean(1)).mean()
        share = np.full(size, 1 / size)
        errors["jensen"].append(0.0 - truth)    # Σ w E f: the mean of f is zero
        errors["moment"].append(sd**2 / 2 - sd**2 * share @ correlation @ share / 2 - truth)
    return chart(
        hv.HLine(0).opts(color=GREY, line_width=1),
        curve(sds, errors["moment"], "moment", BLUE), curve(sds, errors["jensen"], "jensen",
                                                            ORANGE),
        xlabel="sd of an individual's f", ylabel="error of E log η in nats", xlim=(0, 2),
        legend="bottom_left")


def granularity() -> hv.Layout:
    """One field in fine and in coarse cells."""
    x = np.linspace(0, 100, 1200)
    rng = np.random.default_rng(3)
    kernel = np.exp(-0.5 * ((x[:, None] - x) / 6) ** 2) + 1e-8 * np.eye(x.size)
    field = np.linalg.cholesky(kernel) @ rng.normal(size=x.size)
    panels = []
    for cells in (24, 6):
        cell = np.minimum((x * cells / 100).astype(int), cells - 1)
        means = np.array([field[cell == c].mean() for c in range(cells)])
        edges = np.linspace(0, 100, cells + 1)
        steps = hv.Segments((edges[:-1], means, edges[1:], means), label="mean of a cell").opts(
            color=ORANGE, line_width=4)
        panels.append(chart(curve(x, field, "field", BLUE), steps, width=400, height=300,
                            legend="bottom_left", title=f"{cells} cells", xlabel="km",
                            ylabel="f", ylim=(-3.6, 2.4)))
    return (panels[0] + panels[1]).opts(toolbar=None)


def main() -> None:
    """Draw all of them."""
    hv.extension("bokeh")
    for draw in (bags, links, overdispersion, bounds, granularity):
        save_png(draw(), HERE / f"{draw.__name__}.png", scale=1.5)


if __name__ == "__main__":
    main()
