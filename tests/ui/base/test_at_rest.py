"""Pages do not jump while they load: what is seen first stays where it is.

Of mediated and sources test_windows.py shows it, and of disaggregate on a wide screen
test_first_room.py: to load a page takes seconds.
"""

import pytest
from playwright.sync_api import expect

from tests.ui.kit import MOST_SHIFTED, shift_while_loading

pytestmark = pytest.mark.ui
WIDTH = 390             # pixels of a phone
SHOW = """visible => {
  for (const one of Bokeh.documents[0]._all_models.values())
    if (one.class_name === 'LinearProgress') one.visible = visible
}"""


@pytest.mark.parametrize("app", ["disaggregate", "compare"])
def test_what_is_seen_first_stays_where_it_is(page, apps_url, app):
    page.set_viewport_size({"width": WIDTH, "height": 844})
    assert shift_while_loading(page, f"{apps_url}/{app}") < MOST_SHIFTED
    if app == "disaggregate":           # its first work may end before or after it is seen
        own, line = page.get_by_text("Your own data"), page.locator(".bk-Row [role=progressbar]")
        page.evaluate(SHOW, True)
        expect(line).to_be_visible()
        assert line.bounding_box()["width"] > 0.95 * WIDTH
        beside_work = own.bounding_box()
        page.evaluate(SHOW, False)
        expect(line).not_to_be_visible()
        assert own.bounding_box() == beside_work
