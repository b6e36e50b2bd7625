"""Pictures of the world on a line: what is given, the prior of f and g, and their posterior."""

from __future__ import annotations

import holoviews as hv
import numpy as np

from workbench.labelled.predictive import LabelledPredictive
from workbench.papers.chau2021.line import LineWorld, field, mean_field
from workbench.plots.theme import CATEGORIES, NEUTRAL

BLUE, ORANGE, GREEN, PINK = (CATEGORIES[k] for k in (0, 1, 2, 3))
_SIZE = {"frame_width": 300, "frame_height": 230}
_TARGETS = {"color": ORANGE, "size": 6, "marker": "diamond"}


def given(world: LineWorld) -> hv.Layout:
    """The bags, the targets, and the field that is wanted.

    Parameters
    ----------
    world : LineWorld
        As of `line_world`.

    Returns
    -------
    hv.Layout
        Three panels.
    """
    bags = hv.Points((world.y[world.members], world.x), ["y", "x"]).opts(
        color=BLUE, size=3, alpha=0.5, title="D₁: bags of points, each bag a column", **_SIZE)
    known = hv.Curve((world.line, mean_field(world.line)), "y", "z", label="g(y), not known")
    targets = known.opts(color=NEUTRAL) * hv.Points(
        (world.at, world.z), ["y", "z"], label="targets").opts(**_TARGETS)
    wanted = hv.Curve((world.line, field(world.line)), "x", "f").opts(
        color="black", title="Wanted: the field", xlabel="x", ylabel="f(x)", **_SIZE)
    return hv.Layout([bags, targets.opts(title="D₂: targets at other y", ylabel="z",
                                         legend_position="top_left", **_SIZE), wanted]).cols(
        3).opts(shared_axes=False)


def prior(world: LineWorld, spots: np.ndarray, weights: np.ndarray, with_f: np.ndarray,
          with_g: np.ndarray, draws: np.ndarray, means: np.ndarray) -> hv.Layout:
    """Weights of bags in g at two places, covariances with f, and draws of f with their g.

    Parameters
    ----------
    world : LineWorld
        As of `line_world`.
    spots : array (2,)
        The two places y.
    weights : array (B, 2)
        Of every bag in g there.
    with_f, with_g : array (L,), (L, 2)
        Prior covariance of f along the line with f at the first place, and with g at both.
    draws, means : array (L, D)
        Draws of f along the line, and the g of each.

    Returns
    -------
    hv.Layout
        Three panels.
    """
    line, colours = world.line, [GREEN, PINK]
    bars = hv.Overlay([hv.Spikes((world.y, w), "y", "weight", label=f"y = {spot:g}").opts(
        color=c, line_width=2) for spot, w, c in zip(spots, weights.T, colours, strict=True)])
    curves = [hv.Curve((line, with_f), "x", "cov", label=f"with f({spots[0]:g})").opts(
        color=NEUTRAL, line_dash="dashed")]
    curves += [hv.Curve((line, v), "x", "cov", label=f"with g({spot:g})").opts(
        color=c, line_width=2) for spot, v, c in zip(spots, with_g.T, colours, strict=True)]
    pairs = hv.Overlay([hv.Curve((line, v), "x or y", "value", label=name).opts(
        color=c, line_width=2, line_dash=dash) for f, g, c in zip(
            draws.T, means.T, CATEGORIES, strict=False)
        for v, dash, name in ((f, "solid", "f"), (g, "dashed", "its g"))])
    title = " and ".join(f"g({spot:g})" for spot in spots)
    return hv.Layout([
        bars.opts(title=f"Weights of bags in {title}", xlabel="y of the bag",
                  legend_position="top_right", **_SIZE),
        hv.Overlay(curves).opts(title="Prior covariance of f(x)", ylabel="covariance",
                                legend_position="top_right", ylim=(-0.05, 1.6), **_SIZE),
        pairs.opts(title="Draws of f (solid), each with its g", show_legend=False, **_SIZE),
    ]).cols(3).opts(shared_axes=False)


def posterior(world: LineWorld, f: LabelledPredictive, g: LabelledPredictive) -> hv.Layout:
    """Posteriors of g and f along the line with 95 % bands, beside the truth.

    Parameters
    ----------
    world : LineWorld
        As of `line_world`.
    f, g : distribution
        At the places of the line.

    Returns
    -------
    hv.Layout
        Two panels.
    """
    wide = {"frame_width": 430, "frame_height": 260, "ylim": (-2, 4.5),
            "legend_position": "top_left"}
    left = _band(world, g, ORANGE, "g", mean_field(world.line)) * hv.Points(
        (world.at, world.z), ["at", "value"], label="targets").opts(**_TARGETS)
    right = _band(world, f, BLUE, "f", field(world.line))
    return (left.opts(title="Conditional mean g(y), 95 % band", xlabel="y", ylabel="g", **wide)
            + right.opts(title="Field f(x), 95 % band", xlabel="x", ylabel="f", **wide)).opts(
        shared_axes=False)


def _band(world: LineWorld, dist: LabelledPredictive, colour: str, name: str, truth: np.ndarray
          ) -> hv.Overlay:
    low, high = (end.values for end in dist.interval(0.95))
    shade = hv.Area((world.line, low, high), "at", ["value", "upper"]).opts(
        color=colour, alpha=0.25, line_alpha=0)
    mean = hv.Curve((world.line, dist.mean.values), "at", "value", label=f"{name}, posterior")
    return shade * mean.opts(color=colour, line_width=2) * hv.Curve(
        (world.line, truth), "at", "value", label=f"true {name}").opts(
        color="black", line_dash="dashed", line_width=1.5)
