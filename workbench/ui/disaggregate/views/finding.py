"""A finding of a check as a card: what was found, and where on the map when it is pressed."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import escape

import panel as pn
import param

from workbench.bagging.findings import ERROR, NOTE, WARNING, Finding
from workbench.ui.base.views.controls import small_button
from workbench.ui.base.views.layout import NARROWING
from workbench.ui.base.views.text import NOTE as LOOK
from workbench.ui.disaggregate import labels, messages, plain

COLOURS = {ERROR: "198, 40, 40", WARNING: "230, 145, 0", NOTE: "128, 128, 128"}
CORRECTED = "46, 125, 50"
MOST = 8        # ids that a card names
_FIRST = re.compile(r" \(first: \[[^\]]*\]\)")
_LONG = re.compile(r"\d[\d,]*(?:\.\d+)?e[+-]?\d+|\d[\d,]*\.\d{3,}|\d[\d,]*,\d{3}\.\d+")
_OF_WEIGHT = ("overlap", "outside")     # elsewhere every digit may be wanted, as of a mark
_WRAPS = ":host {flex-wrap: wrap; align-items: center;}"


class Text(pn.custom.JSComponent):
    """A text that can be pressed, or looked at by focus, if it points to something."""

    html = param.String(doc="of the text, safe to show")
    points = param.Boolean(False, doc="whether it can be pressed")
    pressed = param.Integer(0, doc="how often it was pressed")
    looked = param.Integer(0, doc="how often it came into focus")

    _esm = """
    export function render({model}) {
      const box = document.createElement('div')
      box.innerHTML = model.html
      if (!model.points) return box
      box.tabIndex = 0
      box.setAttribute('role', 'button')
      box.style.cursor = 'pointer'
      box.addEventListener('click', () => { model.pressed += 1 })
      box.addEventListener('focus', () => { model.looked += 1 })
      box.addEventListener('keydown', event => {
        if (event.key !== 'Enter' && event.key !== ' ') return
        event.preventDefault()
        model.pressed += 1
      })
      return box
    }
    """


def card(found: Finding, *beside, press: Callable[[], None] | None = None,
         look: Callable[[], None] | None = None, done: str = "", parts: bool = False) -> pn.Row:
    """A finding as a card in the colour of its severity.

    Parameters
    ----------
    found : Finding
    *beside : viewable
        What else stands in it, such as buttons.
    press, look : callable, optional
        Called when the card is pressed, or focused.
    done : str
        What was done about it.
    parts : bool
        As of `plain.words`.
    """
    colour = CORRECTED if done else COLOURS[found.severity]
    text = Text(html=told(found, done, press is not None, bool(beside), parts),
                points=press is not None,
                stylesheets=[LOOK, NARROWING], sizing_mode="stretch_width", margin=(0, 5),
                styles={"flex": "1 1 340px"})

    def shown(show: Callable[[], None]) -> Callable:
        def at_once(*events) -> None:
            with pn.io.hold():          # figures are changed outside of Panel
                show()

        return at_once

    if press is not None:
        text.param.watch(shown(press), "pressed")
        text.param.watch(shown(look or press), "looked")
    return pn.Row(text, *beside, sizing_mode="stretch_width", margin=(3, 4),
                  stylesheets=[_WRAPS], styles={
                      "border-left": f"4px solid rgb({colour})", "border-radius": "4px",
                      "background": f"rgba({colour}, 0.08)"})


def button(label: str, click: Callable[[], None]):
    """A button of a card."""
    return small_button(label, click, margin=(4, 6))


def told(found: Finding, done: str = "", points: bool = False, buttons: bool = False,
         parts: bool = False) -> str:
    """A finding as HTML: severity and kind, what, where, what follows, how to fix it.

    Parameters
    ----------
    found : Finding
    done : str
        What was done about it.
    points : bool
        Whether a press shows it on the map.
    buttons : bool
        Whether buttons stand beside it, which say what to do.
    parts : bool
        As of `plain.words`.

    Returns
    -------
    str
    """
    what = _LONG.sub(_short, found.what) if found.code in _OF_WEIGHT else found.what
    what = _FIRST.sub("", what) if found.where else what        # which is named below
    lines = [f"<b>{found.severity.capitalize()}</b> · {escape(plain.kind(found.code))}",
             escape(plain.words(what, parts))]
    lines = [line for line in lines if line]
    if done:
        lines[0] = f"<b>✓ {escape(labels.corrected(done))}</b>"
    if found.where:
        more = len(found.where) - MOST
        names = ", ".join(escape(plain.where(one)) for one in found.where[:MOST])
        names += f" and {more} more" if more > 0 else ""
        lines.append(f"<i>Where:</i> {names}")
    if found.effect:
        lines.append(f"<i>What follows:</i> {escape(plain.words(found.effect, parts))}")
    if found.fix and not done and not (buttons and found.fix.startswith("pass ")):
        todo = plain.words(plain.on_page(found.fix), parts)
        lines.append(f"<i>What to do:</i> {escape(todo)}")
    if points and found.cells is not None:
        lines.append(f"<i>On the map:</i> {labels.drawn(found.cells.x.size, found.cells.count)}")
    if points:
        lines.append(f"<u>{messages.SHOW_AREAS}</u>")
    return f"<p class='wb-note' style='opacity: 1; margin: 4px 0'>{'<br>'.join(lines)}</p>"


def _short(number: re.Match) -> str:
    """A number in three digits, or whole."""
    value = float(number[0].replace(",", ""))
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
