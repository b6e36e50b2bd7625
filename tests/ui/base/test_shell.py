"""What every page promises: history, theme, keys, a lost server, bad addresses, session files."""

import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.ui.kit import WAIT, idle, move, press, status, url
from workbench.ui.base.words import glossary

pytestmark = pytest.mark.ui
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(18, 18, 18)"
TOY = Path(__file__).with_name("toy_app.py")


@pytest.fixture(scope="module")
def toy(panel_server):
    return f"{panel_server(TOY)}/toy_app"


def begin(page, address, number=0):
    page.goto(address, timeout=WAIT)
    shows(page, number)
    idle(page)


def shows(page, number):
    """Text, slider and address agree."""
    expect(status(page)).to_have_text(f"twice is {2 * number}", timeout=WAIT)
    expect(page.get_by_role("slider", name="Number")).to_have_value(str(number), timeout=WAIT)
    url(page, rf"number={number}(&|$)")


def entries(page):
    return page.evaluate("() => history.state.workbench")


def drag(page, pixels):
    """Drag the slider to the right, in many small moves."""
    box = page.locator(".MuiSlider-thumb").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for k in range(1, 21):
        page.mouse.move(x + pixels * k / 20, y)
        page.wait_for_timeout(15)
    page.mouse.up()


def test_back_forward_undo_redo_and_the_example(page, toy):
    begin(page, toy)
    for name in ("Undo", "Redo"):
        expect(page.get_by_role("button", name=name, exact=True)).to_be_disabled()
    move(page, "Number", "ArrowRight")
    shows(page, 1)
    move(page, "Number", "ArrowRight")
    shows(page, 2)
    page.go_back()
    shows(page, 1)
    page.go_back()
    shows(page, 0)
    page.go_forward()
    shows(page, 1)
    press(page, "Redo")
    shows(page, 2)
    expect(page.get_by_role("button", name="Redo", exact=True)).to_be_disabled()
    press(page, "Undo")
    shows(page, 1)
    page.keyboard.press("Control+z")
    shows(page, 0)
    page.keyboard.press("Control+Shift+z")
    shows(page, 1)
    press(page, "Reset to the example")
    shows(page, 0)
    press(page, "Undo")
    shows(page, 1)
    page.reload()
    shows(page, 1)
    idle(page)
    page.go_back()                          # to what was there before the page was loaded anew
    shows(page, 0)


def test_a_drag_is_one_entry_and_back_undoes_all_of_it(page, toy):
    begin(page, toy + "?number=16", 16)
    before = entries(page)
    drag(page, 90)
    expect(page).not_to_have_url(re.compile("number=16"), timeout=WAIT)
    page.wait_for_timeout(500)
    assert entries(page) == before + 1
    page.go_back()
    shows(page, 16)


def test_the_theme_survives_a_reload(page, toy):
    begin(page, toy)
    main, toggle = page.locator("main"), page.get_by_role("button", name="Toggle theme")
    expect(main).to_have_css("background-color", LIGHT)
    toggle.click()
    expect(main).to_have_css("background-color", DARK, timeout=WAIT)
    expect(status(page)).to_have_css("color", LIGHT, timeout=WAIT)      # white on black at once
    page.wait_for_function("() => document.cookie.includes('workbench-dark=1')", timeout=WAIT)
    page.reload()
    shows(page, 0)
    expect(main).to_have_css("background-color", DARK)
    toggle.click()
    expect(main).to_have_css("background-color", LIGHT, timeout=WAIT)


def test_until_a_theme_is_chosen_it_is_that_of_the_system(page, toy):
    page.emulate_media(color_scheme="dark")
    begin(page, toy)
    main, toggle = page.locator("main"), page.get_by_role("button", name="Toggle theme")
    expect(main).to_have_css("background-color", DARK)
    page.emulate_media(color_scheme="light")
    page.reload()
    shows(page, 0)
    expect(main).to_have_css("background-color", LIGHT)
    toggle.click()
    page.wait_for_function("() => document.cookie.includes('workbench-dark=1')", timeout=WAIT)
    page.reload()
    shows(page, 0)
    expect(main).to_have_css("background-color", DARK)


def test_escape_stops_work_but_not_from_within_a_menu(page, toy):
    begin(page, toy + "?number=13", 13)
    expect(page.get_by_text("doubling")).to_be_visible(timeout=WAIT)
    page.get_by_role("combobox", name=re.compile("^Colour")).click()
    expect(page.get_by_role("menuitem", name="blue")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("menuitem", name="blue")).to_be_hidden()
    expect(page.get_by_text("doubling")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_text("doubling")).to_be_hidden(timeout=WAIT)
    expect(page.get_by_text("ready", exact=True)).to_be_visible()


