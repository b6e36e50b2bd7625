"""The room that a page has, told by the browser before it has read the page's scripts.

A document is made before anything is known of the window that it will be shown in. Arranged only
once it is shown, it would be drawn twice and jump about; here the page's first lines say how large
it will be, while its scripts are still being read, and the document is arranged before it is sent.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from bokeh.document import Document
from bokeh.protocol.exceptions import ProtocolError
from panel.io.state import set_curdoc
from tornado.web import HTTPError, RequestHandler

LARGEST = 20_000        # pixels of any window
LONGEST = 300           # bytes that are taken
_ID = re.compile(r"[A-Za-z0-9_-]+")
# Read here: while an app is run, and imports this if the server has not, Bokeh hides them.
_SERVED = any(__name__ in word for word in sys.argv)
_TOLD = "workbench-room"


def session(document: Document) -> str:
    """The session that a page is to tell its room, if it can.

    Parameters
    ----------
    document : Document
        Being built.

    Returns
    -------
    str
        Its id; empty if the server has no route for it, as `panel serve` has it only if given
        ``--plugins`` with this module, or if the id, which an address may contain, is none that
        Bokeh makes.
    """
    context = document.session_context
    return context.id if _SERVED and context and _ID.fullmatch(context.id) else ""


def when_told(document: Document | None, hear: Callable[[int, int], None]) -> None:
    """Have a document told how much room its page will have, if that is known in time.

    Parameters
    ----------
    document : Document or None
        Being built; None outside of a server, where nothing is told.
    hear : callable
        Called with the pixels of the main column, and down the window.
    """
    def bounded(room: object) -> None:          # a browser can send this message itself
        if _is_room(room):
            hear(*room)

    if document is not None:
        document.on_message(_TOLD, bounded)


def tell(document: Document, across: int, down: int) -> None:
    """Tell a document how much room its page will have.

    Parameters
    ----------
    document : Document
        That no page has fetched yet.
    across, down : int
        Pixels of the main column, and down the window.
    """
    with set_curdoc(document):
        document.apply_json_patch({"events": [
            {"kind": "MessageSent", "msg_type": _TOLD, "msg_data": [across, down]}]})


def _is_room(room: object) -> bool:
    """Whether something is two sizes that a window may have."""
    return isinstance(room, list) and len(room) == 2 and all(
        isinstance(size, int) and 0 < size <= LARGEST for size in room)


class FirstRoom(RequestHandler):
    """Takes `session across down`, as text, of a session of an app that is not yet connected."""

    async def post(self, app: str) -> None:
        """Arrange the document of a session."""
        if len(self.request.body) > LONGEST:
            raise HTTPError(413)
        try:
            name, *sizes = self.request.body.decode("ascii").split()
            room = [int(size) for size in sizes]
            session = self.application.get_session(f"/{app}", name)
        except (ValueError, ProtocolError) as error:    # the latter of a session that is gone
            raise HTTPError(400) from error
        if not _is_room(room):
            raise HTTPError(400)

        # What is changed while a page fetches its document is lost on it. Panel makes most changes
        # in callbacks of their own, queued here and so before those of a page that connects.
        def hear() -> None:
            if not session.connection_count:
                tell(session.document, *room)

        await session.with_document_locked(hear)
        self.set_status(204)


ROUTES = [(r"/([^/]+)/room", FirstRoom)]
