"""Arrows in a part of the page that opens some seconds after they are given the focus."""

import panel as pn

from workbench.ui.disaggregate.views.arrows import Arrows

LATE = 4_600        # milliseconds
pn.extension()
arrows = Arrows()
drawer = pn.Column(arrows, visible=False)


def lead(event) -> None:
    """As the app does: ask for the focus, and open what they are in."""
    arrows.leads += 1
    told.object = "Led"
    pn.state.curdoc.add_timeout_callback(lambda: drawer.param.update(visible=True), LATE)


button, told = pn.widgets.Button(name="Lead"), pn.pane.Str("Not led")
button.on_click(lead)
pn.Column(button, pn.widgets.TextInput(name="Field"), told, drawer).servable()
