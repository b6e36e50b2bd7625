"""Pictures of the apps at work: `make pictures`, or `docs/howto/pictures/make.py [NAME ...]`.

It needs a Chromium. Those of the documentation are stored beside this script; small ones, for the
first page of `workbench serve`, beside the apps. By name alone those of reports: ``report``, and
``madagascar``, which needs WORKBENCH_DATA.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image, ImageOps
from playwright.sync_api import Page, sync_playwright

from workbench.ui.serving import apps

HERE = Path(__file__).parent
SIZE, SMALL = (1280, 800), (640, 256)
#: What the small picture shows: left, top, right and bottom of charts that are not cut.
SEEN = {"compare": (318, 232, 820, 444), "disaggregate": (312, 298, 870, 752),
        "granularity": (318, 205, 1278, 522), "mediated": (312, 212, 1256, 664),
        "sources": (320, 250, 1250, 578)}
PATIENCE = 300_000      # milliseconds
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
    """Open an app, fit where it has to be asked for it, and store what is seen."""
    page.goto(f"{address}/{name}", timeout=PATIENCE)
    page.locator("canvas").locator("visible=true").first.wait_for(timeout=PATIENCE)
    page.wait_for_function(IDLE, timeout=PATIENCE)
    if name == "disaggregate":
        page.get_by_text("Preview, not fitted").first.wait_for(timeout=PATIENCE)
        page.wait_for_timeout(4000)
        page.get_by_role("button", name="Fit", exact=True).click()
        cancel = page.get_by_role("button", name="Cancel", exact=True)
        cancel.wait_for(timeout=PATIENCE)
        cancel.wait_for(state="hidden", timeout=PATIENCE)
        page.get_by_text("scoring", exact=True).wait_for(state="hidden", timeout=PATIENCE)
    if name == "compare":           # its maps come once it knows how large they can be
        page.get_by_text("Truth (withheld)").wait_for(timeout=PATIENCE)
    page.wait_for_timeout(4000)     # what is computed after the first maps
    page.wait_for_function(IDLE, timeout=PATIENCE)
    page.mouse.move(5, 5)
    with Image.open(io.BytesIO(page.screenshot())) as image:
        seen = image.convert("RGB")
    seen.quantize(256, **PALETTE).save(HERE / f"{name}.png", optimize=True)
    store_small(seen, name)


def store_small(seen: Image.Image, name: str) -> None:
    """Cut what the first page shows of an app out of its picture."""
    small = ImageOps.pad(seen.crop(SEEN[name]), SMALL, Image.Resampling.LANCZOS, "white")
    folder = apps()[name].parent / "pictures"
    small.quantize(160, **PALETTE).save(folder / f"{name}.png", optimize=True)


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
