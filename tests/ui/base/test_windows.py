"""Pages fit their window: nothing lies beyond it, and what a page is about is seen unscrolled.

To load a page takes seconds, so each app is loaded once, in which nothing may jump, and its window
made larger and smaller.
"""

import re
from pathlib import Path

import pytest

import workbench.ui.base
from tests.ui.kit import BEYOND, BOX, MOST_SHIFTED, WAIT, idle, press, shift_while_loading

pytestmark = pytest.mark.ui

LAPTOP, SCREEN, PHONE = (1280, 800), (1920, 1080), (390, 844)
#: Of each app the figures that come first, by the button that shows them.
APPS = {"compare": {"": "gap"}, "mediated": {"": "mean"},
        "sources": {"One dimension": "line", "A city": "city"}}
#: The window in which each app is loaded.
FIRST = {"compare": LAPTOP, "mediated": LAPTOP, "sources": PHONE}
FITS = f"""([name, width, height, least]) => {{
  try {{
    const [left, top, right, bottom] = ({BOX})(name)
    return left >= 0 && top > 0 && right <= width && bottom <= height
      && right - left >= least && ({BEYOND})().length === 0
  }} catch {{ return false }}       // not drawn yet
}}"""

# How often a page is arranged once all its figures have asked for that in one turn, how many
# figures these are, and how often a computed style was asked for meanwhile. Then how many of them
# are drawn again, while the page is arranged once, for one of them, and for a text.
ARRANGED = """async () => {
  const root = Bokeh.index.roots[0], own = root.compute_layout
  const views = type => Bokeh.documents.flatMap(one => [...one._all_models.values()])
    .filter(one => one.type === type).map(one => Bokeh.index.find_one_by_id(one.id))
    .filter(one => one)
  const figures = views('Figure'), shown = views => views.find(one => one.is_displayed)
  const turns = async () => { for (let turn = 0; turn < 200; turn++) await null }  // within a frame
  let count = 0, asked = 0
  const computed = window.getComputedStyle
  window.getComputedStyle = (...given) => { asked++; return computed(...given) }
  root.compute_layout = function () { count++; return own.call(this) }
  for (const one of figures) one.invalidate_layout()
  const before = count
  await turns()
  const found = [before, count, figures.length, asked]
  window.getComputedStyle = computed
  const drawn = new Set()
  for (const one of figures) {
    const paint = one._actual_paint
    one._actual_paint = function () { drawn.add(one); return paint.call(this) }
  }
  for (const one of [shown(figures), shown(views('panel.models.markup.HTML'))]) {
    drawn.clear()
    count = 0
    one.invalidate_layout()
    await turns()
    found.push(count, drawn.size)
  }
  root.compute_layout = own
  for (const one of figures) delete one._actual_paint
  return found
}"""

#: Sizes and styles of all that is arranged, and where the frames of figures lie.
STATE = """() => {
  const found = [], walk = one => {
    const {x, y, width, height} = one.el.getBoundingClientRect()
    found.push([one.model.type, one.layout != null, x, y, width, height, one.style.css,
                one.parent_style.css, one.frame && {...one.frame.bbox.box}])
    for (const child of one.layoutable_views) walk(child)
  }
  for (const root of Bokeh.index.roots) if (root.layoutable_views) walk(root)
  return found
}"""
WHOLLY = """() => {
  for (const root of Bokeh.index.roots) {
    if (!root.update_layout) continue
    root.update_layout()
    root.compute_layout()
  }
}"""
#: The figure inside goes, or comes back, and the text takes more room.
CHANGE = """() => {
  const all = [...Bokeh.documents[0]._all_models.values()]
  const inner = window.inner ??= all.find(
    one => one.type.endsWith('Column') && one.children[0]?.type === 'Figure')
  const text = all.find(one => one.text?.includes?.('a text'))
  window.kept ??= inner.children
  text.margin = inner.children.length ? 20 : 30
  inner.children = inner.children.length ? [] : window.kept
}"""
#: The part of the page of all apps that has Bokeh arrange less.
PATCH = re.search(
    r"Bokeh arranges all of a page anew.*?<script>(.*?)</script>",
    Path(workbench.ui.base.__file__).with_name("page.html").read_text("utf-8"), re.DOTALL)[1]


def unscrolled(page, name, window, least):
    """Pixels of a figure once it is seen whole, and at rest, in a window that nothing leaves."""
    page.set_viewport_size(dict(zip(("width", "height"), window, strict=True)))
    page.wait_for_function(FITS, arg=[name, *window, least], timeout=WAIT)
    box, still = page.evaluate(BOX, name), 0
    while still < 4:                # panes may arrange themselves later
        page.wait_for_timeout(200)
        former, box = box, page.evaluate(BOX, name)
        still = still + 1 if box == former else 0
    page.wait_for_function(FITS, arg=[name, *window, least], timeout=WAIT)
    left, top, right, bottom = box
    return right - left, bottom - top


@pytest.mark.parametrize("app", APPS)
def test_a_page_shift_while_loading_fits_any_window_and_fills_a_large_one(page, apps_url, app):
    page.set_viewport_size(dict(zip(("width", "height"), FIRST[app], strict=True)))
    assert shift_while_loading(page, f"{apps_url}/{app}") < MOST_SHIFTED
    for button, name in APPS[app].items():
        if button:
            page.set_viewport_size(dict(zip(("width", "height"), LAPTOP, strict=True)))
            press(page, button)
        across, down = unscrolled(page, name, LAPTOP, least=250)
        assert unscrolled(page, name, SCREEN, least=1.3 * across)[1] >= down
        before, once, figures, asked, *again = page.evaluate(ARRANGED)
        assert (before, once) == (0, 1) and figures > 2 and asked < 30 * figures
        assert again == [1, 1, 1, 0]
        unscrolled(page, name, PHONE, least=0.8 * PHONE[0])


def test_what_is_arranged_in_part_is_as_if_all_of_it_were(page, panel_server):
    said = []
    page.on("console", lambda told: told.type in ("error", "warning") and said.append(told.text))
    page.goto(f"{panel_server(Path(__file__).with_name('branches_app.py'))}/branches_app")
    page.get_by_text("a text").wait_for(timeout=WAIT)
    said.clear()
    page.evaluate(f"() => {{ {PATCH} }}")
    for figures in (1, 2, 1):
        page.evaluate(CHANGE)
        page.wait_for_function(f"""count => ({STATE})().filter(
          one => one[0] === 'Figure').length === count""", arg=figures)
        page.wait_for_timeout(500)
        found = page.evaluate(STATE)
        assert all(frame["width"] > 20 < frame["height"] for *_, frame in found if frame), found
        page.evaluate(WHOLLY)
        assert page.evaluate(STATE) == found
    assert said == []


def test_a_bar_that_scrolls_takes_no_room_from_a_page(browser_type, browser_type_launch_args,
                                                      apps_url):
    """Playwright hides such bars, of which other browsers without a touch screen have one."""
    browser = browser_type.launch(**browser_type_launch_args,
                                  ignore_default_args=["--hide-scrollbars"])
    try:
        page = browser.new_page()
        for window in (LAPTOP, PHONE):
            page.set_viewport_size(dict(zip(("width", "height"), window, strict=True)))
            page.goto(f"{apps_url}/granularity", timeout=WAIT)
            idle(page)
            page.wait_for_timeout(3_000)        # for what arranges itself later
            across = page.locator(".main-content").first.evaluate(
                "one => [one.scrollWidth, one.clientWidth, one.offsetWidth]")
            assert across[0] <= across[1] < across[2], window
    finally:
        browser.close()
