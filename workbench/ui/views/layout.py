"""How views lie on a page: rows that wrap where it is narrow, and columns behind tabs."""

from __future__ import annotations

from collections.abc import Mapping

import panel as pn
import param


def wrapping(*objects, gap: int = 6, **options) -> pn.Row:
    """A row that wraps, with so many pixels between its parts.

    Not Panel's FlexBox, to whose figures the theme of the page does not reach.
    """
    style = f":host {{flex-wrap: wrap; gap: 6px {gap}px; align-items: flex-start;}}"
    return pn.Row(*objects, sizing_mode="stretch_width", margin=0, stylesheets=[style], **options)


class ByTab(pn.viewable.Viewer):
    """A column of views for each tab; only that of the tab which a state has open is seen."""

    def __init__(self, state: param.Parameterized, views: Mapping[str, list], **params):
        super().__init__(**params)
        self._state = state
        self._columns = {tab: pn.Column(*parts, margin=0) for tab, parts in views.items()}
        state.param.watch(self._update, "tab")
        self._update()

    def _update(self, *events) -> None:
        for tab, column in self._columns.items():
            column.visible = tab == self._state.tab

    def __panel__(self):
        return pn.Column(*self._columns.values(), sizing_mode="stretch_width", margin=0)
