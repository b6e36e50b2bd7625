"""The app "compare" in a browser: a finished leaderboard at once, tabs, exports, and its URL."""

import json

import pytest
from playwright.sync_api import expect

from tests.ui.kit import FIGURE, WAIT, idle, press, status, url
from workbench.ui.compare.catalogue import RIVALS

pytestmark = pytest.mark.ui

FACTORS = "name => (FIGURE)(name).y_range.factors".replace("FIGURE", FIGURE)


def test_a_leaderboard_is_there_and_models_engines_and_papers_are_a_click_away(page, apps_url):
    """The fixture fails the test on any request off this machine and on any script error."""
    page.goto(f"{apps_url}/compare?folds=7", timeout=WAIT)
    expect(status(page)).to_contain_text("Use VBAgg", timeout=WAIT)
    expect(page.get_by_text("Not offered here: folds=7")).to_be_visible(timeout=WAIT)
    idle(page)
    assert page.evaluate(FACTORS, "gap")[-1] == "VBAgg"         # on top
    page.get_by_role("checkbox").nth(list(RIVALS).index("vbagg")).click()
    url(page, "vbagg=no")
    expect(status(page)).not_to_contain_text("Use VBAgg", timeout=WAIT)
    with page.expect_download(timeout=WAIT) as given:
        page.get_by_text("JSON", exact=True).click(timeout=WAIT)    # nothing lies over it
    told = json.loads(given.value.path().read_text())
    assert "vbagg=no" in told["address"] and len(told["scores"]) == 6
    with page.expect_download(timeout=WAIT) as drawn:
        press(page, "SVG")
    picture = drawn.value.path().read_text()        # titles and the bar of colours stand in HTML
    assert ">Truth (" in picture and "<linearGradient id=\"wb-bar-" in picture
    press(page, "Engines")
    url(page, "tab=engines")
    expect(status(page)).to_contain_text("against Markov chains (NUTS): posterior",
                                         timeout=WAIT)
    press(page, "The papers' tables")
    expect(status(page)).to_contain_text("published number", timeout=WAIT)
    expect(page.get_by_text("Figure 1 (middle): swiss roll")).to_be_visible(timeout=WAIT)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
