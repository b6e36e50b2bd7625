"""A session is kept until its page has connected; and what waits until the page has loaded."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import panel as pn
from bokeh.document import Document
from bokeh.server.session import ServerSession
from bokeh.util.warnings import BokehUserWarning
from panel.custom import ReactiveESM

LONGEST = 300.0         # seconds: what Bokeh lets a page connect within
EVERY = 1_000           # milliseconds
# Of what it was sent last a browser sends all back with its next change, when the theme of the page
# dresses it; Bokeh takes what it has, which is the same, and warns of each in the server's log.
warnings.filterwarnings("ignore", "reference already known", BokehUserWarning)


def keep_until_connected(document: Document) -> None:
    """Keep Bokeh from discarding a session whose page has not connected yet.

    It discards what nobody is connected to after the time that a page that was left is kept. A
    server at which many open a page at once comes to their connections later than that, and a page
    that connects to a session made anew is not the one that the browser was sent.

    Parameters
    ----------
    document : Document
        Of the session, being built.
    """
    session, begun = None, 0.0

    def look() -> None:
        seconds = time.monotonic() - begun
        left_once = session.milliseconds_since_last_unsubscribe < 1_000 * seconds
        if session.connection_count or left_once or seconds > LONGEST:
            session.unblock_expiration()
        else:
            document.add_timeout_callback(look, EVERY)

    def begin(made: ServerSession) -> None:
        nonlocal session, begun
        session, begun = made, time.monotonic()
        session.block_expiration()

    if when_made(document, begin):
        document.add_next_tick_callback(look)


def define_all() -> None:
    """Let the page that is being built define all kinds of parts in one way, once.

    Panel takes a kind that came to be while a page was connected, as the imports of another app do
    that go on in a thread, for one that this page has to be told of; and the next page, which gets
    the definitions of all kinds beforehand, cannot read a second one: it would stay empty.
    """
    kinds = [ReactiveESM]
    for kind in kinds:
        kinds.extend(kind.__subclasses__())
        kind._data_model__initialized = True


def when_made(document: Document, function: Callable[[ServerSession], None]) -> bool:
    """Call a function with the session of a document once it is there.

    Parameters
    ----------
    document : Document
        Being built.
    function : callable
        Called before any callback of the document.

    Returns
    -------
    bool
        False outside of a server, where there is no session.
    """
    # There is no event for it: a callback of the document comes after other sessions' turns, and in
    # that time the session may be gone.
    settle = getattr(document.session_context, "_set_session", None)
    if settle is None:
        return False

    def begin(made: ServerSession) -> None:
        settle(made)
        function(made)

    document.session_context._set_session = begin
    return True


def when_loaded(function: Callable[[], None]) -> None:
    """Call a function of the session being built once its page has loaded, in the session's turn.

    Parameters
    ----------
    function : callable
        Called at once outside of a server.
    """
    document = pn.state.curdoc
    if document is None or document.session_context is None:
        function()
    else:                           # Panel may call back in another thread
        pn.state.onload(lambda: document.add_next_tick_callback(function))
