"""One screen: what decides is in view at any size, and a place that is clicked is explained."""

import contextlib
import re

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import TimeoutError, expect

from tests.ui.kit import BEYOND, BOX, FRAME, WAIT, idle, press, status, url

pytestmark = pytest.mark.ui

QUICK = "/disaggregate?dataset=simulated-country&granularity=region&model=vbagg&kernel=linear"


def open_at(page, url, width, height):
    page.set_viewport_size({"width": width, "height": height})
    page.goto(url, timeout=WAIT)
    expect(status(page)).to_contain_text("Mean rate", timeout=WAIT)


def settled(page, least):
    """The frame of the estimate once it has at least so many pixels across."""
    page.wait_for_function(f"least => ({FRAME})('mean')[0] >= least", arg=least, timeout=WAIT)
    return page.evaluate(FRAME, "mean")


def test_all_that_decides_is_on_one_screen_and_the_bar_stays(page, apps_url):
    sizes = {}
    for width, height, least in ((1280, 800, 200), (1920, 1080, 400)):
        open_at(page, apps_url + QUICK, width, height)
        sizes[width] = settled(page, least)
        expect(page.get_by_text("a verdict comes with the fit")).to_be_visible()
        for name in ("mean", "known"):
            page.wait_for_function(     # while the page still arranges itself, maps may be apart
                f"""([name, width, height]) => {{
                  const [left, top, right, bottom] = ({BOX})(name)
                  return left >= 0 && top > 0 && right <= width && bottom <= height }}""",
                arg=[name, width, height], timeout=WAIT)
        with contextlib.suppress(TimeoutError):     # panes below the maps arrange themselves later
            page.wait_for_function(f"() => ({BEYOND})().length === 0", timeout=WAIT)
        assert page.evaluate(BEYOND) == []
        fit = page.get_by_role("button", name="Fit", exact=True)
        page.get_by_text("Summary of the fit").or_(page.get_by_text(
            "What was fitted")).first.scroll_into_view_if_needed()
        assert 0 <= fit.bounding_box()["y"] < 160
    assert sizes[1920][1] > 1.4 * sizes[1280][1]

    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    expect(status(page)).to_contain_text("Mean rate", timeout=WAIT)
    page.wait_for_function(f"() => ({FRAME})('mean')[0] <= 380", timeout=WAIT)


def test_a_fit_has_a_verdict_and_a_place_that_is_clicked_is_explained(page, apps_url, tmp_path):
    open_at(page, apps_url + QUICK, 1280, 800)
    settled(page, 200)
    press(page, "Fit")
    verdict = page.get_by_role("note").filter(has_text="95 % intervals cover")
    expect(verdict).to_be_visible(timeout=WAIT)
    assert re.search(r"(Beats|[Bb]etter|Do not rely).* CRPS .*extrapolate", verdict.inner_text())
    expect(page.get_by_text(re.compile("extrapolates .*\\.$")).first).to_be_visible()

    press(page, "Uncertainty")
    expect(page).to_have_url(re.compile("beside=std"))
    expect(page.get_by_text("Bright is uncertain")).to_be_visible(timeout=WAIT)
    press(page, "Components")
    expect(page.get_by_text("Components of f")).to_be_visible(timeout=WAIT)
    press(page, "exposure")

    left, top, right, bottom = page.evaluate(BOX, "mean")
    page.mouse.click((left + right) / 2, (top + bottom) / 2 - 30)
    expect(page.get_by_text("Its area and the nearest")).to_be_visible(timeout=WAIT)
    expect(page.get_by_role("rowheader", name="Estimate")).to_be_visible()
    press(page, "Close the explanation")
    expect(page.get_by_text("Its area and the nearest")).to_be_hidden(timeout=WAIT)

    press(page, "Copy as Python")
    expect(page.get_by_role("textbox", name="Python")).to_have_value(
        re.compile("import workbench"), timeout=WAIT)
    page.evaluate("navigator.clipboard.writeText = text => { window.copied = text }")
    press(page, "Copy")
    expect(page.get_by_role("button", name="Copied", exact=True)).to_be_visible(timeout=WAIT)
    with page.expect_download() as download:
        press(page, "Download .py")
    download.value.save_as(tmp_path / "map.py")
    assert "wb.VBAgg(" in (tmp_path / "map.py").read_text()
    assert page.evaluate("window.copied") == (tmp_path / "map.py").read_text()


