"""Focus is given to the arrows once their drawer is open, unless the user has gone elsewhere."""

from pathlib import Path

import pytest

pytest.importorskip("panel")
playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.ui


@pytest.mark.parametrize("elsewhere", [False, True])
def test_arrows_are_led_to_when_the_drawer_opens_late(page, panel_server, elsewhere):
    page.goto(f"{panel_server(Path(__file__).with_name('arrows_app.py'))}/arrows_app")
    page.get_by_role("button", name="Lead").click()
    playwright.expect(page.get_by_text("Led", exact=True)).to_be_visible()
    field, arrows = page.get_by_role("textbox"), page.get_by_role("group")
    if elsewhere:
        field.click()
        playwright.expect(field).to_be_focused()
    playwright.expect(arrows).to_be_visible(timeout=30_000)
    if elsewhere:
        page.wait_for_timeout(500)
    playwright.expect(field if elsewhere else arrows).to_be_focused()
