"""Colours of the maps: which scale, and how figures take it without being drawn anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from bokeh.models import ColorBar, LinearColorMapper, LogColorMapper
from bokeh.plotting import figure

from workbench.plots import ColourScale, colour_scale
from workbench.plots.maps import ticker
from workbench.plots.theme import PALETTES
from workbench.ui.base.views.figures import colours
from workbench.ui.disaggregate.engine import Answer, Scene
from workbench.ui.disaggregate.quantity import said

NOWHERE = "#00000000"       # pixels without individuals are transparent
SPREAD = 2                  # locked colours of the sd span half of those of the rate

Mapper = LinearColorMapper | LogColorMapper


def scales(scene: Scene, answer: Answer | None, log: bool) -> tuple[ColourScale, ColourScale]:
    """Scales of the rate and of its standard deviation.

    Parameters
    ----------
    scene : Scene
        Its observed and known rates lock the scales, whatever the maps.
    answer : Answer or None
        If given, the scales are stretched over its maps instead.
    log : bool
        Equal steps of colour are equal ratios; zeros have the lowest colour.
    """
    if answer is None and not log:
        return scene.rate, scene.spread
    shared = {"unit": said(scene.unit), "factor": scene.factor, "log": log}
    if answer is not None:
        rate = colour_scale(_drawable(answer.mean, log), label=scene.noun, **shared)
        spread = colour_scale(_drawable(answer.std, log), label="standard deviation",
                              kind="spread", **shared)
        return replace(rate, source=f"of this posterior mean, {rate.source}"), spread
    seen = [v for v in (scene.observed, scene.known) if v is not None]
    rate = colour_scale(*[_drawable(v, log) for v in seen], label=scene.noun, **shared)
    return rate, replace(rate, label="standard deviation", kind="spread",
                         lower=rate.lower / SPREAD, upper=rate.upper / SPREAD,
                         source=f"half of the {scene.noun}s")


def _drawable(values: np.ndarray, log: bool) -> np.ndarray:
    return values[values > 0] if log else values


def mapper(scale: ColourScale) -> Mapper:
    """Colours of a scale, for Bokeh."""
    return colours(PALETTES[scale.kind], scale.log, low=scale.lower, high=scale.upper,
                   nan_color=NOWHERE)


def recolour(plots: list[figure], scale: ColourScale) -> None:
    """Give maps of one quantity one mapper: their colours are locked by construction."""
    found = mapper_of(plots[0])
    if isinstance(found, LogColorMapper) == scale.log:
        found.update(low=scale.lower, high=scale.upper)
    else:
        found = mapper(scale)
    for plot in plots:
        bar = next(one for one in plot.below if isinstance(one, ColorBar))
        bar.update(color_mapper=found, ticker=ticker(scale))
        glyph = _glyph(plot)
        if hasattr(glyph, "color_mapper"):
            glyph.color_mapper = found
        else:
            glyph.fill_color = {"field": glyph.fill_color.field, "transform": found}


def mapper_of(plot: figure) -> Mapper:
    """What colours a map."""
    glyph = _glyph(plot)
    return glyph.color_mapper if hasattr(glyph, "color_mapper") else glyph.fill_color.transform


def _glyph(plot: figure):
    return plot.renderers[0].glyph      # what comes after is drawn over it
