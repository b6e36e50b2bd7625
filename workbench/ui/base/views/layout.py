"""How views lie on a page: rows that wrap where it is narrow, and columns behind tabs."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import panel as pn
import param

from workbench.ui.base.state import State
from workbench.ui.base.store import Store


class Part(pn.viewable.Viewer):
    """What a page has in its main column."""

    @property
    def parts(self) -> list:
        """What the page puts below each other for it: all in one, unless a phone orders it anew."""
        return [self]


class View(Part):
    """A part of a page that shows what a store holds; a subclass draws it into ``_panel``.

    Parameters
    ----------
    store : Store
    """

    store = param.ClassSelector(class_=Store)

    def __init__(self, store: Store, **params):
        super().__init__(store=store, **params)

    def follow(self, draw: Callable, *names: str, of: param.Parameterized | None = None) -> None:
        """Draw now, and whenever parameters of the store, or of something else, change.

        To param an object that is set again has changed, as it cannot compare most of them.
        """
        def heard(*events) -> None:
            if any(event.type == "triggered" or event.new is not event.old for event in events):
                draw(*events)

        (of or self.store).param.watch(heard, list(names))
        draw()

    def follow_answer(self, draw: Callable) -> None:
        """Draw the store's answer, now if there is one, and every further one."""
        def drawn(*events) -> None:
            if self.store.answer is not None:
                draw(self.store.answer)

        self.follow(drawn, "answer")

    def __panel__(self):
        return self._panel


# Panel would make a row as wide as all its parts together, and what it lies in as wide as the row.
NARROWING = ":host {min-width: 0 !important;}"
LOWER = "@media (max-width: 599.95px) {:host {order: 1;}}"
#: Of a group of buttons, which go on in a second row where there is no room.
WRAPS = {"flexWrap": "wrap", "& .MuiToggleButton-root": {"flex": "0 0 auto", "width": "auto"}}


def wrapping(*objects, gap: int = 6, **options) -> pn.Row:
    """A row that wraps, with so many pixels between its parts.

    Not Panel's FlexBox, to whose figures the theme of the page does not reach.
    """
    style = f":host {{flex-wrap: wrap; gap: 6px {gap}px; align-items: flex-start;}}"
    return pn.Row(*objects, sizing_mode="stretch_width", margin=0,
                  stylesheets=[style, NARROWING], **options)


def stretched(*parts, **options) -> pn.Column:
    """Parts below each other, as wide as the page."""
    return pn.Column(*parts, sizing_mode="stretch_width",
                     **{"margin": 0, "stylesheets": [NARROWING]} | options)


def dim(part: pn.viewable.Viewable, waits: bool) -> None:
    """Fade a part by half while what it shows waits for an answer."""
    part.styles = part.styles | {"opacity": "0.5" if waits else "1"}


def lower(part: pn.viewable.Viewable) -> None:
    """On a phone, put a part of a page below all that is not said to be lower."""
    part.stylesheets = [*part.stylesheets, LOWER]


class ByTab(Part):
    """A column of views for each tab; only that of the tab which a state has open is seen.

    What no tab has shown yet is not on the page: a browser would draw what nobody sees, too.
    """

    def __init__(self, state: State, views: Mapping[str, list], **params):
        super().__init__(**params)
        self._state = state
        self._views = dict(views)
        self._columns = {tab: stretched() for tab in views}
        state.param.watch(self._update, "tab")
        self._update()

    def _update(self, *events) -> None:
        for tab, column in self._columns.items():
            column.visible = tab == self._state.tab
            if column.visible and tab in self._views:
                column.extend(self._views.pop(tab))

    def __panel__(self):
        return stretched(*self._columns.values())
