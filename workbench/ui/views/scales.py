"""Colours of maps of several kinds of number, and the bar below a map that says what they mean."""

from __future__ import annotations

from collections.abc import Mapping

from bokeh.models import BasicTickFormatter, ColorBar, LinearColorMapper, LogColorMapper
from holoviews.plotting.util import process_cmap


def mappers(palettes: Mapping[str, str], **options) -> dict[str, LinearColorMapper]:
    """What colours each kind of number, by the name of its palette; widths by equal ratios."""
    kinds = {"width": LogColorMapper}
    return {name: kinds.get(name, LinearColorMapper)(
        process_cmap(palette, 256, categorical=False), **options)
        for name, palette in palettes.items()}


def colour_bar(mapper: LinearColorMapper | LogColorMapper, width: int, **options) -> ColorBar:
    """A thin bar of colours, so many pixels long."""
    return ColorBar(color_mapper=mapper, height=9, width=width, padding=4, margin=0,
                    background_fill_alpha=0, major_label_text_font_size="11px",
                    formatter=BasicTickFormatter(), **options)
