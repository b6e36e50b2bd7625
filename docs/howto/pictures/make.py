"""Pictures of the apps at work: `make pictures`, or `docs/howto/pictures/make.py [NAME ...]`.

It needs a Chromium. Those of the documentation are stored beside this script; small ones, for the
first page of `workbench serve`, beside the apps, and with them, for some, what is seen while a
control is moved through its values and back. By name alone those of reports: ``report``, and
``madagascar``, which needs WORKBENCH_DATA.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image, ImageOps
from playwright.sync_api import Page, sync_playwright

from workbench.ui.disaggregate.messages import EXPLORE
from workbench.ui.serving import PICTURES, apps

HERE = Path(__file__).parent
SIZE, SMALL = (1280, 800), (640, 256)
#: What the small picture shows: left, top, right and bottom of charts that are not cut.
SEEN = {"compare": (318, 232, 820, 444), "disaggregate": (312, 2, 880, 456),
        "granularity": (318, 243, 1278, 560), "mediated": (312, 235, 1256, 698),
        "sources": (320, 0, 1250, 328)}
#: Figures from whose top it is counted down: what stands above them changes its height.
BELOW = {"disaggregate": "mean", "sources": "line"}
# Where the figure of a name begins down the page.
TOP = """name => {
  const figure = Bokeh.documents.flatMap(one => [...one._all_models.values()])
    .filter(one => one.type === 'Figure' && one.name === name).at(-1)
  return Math.round(Bokeh.index.find_one_by_id(figure.id).el.getBoundingClientRect().top)
}"""
#: What is moved for the small moving picture: a control by its role and label, the number of its
#: values that are seen, how many of them lie before the one it has, and how many of the control's
#: own steps lie between two of them.
MOVED = {"compare": ("combobox", "Ranked by", 2, 0, 1),
         "disaggregate": ("slider", "Lengthscale", 6, 3, 3),
         "granularity": ("slider", "Cells m", 8, 3, 1),
         "mediated": ("slider", "Block size", 5, 1, 1),
         "sources": ("slider", "Bias: offset", 5, 0, 2)}
FRAME, QUALITY = 350, 60        # milliseconds that one of its pictures is seen; of WebP
PATIENCE = 300_000      # milliseconds
LOOKS = 40
#: Reports: options of `workbench disaggregate`, width and height, and the heading to begin at.
REPORTS = {"report": (["--dataset", "simulated-country", "--model", "vbagg", "--cv", "5"],
                      (865, 772), ""),
           "madagascar": (["--dataset", "madagascar"], (1010, 490), "Maps")}
#: Of a palette, in which bars of colours stay smooth and small marks keep their colours.
PALETTE = {"method": Image.Quantize.MAXCOVERAGE, "kmeans": 2}
IDLE = "() => window.Bokeh && Bokeh.documents.length && Bokeh.documents[0].is_idle"


@contextlib.contextmanager
def server():
    """Address of the apps, served for as long as it is needed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "workbench", "serve", "--port", str(port)])
    try:
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if process.poll() is not None:
                raise SystemExit("the server ended")
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def picture(page: Page, address: str, name: str) -> None:
    """Store what is seen of an app, and of some while a control is moved."""
    visit(page, f"{address}/{name}", name)
    seen = _rested(page, name)
    seen.quantize(256, **PALETTE).save(HERE / f"{name}.png", optimize=True)
    folder = apps()[name].parent / PICTURES
    _small(page, seen, name).quantize(160, **PALETTE).save(folder / f"{name}.png", optimize=True)
    if name not in MOVED:
        return
    frames = moved(page, name)
    there_and_back = [*frames, *frames[-2:0:-1]]
    there_and_back[0].save(folder / f"{name}.webp", save_all=True, loop=0, duration=FRAME,
                           append_images=there_and_back[1:], quality=QUALITY, method=6)


