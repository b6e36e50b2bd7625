"""What every page promises, kept by real apps: the theme, the wheel, and a lost server."""

import re
import signal

import pytest
from playwright.sync_api import expect

from tests.ui.kit import BOX, FIGURE, WAIT, at_rest, idle

pytestmark = pytest.mark.ui

QUICK = "dataset=simulated-country&granularity=region&model=vbagg&kernel=linear"
#: An address, and a map that it shows.
APPS = {"disaggregate": (f"disaggregate?{QUICK}", "mean"), "mediated": ("mediated?side=8", "truth")}
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(18, 18, 18)"
ACROSS = f"name => [({FIGURE})(name).x_range.start, ({FIGURE})(name).x_range.end]"
SEEN = f"name => {{ try {{ return ({BOX})(name)[2] > 0 }} catch {{ return false }} }}"
# Whether the keyboard reaches an element.
FOCUSED = "one => { one.focus(); return one.getRootNode().activeElement === one }"
WRITTEN = f"name => ({FIGURE})(name).title.text_color"


def open_app(page, address, name):
    """Open a page and wait for one of its maps."""
    page.goto(address, timeout=WAIT)
    page.wait_for_function(SEEN, arg=name, timeout=WAIT)
    idle(page)


@pytest.mark.parametrize("address, label", [
    (APPS["disaggregate"][0], "Model"), (APPS["mediated"][0], "Unmatched"),
    ("compare", "Data"), ("granularity", "Tolerance"), ("sources?tab=city", "Kernel")])
def test_dropdowns_of_all_apps_open_by_key(page, apps_url, address, label):
    page.goto(f"{apps_url}/{address}", timeout=WAIT)
    box = page.get_by_role("combobox", name=re.compile(f"^{label}"))
    expect(box).to_be_enabled(timeout=WAIT)
    idle(page)
    before = box.inner_text().strip()
    box.focus()
    page.keyboard.press("Enter")
    expect(box).to_have_attribute("aria-expanded", "true")
    expect(page.get_by_role("menuitem", name=before, exact=True)).to_be_focused()
    page.keyboard.press("Escape")
    expect(box).to_have_attribute("aria-expanded", "false")
    expect(box).to_be_focused()
    expect(box).to_have_text(before)


@pytest.mark.parametrize("app", APPS)
def test_the_wheel_scrolls_and_a_dark_page_stays_dark(page, apps_url, app):
    address, name = APPS[app]
    page.set_viewport_size({"width": 1280, "height": 600})
    open_app(page, f"{apps_url}/{address}", name)
    at_rest(lambda: page.evaluate(BOX, name), lambda: page.wait_for_timeout(1_000))
    left, top, right, bottom = page.evaluate(BOX, name)
    across = page.evaluate(ACROSS, name)
    page.mouse.move((left + right) / 2, min((top + bottom) / 2, 500))
    page.mouse.wheel(0, 120)
    page.wait_for_function(f"([name, top]) => ({BOX})(name)[1] < top - 50", arg=[name, top],
                           timeout=WAIT)
    assert page.evaluate(ACROSS, name) == across            # and nothing is zoomed

    main, toggle = page.locator("main"), page.get_by_role("button", name="Toggle theme")
    expect(main).to_have_css("background-color", LIGHT)
    light = page.evaluate(WRITTEN, name)
    toggle.click()
    expect(main).to_have_css("background-color", DARK, timeout=WAIT)
    page.wait_for_function("() => document.cookie.includes('workbench-dark=1')", timeout=WAIT)
    open_app(page, page.url, name)
    expect(main).to_have_css("background-color", DARK)
    page.wait_for_function(f"([name, light]) => ({WRITTEN})(name) !== light", arg=[name, light],
                           timeout=WAIT)                    # its figures, too


def test_a_lost_server_disables_the_controls_and_says_so(page, serve, port):
    server = serve("-m", "workbench", "serve", *APPS, "--port", str(port))
    server.wait(lambda: server.url in server.printed and server.listens())
    pages = [page, page.context.new_page()]
    for one, (address, name) in zip(pages, APPS.values(), strict=True):
        open_app(one, f"{server.url}/{address}", name)
    fits = [one.get_by_role("button", name=re.compile("^Fit")).first for one in pages]
    assert [fit.evaluate(FOCUSED) for fit in fits] == [True, True]
    server.stop(signal.SIGKILL)
    for one, fit in zip(pages, fits, strict=True):
        expect(one.get_by_role("alert").filter(has_text="server is lost")).to_be_visible()
        assert one.evaluate("""() => [...document.body.children].every(
            child => child.inert || child.getAttribute('role') === 'alert')""")
        fit.evaluate("one => one.blur()")
        assert not fit.evaluate(FOCUSED)
        expect(one.get_by_role("button", name="Reload")).to_be_enabled()
        expect(one.get_by_text("Server connection lost")).to_be_hidden()
