"""What sidebars are made of: a widget for a choice of the state, titles, columns, a button."""

from __future__ import annotations

from collections.abc import Callable

import panel as pn
import panel_material_ui as pmui

from workbench.ui.base.state import State

SLIDER, SELECT = pmui.DiscreteSlider, pmui.Select


def widget(state: State, name: str, label: str, kind: type = SELECT,
           margin: tuple | None = None, **more):
    """The widget of a choice, described by its documentation.

    Parameters
    ----------
    state : State
    name, label : str
        The choice, and what it is called.
    kind : type
        Of the widget.
    margin : tuple of int, optional
        Around it, in pixels; by default room for the label, which stands on a dropdown's edge.
    **more
        Further options of the widget.
    """
    slot = state.param[name]
    margin = margin or ((7, 10, 3, 10) if kind is SELECT else (3, 10))
    if kind is SLIDER:
        more["tooltips"] = False        # it would cover the label, which says the same
    if kind is not pmui.RadioButtonGroup:
        more["description"] = slot.doc
    made = kind.from_param(slot, label=label, sizing_mode="stretch_width", size="small",
                           margin=margin, **more)
    made._restrict = False      # else new options, told before their value, choose the first one
    return made


def title(text: str, above: int = 3) -> pmui.Typography:
    """The title of a section."""
    return pmui.Typography(text, variant="overline", margin=(above, 10, 0, 10))


def column(*parts) -> pn.Column:
    """Parts below each other, as wide as the sidebar."""
    return pn.Column(*parts, sizing_mode="stretch_width", margin=0)


def learn_button(label: str, learn: Callable[[], None]) -> pmui.Button:
    """The button that learns hyperparameters."""
    return pmui.Button(label=label, icon="auto_fix_high", color="primary", variant="contained",
                       size="small", margin=(4, 10), sizing_mode="stretch_width",
                       on_click=lambda _: learn())


def small_button(label: str, click: Callable[[], None], **options) -> pmui.Button:
    """An outlined button."""
    look = {"size": "small", "variant": "outlined", "margin": (2, 10)} | options
    return pmui.Button(label=label, on_click=lambda _: click(), **look)
