"""The room that a page has is told before the page connects."""

import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

import pytest
from bokeh.document import Document

from tests.ui.kit import MOST_SHIFTED, WAIT, idle, shift_while_loading
from workbench.ui.base.first_room import LARGEST, tell, when_told

TOY = Path(__file__).parent / "toy_app.py"
# How often the server was told how much room there is once the page was there.
TOLD = """() => [...Bokeh.documents[0]._all_models.values()].filter(
  one => one.data?.waits === 'wb-arranging').map(one => [one.data.told, one.data.heard])"""

MEASURED = """() => [...Bokeh.documents[0]._all_models.values()].find(
  one => one.data?.pressed !== undefined && one.data.room !== undefined)?.data.room ?? []"""


def test_a_document_is_told_what_room_its_page_will_have():
    document, heard = Document(), []
    when_told(document, lambda across, down: heard.append((across, down)))
    tell(document, 378, 844)
    tell(document, 0, 844)
    tell(document, 378, LARGEST + 1)
    assert heard == [(378, 844)]
    when_told(None, print)              # outside of a server nobody is told


def told(apps_url, said):
    """The status of what a server answers."""
    try:
        with urllib.request.urlopen(f"{apps_url}/compare/room", said, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


@pytest.mark.ui
def test_only_a_session_is_told_and_only_what_can_be_room(apps_url):
    with urllib.request.urlopen(f"{apps_url}/compare?bokeh-session-id=one", timeout=60) as page:
        assert '"one" + ` ${across}' in page.read().decode()
    for refused in (b"", b"nobody 958 844", b"one 958", b"one a b", b"one 1 2 3", b"\xff\xfe",
                    b"one 0 844", b"one 958 -1", b"one 20001 844"):
        assert told(apps_url, refused) == 400
    assert told(apps_url, b"one 958 844" + 300 * b" ") == 413
    assert told(apps_url, b"one 958 844") == 204


@pytest.mark.ui
@pytest.mark.parametrize("name", ["`+alert(1)+`", "${alert(1)}", "</script><script>alert(1)"])
def test_a_session_that_an_address_names_is_no_script(apps_url, name):
    address = f"{apps_url}/compare?bokeh-session-id={urllib.parse.quote(name)}"
    with urllib.request.urlopen(address, timeout=60) as page:
        text = page.read().decode()
    assert "alert(1)" not in text and "/room" not in text


@pytest.mark.ui
def test_a_page_is_arranged_when_it_comes_and_nothing_jumps(page, apps_url):
    """What the browser measures once the page is there is what was told before."""
    page.set_viewport_size({"width": 1280, "height": 844})
    with page.expect_response(lambda answer: answer.url.endswith("/room")) as answer:
        assert shift_while_loading(page, f"{apps_url}/disaggregate") < MOST_SHIFTED
    assert answer.value.status == 204
    assert page.evaluate(TOLD) == [["", "958 844"]]


@pytest.mark.ui
@pytest.mark.parametrize("query, across", [("", 778), ("?lecture=yes", 1088)])
def test_a_page_measures_what_it_has_told(page, apps_url, query, across):
    page.set_viewport_size({"width": 1100, "height": 700})
    with page.expect_request(lambda request: request.url.endswith("/room")) as asked:
        page.goto(f"{apps_url}/granularity{query}", timeout=WAIT)
    idle(page)
    page.wait_for_function(f"() => ({MEASURED})().length", timeout=WAIT)
    assert page.evaluate(MEASURED) == [across, 700]
    assert asked.value.post_data.split()[1:] == [str(across), "700"]


@pytest.mark.ui
def test_without_the_route_nothing_is_asked_for(page, panel_server):
    """As under `panel serve`: a request that is refused would be an error in the console."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{panel_server(TOY)}/toy_app", timeout=WAIT)
    idle(page)
    assert not [one for one in asked if one.endswith("/room")]
