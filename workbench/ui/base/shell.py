"""The page around an app: set-up, errors, the URL, and the frame with sidebar and theme."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import holoviews as hv
import panel as pn
import panel_material_ui as pmui
import param
from panel.io.state import set_curdoc
from panel.links import Callback

from workbench.ui.base import first_room, messages
from workbench.ui.base.arrival import define_all, keep_until_connected, when_made
from workbench.ui.base.browser import COOKIE, PHONE, SYSTEM, Browser
from workbench.ui.base.glossary import Glossary
from workbench.ui.base.in_order import send_in_order
from workbench.ui.base.jobs import PAGE_DRAWN, Run
from workbench.ui.base.memory import TIDY
from workbench.ui.base.notice import Notice
from workbench.ui.base.session_file import SessionFile
from workbench.ui.base.state import State
from workbench.ui.base.store import Store

_LOG = logging.getLogger("workbench.ui")
TEMPLATE = Path(__file__).with_name("page.html")
# On a phone, where it would be broken into lines that cover the top of the page.
HEADING = """@media (max-width: 599.95px) {.title {font-size: 17px !important; max-width: 38vw;
  overflow: hidden; white-space: nowrap; text-overflow: ellipsis; line-height: 1.3 !important;}}"""
SIDEBAR = 310                   # pixels
TOAST = "top-center"            # in the header: at the bottom it would lie over exports


@dataclass(frozen=True)
class App:
    """All that makes an app.

    Parameters
    ----------
    title : str
    state, store : type
    controls : type
        The sidebar, a view of the store.
    views : tuple of type
        What is shown beside it, from top to bottom, each a view of the store with its `parts`.
    first : callable or None
        Makes what the first page waits for, ahead of it: imports, results that stay in caches.
    later : callable or None
        Makes ahead what nobody waits for yet; it is to give way.
    frame : callable or None
        Called with the page and the store, to change the page as a whole.
    """

    title: str
    state: type[State]
    store: type[Store]
    controls: type
    views: tuple[type, ...]
    first: Callable[[Run], None] | None = None
    later: Callable[[Run], None] | None = None
    frame: Callable[[pmui.Page, Store], None] | None = None


def show(app: App, about: str | None = None) -> None:
    """Make an app the page of this session.

    Parameters
    ----------
    app : App
    about : str, optional
        The docstring of its file: the line "Title: what it is for." and what follows that. What
        it is for is shown while the page is loaded.
    """
    prepare()
    define_all()
    keep_until_connected(pn.state.curdoc)
    when_made(pn.state.curdoc, send_in_order)
    state, notice = app.state(), Notice()
    browser = follow(state, lambda: store.escape(), notice)
    store = app.store(state, session_scheduler(), pn.io.hold)
    store.dark = browser.dark
    browser.param.watch(lambda event: setattr(store, "dark", event.new), "dark")
    store.param.watch(lambda event: setattr(browser, "unsaved", event.new), "unsaved")
    on_close(store.leave)
    store.refresh()
    with _let_go():
        made = page(app.title, [app.controls(store), SessionFile(store)],
                    [notice, *(part for view in app.views for part in view(store).parts)],
                    browser, purpose(about))
    if app.frame is not None:
        app.frame(made, store)
    pn.state.curdoc.template_variables.update(
        loading_words=messages.LOADING_WORDS, session=first_room.session(pn.state.curdoc),
        cookies=[COOKIE, SYSTEM], phone=PHONE, sidebar=SIDEBAR if made.sidebar_open else 0)
    made.servable()


def purpose(about: str | None) -> str:
    """The sentence about an app in the first line of its file's docstring."""
    sentence = (about or "").partition("\n")[0].partition(": ")[2]
    return sentence[:1].upper() + sentence[1:]


def prepare() -> None:
    """Set Panel up for a session; call it first in an app."""
    hv.renderer("bokeh").webgl = False  # slower than canvas wherever there is no graphics card
    pn.config.nthreads = None           # callbacks in threads would change models unlocked
    if dark_before():
        pn.config.theme = "dark"
    pn.extension(notifications=True, exception_handler=_failed)
    if pn.state.notifications:
        pn.state.notifications.position = TOAST


def session_scheduler() -> Callable:
    """What runs a function in this session's own thread; to be made while the app is built.

    Functions run one after the other, in the order given. Before the browser connects they change
    the document that it will fetch, and after the page has loaded what it shows; between the two
    they wait, for what is sent to a page that is still connecting is lost on it.
    """
    document, waiting = pn.state.curdoc, deque()
    built, loaded = threading.Event(), threading.Event()

    def connecting() -> bool:
        session = document.session_context and document.session_context.session
        return not loaded.is_set() and session is not None and session.connection_count > 0

    def work_off() -> None:
        built.set()
        PAGE_DRAWN.set()
        while waiting and not connecting():
            # Panel may still have another session's; figures are changed outside of Panel.
            with set_curdoc(document), pn.io.hold():
                try:
                    waiting.popleft()()
                except Exception as error:  # Panel's handler sees no callbacks of the document
                    _failed(error)

    def schedule() -> None:
        document.add_next_tick_callback(lambda: work_off())

    def begin() -> None:
        loaded.set()
        schedule()                      # not here: Panel may call this in another thread

    def into_session(function: Callable) -> None:
        waiting.append(function)
        if built.is_set():              # a document still being built is no other thread's
            schedule()

    schedule()
    pn.state.onload(begin)
    return into_session


