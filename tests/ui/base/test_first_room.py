"""The room that a page has is told before the page connects."""

import urllib.error
import urllib.request
from pathlib import Path

import pytest
from bokeh.document import Document

from tests.ui.kit import WAIT, idle
from workbench.ui.base.first_room import tell, when_told

TOY = Path(__file__).parent / "toy_app.py"
# How often the server was told how much room there is once the page was there.
TOLD = """() => [...Bokeh.documents[0]._all_models.values()].filter(
  one => one.data?.waits === 'wb-arranging').map(one => [one.data.told, one.data.heard])"""


def test_a_document_is_told_what_room_its_page_will_have():
    document, heard = Document(), []
    when_told(document, lambda across, down: heard.append((across, down)))
    tell(document, 378, 844)
    assert heard == [(378, 844)]
    when_told(None, print)              # outside of a server nobody is told


@pytest.mark.ui
@pytest.mark.parametrize("said", [b"", b"nobody 958 844", b"nobody 0 844", b"nobody a b",
                                  b"\xff\xfe", b"one two 3 4"])
def test_only_a_session_is_told(apps_url, said):
    with pytest.raises(urllib.error.HTTPError, match="400"):
        urllib.request.urlopen(f"{apps_url}/disaggregate/room", said, timeout=60)


@pytest.mark.ui
def test_a_page_is_arranged_when_it_comes(page, apps_url):
    """What the browser measures once the page is there is what was told before."""
    page.set_viewport_size({"width": 1100, "height": 700})
    with page.expect_response(lambda answer: answer.url.endswith("/room")) as answer:
        page.goto(f"{apps_url}/disaggregate", timeout=WAIT)
    assert answer.value.status == 204
    idle(page)
    page.wait_for_timeout(1_000)        # in which it would say how much room it has
    assert page.evaluate(TOLD) == [["", "778 700"]]


@pytest.mark.ui
def test_without_the_route_nothing_is_asked_for(page, panel_server):
    """As under `panel serve`: a request that is refused would be an error in the console."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{panel_server(TOY)}/toy_app", timeout=WAIT)
    idle(page)
    assert not [one for one in asked if one.endswith("/room")]
