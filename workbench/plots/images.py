"""Still pictures of plots, made by the browser that would show them, without any network."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import holoviews as hv
from bokeh.embed import file_html
from bokeh.models import GridPlot, Plot
from bokeh.resources import INLINE
from holoviews.core import Dimensioned

from workbench.checks import InputError, package, require

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome",
            "microsoft-edge")
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
# Panel, where it is imported, asks for a file of its server, which plots do without.
_SERVED = re.compile(r'<script src="static/[^"]*"></script>\n?')
# the root element of a page has no size of its own: its drawn contents do
_EXTENT = """() => {
  const box = Bokeh.index.roots[0].el.getBoundingClientRect();
  const [x, y] = [Math.max(0, box.x - 4), Math.max(0, box.y - 4)];
  return {x, y, width: Math.ceil(box.right + 8 - x), height: Math.ceil(box.bottom + 8 - y)};
}"""


def save_html(element, path: str | Path, title: str = "", tools: bool = True) -> Path:
    """Write a plot as one self-contained page that needs no network.

    Parameters
    ----------
    element : HoloViews object or Bokeh model
    path : str or Path
        File to write, about 4 MB.
    title : str
        Title of the page.
    tools : bool
        Whether to keep the bar of zoom and hover tools.

    Returns
    -------
    Path
        The file.
    """
    path = Path(path)
    figure = hv.render(element, backend="bokeh") if isinstance(element, Dimensioned) else element
    for plot in figure.select({"type": Plot}):
        plot.output_backend = "canvas"  # a headless browser has no WebGL worth having
        if plot.sizing_mode == "fixed" and plot.width is None:
            plot.sizing_mode = None  # the frame has a size; the figure around it fits itself
        if not tools:
            plot.toolbar_location = None
    if not tools and isinstance(figure, GridPlot):
        figure.toolbar_location = None
    page = _SERVED.sub("", file_html(figure, INLINE, title or path.stem))
    path.write_text(page, encoding="utf-8")
    return path


def save_png(element, path: str | Path, scale: float = 2.0, timeout: float = 60.0) -> Path:
    """Render a plot to a PNG file in a headless Chromium, offline.

    Parameters
    ----------
    element : HoloViews object or Bokeh model
    path : str or Path
        File to write.
    scale : float
        Device pixels per CSS pixel: 2 is sharp in print, 1 is half the width.
    timeout : float
        Seconds to wait for the page.

    Returns
    -------
    Path

    Raises
    ------
    ImportError
        If playwright is not installed.
    InputError
        If there is no Chromium: set ``WORKBENCH_CHROMIUM`` to the executable.
    """
    path = Path(path)
    require(path.suffix == ".png", f"expected a file name ending in .png, got {path.name!r}")
    chromium = browser()
    package("playwright", extra="test")
    with tempfile.TemporaryDirectory() as folder:
        page = save_html(element, Path(folder) / "plot.html", tools=False)
        with ThreadPoolExecutor(1) as thread:  # notebooks run a loop; playwright needs none
            thread.submit(_shoot, page, path, chromium, scale, timeout).result()
    return path


def browser() -> str:
    """The Chromium that draws pictures.

    Returns
    -------
    str
        Its executable.

    Raises
    ------
    InputError
        If there is none.
    """
    named = os.environ.get("WORKBENCH_CHROMIUM")
    found = named or next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None or (named and not Path(named).exists()):
        raise InputError(
            f"no Chromium to draw with ({named or 'none on the PATH'}): install it "
            "(apt install chromium), set WORKBENCH_CHROMIUM to its executable, or use save_html"
        )
    return found


def _shoot(page_file: Path, path: Path, browser: str, scale: float, timeout: float) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        chromium = play.chromium.launch(executable_path=browser, args=list(_FLAGS))
        try:
            page = chromium.new_page(
                device_scale_factor=scale, viewport={"width": 1800, "height": 1400}
            )
            page.set_default_timeout(1000 * timeout)
            page.goto(page_file.as_uri())
            page.wait_for_function("Bokeh.documents.length && Bokeh.documents[0].is_idle")
            box = page.evaluate(_EXTENT)
            page.set_viewport_size({k: max(200, box[k]) for k in ("width", "height")})
            page.wait_for_function("Bokeh.documents[0].is_idle")
            page.screenshot(path=str(path), clip=page.evaluate(_EXTENT))
        finally:
            chromium.close()