def visit(page: Page, address: str, name: str) -> None:
    """Open an app, fit where it has to be asked for it, and wait until all is there."""
    page.goto(address, timeout=PATIENCE)
    page.locator("canvas").locator("visible=true").first.wait_for(timeout=PATIENCE)
    page.wait_for_function(IDLE, timeout=PATIENCE)
    if name == "disaggregate":
        page.get_by_text("Preview, not fitted").first.wait_for(timeout=PATIENCE)
        page.wait_for_timeout(4000)
        page.get_by_role("button", name="Fit", exact=True).click()
        cancel = page.get_by_role("button", name="Cancel", exact=True)
        cancel.wait_for(timeout=PATIENCE)
        cancel.wait_for(state="hidden", timeout=PATIENCE)
        check = page.get_by_role("button", name="Check: under way")     # it runs beside the fit
        check.wait_for(state="hidden", timeout=PATIENCE)
    if name == "compare":           # its maps come once it knows how large they can be
        page.get_by_text("Truth (withheld)").wait_for(timeout=PATIENCE)
    page.wait_for_timeout(4000)     # what is computed after the first maps
    _settle(page, name)
    page.mouse.move(5, 5)


def moved(page: Page, name: str) -> list[Image.Image]:
    """What is seen at each of the values that a control is moved through."""
    role, label, count, before, stride = MOVED[name]
    control = page.get_by_role(role, name=re.compile(f"^{re.escape(label)}"))

    def press(key: str, times: int) -> None:
        for _ in range(times):
            control.press(key)
            page.wait_for_timeout(1000)     # a page that is behind takes several for one
            _settle(page, name)

    if name == "disaggregate":      # a mixture has no lengthscale of its own
        page.get_by_role("button", name=EXPLORE).click()
        _settle(page, name)
    press("ArrowLeft", before * stride)
    frames = []
    for number in range(count):
        if number and role == "slider":
            press("ArrowRight", stride)
        elif number:
            control.click()
            page.get_by_role("menuitem").nth(number).click()
        frames.append(_small(page, _rested(page, name), name))
    return frames


def _rested(page: Page, name: str) -> Image.Image:
    """What is seen once nothing changes any more: maps are dimmed before those of a value come."""
    seen = None
    for _ in range(LOOKS):
        page.wait_for_timeout(1500)
        _settle(page, name)
        last, seen = seen, _seen(page)
        if last is not None and last.tobytes() == seen.tobytes():
            return seen
    raise SystemExit(f"{name} does not come to rest")


def _settle(page: Page, name: str) -> None:
    if name == "disaggregate":      # the others say what they work on, and nothing when they rest
        page.get_by_text("ready", exact=True).locator("visible=true").first.wait_for(
            timeout=PATIENCE)
    page.wait_for_function(IDLE, timeout=PATIENCE)


def _seen(page: Page) -> Image.Image:
    with Image.open(io.BytesIO(page.screenshot())) as image:
        return image.convert("RGB")


def _small(page: Page, seen: Image.Image, name: str) -> Image.Image:
    """What the first page of the server shows of an app, cut out of all of it."""
    left, top, right, bottom = SEEN[name]
    down = page.evaluate(TOP, BELOW[name]) if name in BELOW else 0
    cut = seen.crop((left, top + down, right, bottom + down))
    return ImageOps.pad(cut, SMALL, Image.Resampling.LANCZOS, "white")


def report(page: Page, name: str) -> None:
    """Make a map with its report, and store a part of the page."""
    options, (width, height), heading = REPORTS[name]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "workbench", "disaggregate", *options, "--out",
                        f"{folder}/map.nc", "--report", f"{folder}/map.html"], check=True)
        page.set_viewport_size({"width": width, "height": height})
        page.goto(Path(folder, "map.html").as_uri())
        top = 0.0
        if heading:
            box = page.get_by_role("heading", name=heading, exact=True).bounding_box()
            top = box["y"] - 12
        seen = page.screenshot(full_page=True, clip={
            "x": 0, "y": top, "width": width, "height": height})
    with Image.open(io.BytesIO(seen)) as image:
        image.convert("RGB").quantize(256, **PALETTE).save(HERE / f"{name}.png", optimize=True)


def main(names: list[str]) -> None:
    """Make the pictures of some apps and reports, or of all apps."""
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chrome")
    with server() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for name in names or list(apps()):
            page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
            if name in REPORTS:
                report(page, name)
            else:
                picture(page, address, name)
            page.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
