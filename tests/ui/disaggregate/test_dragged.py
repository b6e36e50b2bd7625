"""The lengthscale dragged in a browser: maps follow the handle, scores its release."""

import re

import pytest
from playwright.sync_api import expect

from tests.ui.disaggregate.pages import FINGERPRINT, fingerprint, moved_from, open_app
from tests.ui.kit import WAIT, at_rest, idle, press, url

pytestmark = pytest.mark.ui

MAP = ("/disaggregate?dataset=korea&granularity=60&model=centre-point&nugget=0"
       "&kernel=matern32(coordinates)")         # quickly learnt
LEARNT = r"lengthscale=learnt&.*status=fitted"
# Counts in `arranged` how often something asks for the page to be arranged anew, which takes longer
# than to draw a map.
WATCH = """() => {
  let view = Bokeh.Models.get('Column').prototype.default_view.prototype
  while (!Object.hasOwn(view, 'invalidate_layout')) view = Object.getPrototypeOf(view)
  const own = view.invalidate_layout
  window.arranged = 0
  view.invalidate_layout = function () { window.arranged++; return own.call(this) }
}"""


def handle(page):
    """Where the middle of the handle is."""
    box = page.get_by_role("slider", name="Lengthscale").locator("xpath=..").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def mark(page):
    """How far to the right the mark of the slider is."""
    box = page.locator(".MuiSlider-mark").bounding_box()
    return box["x"] + box["width"] / 2


def settled(page):
    """Wait until the maps shown are scored."""
    expect(page.get_by_role("note").filter(has_text="95 % intervals cover")).to_be_visible()
    expect(page.get_by_role("note").filter(has_text=re.compile("^ready$"))).to_be_visible()
    idle(page)


def shows(page, maps):
    """Wait until maps are shown, and scored."""
    page.wait_for_function(f"maps => ({FINGERPRINT})().every((one, k) => one === maps[k])",
                           arg=maps, timeout=WAIT)
    settled(page)


def grasp(page):
    """Take hold of the handle where it is."""
    at_rest(lambda: handle(page), lambda: page.wait_for_timeout(300))
    page.mouse.move(*handle(page))
    page.mouse.down()


def test_maps_follow_the_handle_and_scores_its_release(page, apps_url):
    to_follow = page.get_by_text("Verdict to follow: the map is being scored.")
    fixed = page.get_by_role("switch", name="Fix the lengthscale")
    open_app(page, apps_url + MAP)
    idle(page)
    press(page, "Fit")
    url(page, LEARNT)
    settled(page)
    learnt, begun = fingerprint(page), page.evaluate("history.state.workbench")
    expect(page.locator(".MuiSlider-markLabel")).to_have_text("fitted")
    assert abs(mark(page) - handle(page)[0]) < 2
    expect(fixed).not_to_be_checked()

    grasp(page)
    x, y = handle(page)
    shown = [learnt]
    for step in (30, 60):                       # the handle is held all the while
        page.mouse.move(x + step, y, steps=6)
        shown.append(moved_from(page, shown[-1]))
        if step == 30:      # the first step shows that there is work
            page.evaluate(WATCH)
    page.wait_for_timeout(500)
    assert page.evaluate("window.arranged") == 0
    expect(to_follow).to_be_visible()
    page.mouse.up()
    settled(page)
    expect(to_follow).to_be_hidden()
    expect(fixed).to_be_checked()
    url(page, r"lengthscale=\d")
    first, address = fingerprint(page), page.url
    assert page.evaluate("history.state.workbench") == begun + 1

    grasp(page)
    page.mouse.move(x - 40, y, steps=12)
    moved_from(page, first)
    expect(to_follow).to_be_visible()
    page.mouse.up()
    settled(page)
    assert page.evaluate("history.state.workbench") == begun + 2
    page.go_back()
    expect(page).to_have_url(address)
    shows(page, first)
    page.go_back()
    url(page, LEARNT)
    shows(page, learnt)
    expect(fixed).not_to_be_checked()

    fixed.click()                               # nothing moves: it is fixed where it was fitted
    found = float(re.search(r"lengthscale:([\d.]+)", page.url)[1])
    url(page, f"lengthscale={found:g}&")
    settled(page)
    assert fingerprint(page) == learnt
    expect(fixed).to_be_checked()
    assert abs(mark(page) - handle(page)[0]) < 2
