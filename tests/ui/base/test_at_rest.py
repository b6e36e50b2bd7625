"""Pages do not jump while they load: what is seen first stays where it is."""

import pytest

from tests.ui.kit import WAIT, idle

pytestmark = pytest.mark.ui
MOST = 0.1          # of cumulative layout shift, below which a page is called stable
RECORD = """() => {
  window.shifted = 0
  new PerformanceObserver(list => {
    for (const one of list.getEntries()) if (!one.hadRecentInput) window.shifted += one.value
  }).observe({type: 'layout-shift', buffered: true})
}"""
DRAWN = "() => !document.getElementById('first-frame')"


@pytest.mark.parametrize("app, width", [("disaggregate", 390), ("disaggregate", 1280),
                                        ("mediated", 1280), ("sources", 390), ("compare", 390)])
def test_what_is_seen_first_stays_where_it_is(page, apps_url, app, width):
    page.set_viewport_size({"width": width, "height": 844})
    page.add_init_script(f"({RECORD})()")
    page.goto(f"{apps_url}/{app}", timeout=WAIT)
    page.wait_for_function(DRAWN, timeout=WAIT)
    idle(page)
    page.wait_for_timeout(3_000)        # in which maps and scores come
    assert page.evaluate("window.shifted") < MOST