@pytest.mark.parametrize("key", ["Enter", "Space", "ArrowDown", "ArrowUp"])
def test_a_dropdown_is_opened_chosen_from_and_left_by_keys(page, toy, key):
    begin(page, toy + "?number=13&colour=blue", 13)
    box = page.get_by_role("combobox", name=re.compile("^Colour"))
    red, blue = (page.get_by_role("menuitem", name=name) for name in ("red", "blue"))
    box.focus()
    page.keyboard.press(key)
    expect(box).to_have_attribute("aria-expanded", "true")
    expect(blue).to_be_focused()                            # the item that is chosen
    page.keyboard.press("Escape")
    expect(box).to_have_attribute("aria-expanded", "false")
    expect(box).to_be_focused()
    expect(page.get_by_text("doubling")).to_be_visible()    # Escape left the work alone
    page.keyboard.press(key)
    expect(blue).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(red).to_be_focused()
    page.keyboard.press("Enter")
    expect(box).to_have_attribute("aria-expanded", "false")
    expect(box).to_be_focused()
    expect(box).to_have_text("red")
    url(page, "colour=red")
    assert entries(page) == 1                               # one step of the history
    press(page, "Undo")
    expect(box).to_have_text("blue")


@pytest.mark.parametrize("key", ["Enter", "Space"])
def test_a_key_that_stays_down_opens_a_dropdown_and_no_more(page, toy, key):
    begin(page, toy)
    box = page.get_by_role("combobox", name=re.compile("^Colour"))
    box.focus()
    page.keyboard.down(key)
    expect(page.get_by_role("menuitem", name="red")).to_be_focused()
    page.keyboard.down(key)                                 # as of a key that is repeated
    page.wait_for_timeout(500)
    page.keyboard.up(key)
    page.wait_for_timeout(500)
    expect(box).to_have_attribute("aria-expanded", "true")


def test_what_changes_twice_at_a_short_interval_is_as_it_was_left(page, toy):
    """Panel alone writes a change back when the next has come already, and some stay disabled."""
    warned = []
    page.on("console", lambda message: warned.append(message.text))
    begin(page, f"{toy}?number=19", 19)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 6})
    offers = page.get_by_role("button", name=re.compile(r"^Offer \d+$"))
    expect(offers).to_have_count(20)
    for _ in range(3):
        move(page, "Number", "ArrowLeft")
        expect(page.get_by_text("flickering")).to_be_visible(timeout=WAIT)
        expect(page.get_by_text("flickering")).to_be_hidden(timeout=WAIT)
        page.wait_for_timeout(1_000)                    # for what was written back to arrive
        for k in range(20):
            expect(offers.nth(k)).to_be_enabled(timeout=WAIT)
        move(page, "Number", "ArrowRight")
        shows(page, 19)
    assert not any("another version of" in text for text in warned)


def test_of_two_changes_in_one_turn_the_later_one_stays(page, toy):
    """Bokeh sends at the end of the turn what was changed past Panel before Panel's own change."""
    begin(page, f"{toy}?number=19", 19)
    expect(page.get_by_text("as drawn")).to_be_visible(timeout=WAIT)
    move(page, "Number", "ArrowRight")
    shows(page, 20)
    expect(page.get_by_text("newer")).to_be_visible(timeout=WAIT)
    page.wait_for_timeout(500)          # in which the older one would arrive
    expect(page.get_by_text("newer")).to_be_visible()


def test_the_glossary_is_searched_by_keys_alone_while_work_goes_on(page, toy):
    begin(page, toy + "?number=13", 13)
    words, shown = page.get_by_role("dialog", name="Glossary"), page.locator("dl > div:visible")
    opener = page.get_by_role("button", name="Glossary", exact=True)
    opener.focus()
    page.keyboard.press("Enter")
    expect(words.get_by_role("searchbox")).to_be_focused()
    expect(shown).to_have_count(len(glossary()))
    page.keyboard.type("pOpulation spl")
    expect(shown.first).to_contain_text("gives every individual the rate of its area")
    assert 0 < shown.count() < 9
    page.keyboard.type("<b>")
    expect(words.get_by_text("No matching word.")).to_be_visible()
    page.keyboard.press("Escape")
    expect(words).to_be_hidden()
    expect(opener).to_be_focused()
    expect(page.get_by_text("doubling")).to_be_visible()        # no Escape of the page
    word = page.get_by_text("CRPS", exact=True)
    expect(word).to_have_attribute("title", re.compile("lower is better"))
    word.click()
    expect(words.locator(".found")).to_contain_text("continuous ranked probability score")
    expect(words.locator(".found")).to_be_in_viewport()
    words.get_by_role("button", name="predictive distribution").or_(
        words.get_by_role("button", name="baseline")).first.click()
    expect(words.locator(".found dt")).not_to_contain_text("CRPS")
    words.get_by_role("button", name="Close").click()
    expect(words).to_be_hidden()


