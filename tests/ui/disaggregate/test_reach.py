"""What lies over the page leaves the rest within reach, and a phone's width is used."""

import pytest
from playwright.sync_api import expect

from tests.ui.disaggregate.test_screen import QUICK, open_at, settled
from tests.ui.kit import BOX, FIGURE, FRAME, WAIT, idle, press, status

pytestmark = pytest.mark.ui

# Top and bottom of the frame of a figure on the screen, between its title and its bar of colours.
WITHIN = """name => {
  const view = [...new Set(Bokeh.index.all_views())].find(one => one.model === (FIGURE)(name))
  const top = view.canvas_view.el.getBoundingClientRect().top, {bbox} = view.frame
  return [top + bbox.top, top + bbox.bottom].map(Math.round)
}""".replace("FIGURE", FIGURE)
# Whether what is seen at the middle of an element belongs to it, and nothing lies over it.
FREE = """one => {
  const {left, top, width, height} = one.getBoundingClientRect()
  let found = document.elementFromPoint(left + width / 2, top + height / 2)
  while (found?.shadowRoot) {
    const inner = found.shadowRoot.elementFromPoint(left + width / 2, top + height / 2)
    if (!inner || inner === found) break
    found = inner
  }
  for (let up = found; up; up = up.parentNode ?? up.host) if (up === one) return true
  return false
}"""
EXPLAINED = "Its area and the nearest"


def explain(page):
    """Click a place of the map; the box of the drawer that explains it."""
    left, top, right, bottom = page.evaluate(BOX, "mean")
    page.mouse.click((left + right) / 2, top + (bottom - top) / 3)
    expect(page.get_by_text(EXPLAINED)).to_be_visible(timeout=WAIT)
    drawer = page.locator(".MuiDrawer-paper").filter(has_text=EXPLAINED)
    page.wait_for_function(         # it slides in
        "one => getComputedStyle(one).transform === 'none'", arg=drawer.element_handle())
    return drawer.bounding_box()


def test_the_divider_is_as_high_as_the_map_alone(page, apps_url):
    said = []
    page.on("console", lambda message: said.append(message.text))
    open_at(page, apps_url + QUICK + "&beside=split&swipe=30", 1280, 800)
    divider = page.get_by_role("slider", name="Divider between estimate and population split")
    expect(divider).to_have_attribute("aria-valuenow", "30", timeout=WAIT)
    idle(page)
    page.wait_for_function(f"""([one, name]) => {{
        const {{top, bottom}} = one.getBoundingClientRect(), frame = ({WITHIN})(name)
        return bottom - top > 100 && Math.abs(top - frame[0]) < 3 && Math.abs(bottom - frame[1]) < 3
    }}""", arg=[divider.element_handle(), "swiped"], timeout=WAIT)
    assert not [one for one in said if "initial ranges" in one]


def test_an_explanation_leaves_steps_and_exports_within_reach(page, apps_url):
    open_at(page, apps_url + QUICK, 1280, 800)
    settled(page, 200)
    drawer = explain(page)
    report = page.get_by_role("button", name="Report: ")
    assert report.evaluate(FREE) and page.get_by_role(
        "button", name="Fit", exact=True).evaluate(FREE)
    close = page.get_by_role("button", name="Close the explanation")
    page.get_by_text("influence on f").last.scroll_into_view_if_needed()
    assert close.evaluate(FREE)             # it stays where the rest is scrolled
    settings = page.get_by_role("button", name="Settings (JSON)")
    settings.scroll_into_view_if_needed()
    box = settings.bounding_box()
    assert box["x"] + box["width"] <= drawer["x"] and settings.evaluate(FREE)
    close.click()
    expect(page.get_by_text(EXPLAINED)).to_be_hidden(timeout=WAIT)


def test_on_a_phone_the_map_is_as_wide_as_the_page_and_seen_above_its_explanation(page, apps_url):
    open_at(page, apps_url + QUICK, 390, 844)
    page.wait_for_function(f"() => ({FRAME})('mean')[0] >= 0.85 * innerWidth", timeout=WAIT)
    page.wait_for_function(f"() => ({BOX})('mean')[3] <= innerHeight", timeout=WAIT)
    idle(page)
    drawer = explain(page)
    assert drawer["y"] > 844 / 2 and drawer["x"] == 0 and drawer["width"] == 390
    for part in (page.get_by_role("rowheader", name="Extrapolation"),
                 page.get_by_role("button", name="Close the explanation")):
        box = part.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    expect(status(page)).to_contain_text("Mean rate")
    press(page, "Close the explanation")
    expect(page.get_by_text(EXPLAINED)).to_be_hidden(timeout=WAIT)
