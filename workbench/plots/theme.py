"""Looks shared by all plots: colours that survive colour blindness and dark pages."""

from __future__ import annotations

import holoviews as hv
import holoviews.plotting.bokeh

# Okabe and Ito's colours that stand out on white and on near-black alike
CATEGORIES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
NEUTRAL = "#888888"  # lines and bands that mean "what one would expect"
FLAT = "#999999"  # baselines
OWN_BAG = "own bag, by weight"  # the baseline that shares out each bag's own total
PALETTES = {"rate": "viridis", "spread": "cividis", "probability": "RdBu_r", "difference": "RdBu_r"}
_TEXT = {"title": "11pt", "labels": "10pt", "ticks": "9pt", "legend": "9pt"}
# aligned frames would push charts out of the cells of a layout when their labels differ in width
_PLOT = {"fontsize": _TEXT, "backend_opts": {"plot.frame_align": False}}
MAP = {**_PLOT, "show_grid": False}
CHART = {**_PLOT, "show_grid": True, "frame_width": 300, "frame_height": 300}
CHART |= {"gridstyle": {"grid_line_alpha": 0.3, "minor_grid_line_alpha": 0}, "axiswise": True}

hv.Store.set_current_backend("bokeh")


def colours(names: list[str]) -> dict[str, str]:
    """Colour of each model: baselines grey, the others in the order given."""
    flat = {"constant", OWN_BAG}
    fitted = [name for name in names if name not in flat]
    chosen = {name: CATEGORIES[k % len(CATEGORIES)] for k, name in enumerate(fitted)}
    return {name: chosen.get(name, FLAT) for name in names}


def axis(label: str, unit: str = "") -> str:
    """Axis label with its unit in brackets; that of plain numbers, "1", is not written."""
    return f"{label} ({unit})" if unit not in ("", "1") else label