def on_close(function: Callable) -> None:
    """Call a function when this session ends."""
    # bound here, because an app's own names are gone by then
    pn.state.on_session_destroyed(lambda context: function())


@contextmanager
def _let_go() -> Iterator[None]:
    """What is made meanwhile is forgotten by what all sessions share once this session ends.

    A page of panel-material-ui watches for ever whether the server is busy, and Panel keeps every
    callback in JavaScript with the widget it is of, and the corner of a page in which toasts are
    shown: a server would keep every page that it has shown, with all that the session has computed.
    That the server is busy no page hears: at every event all would be searched through and sent.
    """
    hearers, scripted, document = _hearers(), set(Callback.registry), pn.state.curdoc
    yield
    hearers = [one for one in _hearers() if one not in hearers]
    scripted = set(Callback.registry) - scripted
    for hearer in [one for one in hearers if one.parameter_names == ("busy",)]:
        pn.state.param.unwatch(hearer)
        hearers.remove(hearer)

    def forget() -> None:
        for hearer in hearers:
            pn.state.param.unwatch(hearer)
        for widget in scripted:
            Callback.registry.pop(widget, None)
        # A copy, as other threads add theirs; without a document there is nobody whose they are.
        for name, (*_, shown, _) in list(pn.state._views.items()) if document is not None else ():
            if shown is document:
                pn.state._views.pop(name, None)
        TIDY.soon(circles=True)

    on_close(forget)


def _hearers() -> list[param.parameterized.Watcher]:
    """Who hears of the server's state, which all sessions share."""
    return [one for kinds in pn.state.param.watchers.values() for some in kinds.values()
            for one in some]


def follow(state: State, escape: Callable[[], None], notice: Notice) -> Browser:
    """Read the state from the URL, say what could not be used, and keep history and URL current.

    Parameters
    ----------
    state : State
        Of the session.
    escape : callable
        Called when Escape is pressed.
    notice : Notice
        Says what could not be used.

    Returns
    -------
    Browser
        To be put on the page.
    """
    browser = Browser(dark=dark_before())

    def read(query: str) -> None:
        problems = state.read(query)
        notice.tell(problems)
        if problems:
            _LOG.warning("URL: %s", "; ".join(problems))

    if pn.state.location is not None:
        read(pn.state.location.search or "")
    browser.query, going_back = state.query(), False

    def write(*events) -> None:
        # No events: several choices as one, such as a fit or a session that was opened.
        apart = not events and not going_back
        browser.param.update(query=state.query(), separate=browser.separate + apart)

    def back(event) -> None:
        nonlocal going_back
        going_back = True
        try:
            with pn.io.hold():
                read(event.new["query"])
            browser.query = state.query()
        finally:
            going_back = False

    def reset(*events) -> None:
        with pn.io.hold():
            state.reset()

    state.listen(write, state.names())
    state.when_read(notice.close)       # it is another state, of a session or the example
    for name, act in {"popped": back, "resets": reset, "escapes": lambda _: escape()}.items():
        browser.param.watch(act, name)
    return browser


def dark_before() -> bool:
    """Whether the page was made dark, or, where nobody has chosen, the system is."""
    return pn.state.cookies.get(COOKIE, pn.state.cookies.get(SYSTEM)) == "1"


def page(title: str, sidebar: list, main: list, browser: Browser, about: str = "") -> pmui.Page:
    """The page: a sidebar of controls and the main column.

    Parameters
    ----------
    title : str
    sidebar, main : list
        Parts below each other.
    browser : Browser
        Goes into the header.
    about : str
        One sentence that is shown while the page is loaded.
    """
    # Bokeh keeps an element within the height of its parent, here that of the window: rows that
    # wrap would be cut off there and lie over what is below them.
    loose = {"max-height": "none", "min-width": "0"}
    column = pn.Column(*main, sizing_mode="stretch_width", styles=loose)
    made = pmui.Page(
        title=title, sidebar=sidebar, main=[column],
        header=[pn.layout.HSpacer(), Glossary(), browser],
        sidebar_width=SIDEBAR, dark_theme=browser.dark, busy_indicator=None,
        theme_config={"typography": {"fontSize": 13}}, template=TEMPLATE, meta_description=about,
        stylesheets=[HEADING],
    )
    made.param.watch(lambda event: setattr(browser, "dark", event.new), "dark_theme")
    return made


def _failed(error: Exception) -> None:
    """Show what a callback raised: without this, the user would see nothing at all."""
    _LOG.error("callback failed", exc_info=error)
    if pn.state.notifications:
        pn.state.notifications.error(f"{messages.UNEXPECTED}: {type(error).__name__}: {error}",
                                     duration=10_000)
