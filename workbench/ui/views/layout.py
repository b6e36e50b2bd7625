"""Rows that wrap: on a narrow page, what does not fit goes below."""

from __future__ import annotations

import panel as pn


def wrapping(*objects, gap: int = 6, **options) -> pn.Row:
    """A row that wraps, with so many pixels between its parts.

    Not Panel's FlexBox, to whose figures the theme of the page does not reach.
    """
    style = f":host {{flex-wrap: wrap; gap: 6px {gap}px; align-items: flex-start;}}"
    return pn.Row(*objects, sizing_mode="stretch_width", margin=0, stylesheets=[style], **options)