def test_the_divider_moves_by_key_and_drag_and_a_step_leads_to_its_part(page, apps_url):
    open_at(page, apps_url + QUICK + "&beside=split&swipe=30", 1280, 800)
    divider = page.get_by_role("slider", name="Divider between estimate and population split")
    expect(divider).to_have_attribute("aria-valuenow", "30", timeout=WAIT)
    shapes = """share => { const found = []
      const look = root => { for (const one of root.querySelectorAll('*')) {
        if (/wb-(before|after)/.test(one.className)) found.push(one.style.clipPath)
        if (one.shadowRoot) look(one.shadowRoot) } }
      look(document)
      return found.length === 2 && found.every(one => RegExp(share).test(one)) }"""
    page.wait_for_function(shapes, arg="(30|70)%", timeout=WAIT)        # both maps are there
    idle(page)
    divider.focus()
    page.keyboard.press("ArrowRight")
    url(page, "swipe=31")
    page.wait_for_function(shapes, arg="(31|69)%", timeout=WAIT)
    with page.expect_download(timeout=WAIT) as drawn:
        press(page, "SVG")
    assert drawn.value.suggested_filename == "disaggregated-simulated-country-preview.svg"
    picture = drawn.value.path().read_text()
    assert "Preview, not fitted" in picture and picture.count("clip-path=\"url(#wb-seen-") == 2
    assert "What makes the estimate" not in picture        # in a drawer that is closed
    with page.expect_download(timeout=WAIT) as drawn:
        press(page, "PNG")
    pixels = np.asarray(Image.open(drawn.value.path()).convert("L"))
    blank = (pixels == pixels[0, -1]).all(axis=1)       # rows in which nothing is drawn
    runs = np.diff(np.flatnonzero(np.concatenate([[True], ~blank, [True]])))
    assert runs.max() < 120                 # two for each pixel of the page
    divider.scroll_into_view_if_needed()    # the button may lie further down
    box = divider.bounding_box()
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(*middle)
    page.mouse.down()
    page.mouse.move(middle[0] + 60, middle[1], steps=3)
    page.mouse.up()
    expect(divider).not_to_have_attribute("aria-valuenow", "31", timeout=WAIT)
    url(page, r"swipe=(4|5|6)\d")
    step = page.get_by_role("button", name=re.compile("^Check: "))
    step.focus()
    page.keyboard.press("Enter")
    url(page, "step=check")
    expect(step).to_have_attribute("aria-current", "step")
    expect(page.get_by_text("Check of the data")).to_be_in_viewport(timeout=WAIT)


TOUCHED = """() => {
  const found = [], look = root => { for (const one of root.querySelectorAll('*')) {
    if (one.classList.contains('bk-events') && one.clientWidth > 200)
      found.push(getComputedStyle(one).touchAction)
    if (one.shadowRoot) look(one.shadowRoot) } }
  look(document)
  return found }"""


@pytest.mark.parametrize(("finger", "expected"), [(True, "auto"), (False, "pinch-zoom")])
def test_a_finger_over_the_map_scrolls_the_page(browser, apps_url, finger, expected):
    """A mouse drags the map; a finger does so once the tool is tapped."""
    context = browser.new_context(viewport={"width": 390, "height": 844}, has_touch=finger,
                                  is_mobile=finger)
    try:
        page = context.new_page()
        page.goto(apps_url + QUICK)
        page.wait_for_function(f"() => ({TOUCHED})().length > 0", timeout=WAIT)
        page.wait_for_function(f"() => ({TOUCHED})()[0] === '{expected}'", timeout=WAIT)
    finally:
        context.close()