@pytest.mark.parametrize("width", [390, 1280])
def test_bad_addresses_take_one_short_line_that_covers_nothing_and_can_be_closed(page, toy, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(toy + "?number=99&colour=mauve&shape=round&size=9&weight=heavy", timeout=WAIT)
    expect(status(page)).to_have_text("twice is 0", timeout=WAIT)       # a phone hides the slider
    idle(page)
    notice = page.get_by_text("Not offered here:")
    expect(notice).to_have_count(1, timeout=WAIT)
    expect(notice).to_have_text("Not offered here: number=99 (0 used); colour=mauve (red used); "
                                "shape (no such setting); and 2 more.")
    url(page, r"\?number=0&colour=red$")
    said, below = notice.bounding_box(), status(page).bounding_box()
    assert page.locator("header").bounding_box()["height"] <= said["y"]
    assert said["y"] + said["height"] <= below["y"]
    press(page, "Close")
    expect(notice).to_be_hidden()
    assert status(page).bounding_box()["y"] < below["y"]


def test_names_of_files_and_columns_are_no_part_of_the_page(page, toy):
    name = "<img src=x> &lt;img src=x&gt; *a*"
    begin(page, f"{toy}?number=15&colour={quote(name[:20])}", 15)
    expect(page.get_by_text(f"reading {name}", exact=True)).to_be_visible(timeout=WAIT)
    expect(page.get_by_role("alert").get_by_text(f"no column {name}", exact=True)).to_be_visible()
    expect(page.get_by_text(f"colour={name[:19]}")).to_be_visible(timeout=WAIT)
    expect(page.locator("img[src=x]")).to_have_count(0)


def test_a_session_is_saved_opened_elsewhere_and_refused_if_it_is_none(page, toy, tmp_path):
    begin(page, toy + "?number=7&colour=blue", 7)
    with page.expect_download() as download:
        press(page, "Save session")
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    begin(page, toy)
    page.locator("input[type=file]").set_input_files(file)
    shows(page, 7)
    url(page, "colour=blue")
    file.write_bytes(b"not a session")
    page.locator("input[type=file]").set_input_files(file)
    expect(page.get_by_text("this is no session")).to_be_visible(timeout=WAIT)
    shows(page, 7)
    page.go_back()
    shows(page, 0)


def test_what_no_file_keeps_is_not_left_without_a_question(page, toy):
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.accept()))
    begin(page, toy + "?number=16", 16)
    move(page, "Number", "ArrowRight")
    shows(page, 17)
    page.reload()
    shows(page, 17)
    assert asked == ["beforeunload"]
    move(page, "Number", "ArrowLeft")
    shows(page, 16)
    page.reload()
    shows(page, 16)
    assert asked == ["beforeunload"]


def test_a_lost_server_disables_the_controls_and_says_so(page, panel_server):
    begin(page, f"{panel_server(TOY)}/toy_app?number=12", 12)
    slider = page.get_by_role("slider", name="Number")
    slider.focus()
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_role("alert").filter(has_text="server is lost")).to_be_visible(
        timeout=WAIT)
    assert page.evaluate("""() => [...document.body.children].every(
        child => child.inert || child.getAttribute('role') === 'alert')""")
    expect(page.get_by_role("button", name="Reload")).to_be_enabled()
    expect(page.get_by_text("Server connection lost")).to_be_hidden()


def test_a_page_says_what_it_is_before_its_scripts_run_and_closes_its_sidebar_on_a_phone(page, toy):
    page.set_viewport_size({"width": 390, "height": 844})
    held = []
    page.route("**/bokeh.min.js*", lambda route: held.append(route))
    page.goto(toy, wait_until="commit", timeout=WAIT)
    expect(page.locator("#first-frame")).to_contain_text("Doubles", timeout=WAIT)
    expect(page.locator("#first-frame")).to_contain_text("An app as small as can be")
    page.wait_for_function("() => performance.getEntriesByName('first-contentful-paint').length",
                           timeout=WAIT)
    for request in held:
        request.continue_()
    expect(status(page)).to_have_text("twice is 0", timeout=WAIT)
    expect(page.locator("#first-frame, #loading")).to_have_count(0, timeout=WAIT)
    expect(page.get_by_role("button", name="Open drawer")).to_be_visible(timeout=WAIT)
