"""Charts of lines that several apps show: calibration, and correlation over distance."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from bokeh.models import BasicTicker, BoxAnnotation, ColumnDataSource, FixedTicker, Range1d
from bokeh.plotting import figure

from workbench.plots.theme import NEUTRAL
from workbench.ui.base.views.figures import chart, empty, push


def calibration(title: str, side: int, held: ColumnDataSource, drawn: Mapping[str, str]) -> figure:
    """Nominal against empirical coverage.

    Parameters
    ----------
    title : str
    side : int
        Pixels across the frame.
    held : ColumnDataSource
        ``level``, and shares by name.
    drawn : mapping of str to str
        Colours of the shares that are drawn.
    """
    plot = chart(title, "nominal coverage", "share inside", side, side,
                 x_range=(0, 1), y_range=(0, 1.005), name="calibration")
    plot.line([0, 1], [0, 1], line_color=NEUTRAL, line_dash="dashed", line_width=1.5)
    for name, colour in drawn.items():
        plot.line("level", name, source=held, line_color=colour, line_width=2.5, name=name)
        plot.scatter("level", name, source=held, color=colour, size=4, name=name)
    return plot


class DistanceCurves:
    """Correlation functions over distance, with the size of one cell shaded.

    Parameters
    ----------
    title, name : str
    height : int
    drawn : mapping of str to mapping
        Looks of each curve.
    shade : mapping
        Look of the cell.
    """

    def __init__(self, title: str, name: str, height: int, drawn: Mapping[str, Mapping],
                 shade: Mapping):
        self.curve = empty("r", *drawn)
        self.figure = chart(title, "distance", "", 215, height, y_range=(0, 1.05),
                            x_range=Range1d(0, 1), name=name)
        self._box = BoxAnnotation(left=0, right=1, **shade)
        self.figure.add_layout(self._box)
        self.lines = {key: self.figure.line("r", key, source=self.curve, line_width=2.5, **look)
                      for key, look in drawn.items()}
        # In metres labels are long.
        self.figure.xaxis.ticker = BasicTicker(desired_num_ticks=4)
        self.figure.yaxis.ticker = FixedTicker(ticks=[0, 0.5, 1])

    def push(self, end: float, cell: float, label: str, **correlations) -> None:
        """Draw functions of distance up to an end."""
        r = np.linspace(0, end, 120)
        push(self.curve, {"r": r} | {name: of(r) for name, of in correlations.items()})
        self._box.right, self.figure.x_range.end = cell, end
        self.figure.xaxis.axis_label = label
