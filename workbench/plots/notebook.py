"""Plots in notebooks: live Bokeh plots that need no network, or small static images."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import holoviews as hv

from workbench.plots.images import save_png

STATIC = "WORKBENCH_STATIC_PLOTS"


def notebook() -> None:
    """Show plots in this notebook; call it in the first cell, before any plot.

    Live plots carry Bokeh's JavaScript with them, so they work without a network, also if hvplot
    was imported before, which asks for it elsewhere. With the
    environment variable WORKBENCH_STATIC_PLOTS=1 every plot is a PNG instead (through Chromium),
    which is how the notebooks of this project are stored.

    Raises
    ------
    ImportError
        If static plots are asked for outside IPython.
    """
    if os.environ.get(STATIC) != "1":
        os.environ.setdefault("PANEL_INLINE", "true")
        hv.extension.inline = True      # for an import of hvplot hereafter, which loads all anew
        if getattr(hv.extension, "_loaded", False):
            _forget_loading()
        hv.extension("bokeh", inline=True)
        return
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None:
        raise ImportError(f"{STATIC}=1 is for notebooks; unset it, or use save_png")
    formatters = shell.display_formatter
    formatters.mimebundle_formatter.for_type(hv.core.Dimensioned, lambda *_, **__: None)
    formatters.formatters["image/png"].for_type(hv.core.Dimensioned, _png)


def _forget_loading() -> None:
    """What was imported before, hvplot or another, waits for scripts of other machines in vain."""
    from IPython.display import Javascript, display
    from pyviz_comms import extension

    display(Javascript("window._bokeh_is_loading = 0; window._bokeh_is_initializing = false; "
                       "delete window._bokeh_onload_callbacks;"))
    extension._last_execution_count = None      # else the same cell loads nothing a second time


def _png(element: hv.core.Dimensioned) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plot.png"
        save_png(element, path, scale=1)
        return path.read_bytes()
