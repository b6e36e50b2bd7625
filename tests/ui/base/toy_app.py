"""Doubles: an app as small as can be, to test what all apps share.

13 takes for ever, 14 ends the server, 15 works on a file whose name is HTML, and fails, 17 is
what only a session file keeps, while 18 is worked on buttons come and go, and with 20 a figure is
changed past Panel and once more by way of it.
"""

import os

import panel as pn
import panel_material_ui as pmui
import param
from bokeh.models import Div

from workbench.ui.base.shell import App, show
from workbench.ui.base.state import State
from workbench.ui.base.store import Store
from workbench.ui.base.views.controls import SLIDER, widget
from workbench.ui.base.views.layout import View, stretched
from workbench.ui.base.views.readout import Readout
from workbench.ui.base.views.text import note

NAME = "<img src=x> &lt;img src=x&gt; *a*"     # as HTML, as decoded HTML, and as Markdown


class Numbers(State):
    number = param.Selector(objects=list(range(30)), doc="Which one.")
    colour = param.Selector(objects=["red", "blue"], doc="In which colour.")


class Doubles(Store):
    double = param.Number(0)
    offered = param.Boolean(True)
    watched = ("number",)
    app = "doubles"         # a served script has another name in each session

    def _changed(self, *events):
        number = self.state.number
        if number == 14:
            os._exit(0)
        self._job.drop()
        self.unsaved = number == 17
        self.param.update(work="doubling" if number == 13 else "", double=2 * number)
        if number == 15:
            self.param.update(work=f"reading {NAME}", error=f"no column {NAME}")
        if number == 13:
            self._job.start(endless)
        if number == 18:
            self.work = "flickering"
            self._job.start(flicker)

    def _receive(self, name, result):
        self.offered = result


def endless(run):
    while True:
        run.rest(0.02)


def flicker(run):
    for _ in range(30):
        run.send("offered", False)
        run.rest(0.02)
        run.send("offered", True)
        run.rest(0.03)


class Controls(View):
    def __init__(self, store, **params):
        super().__init__(store, **params)
        self._offers = [pmui.Button(label=f"Offer {k}") for k in range(20)]
        self._panel = stretched(widget(store.state, "number", "Number", SLIDER),
                                widget(store.state, "colour", "Colour", pmui.Select),
                                note("Doubles have no CRPS."), *self._offers)
        self.follow(self._offer, "offered")
        self.figure = Div(text="as drawn")
        self._panel.append(pn.pane.Bokeh(self.figure))
        self.follow(self._redraw, "double")

    def _redraw(self, *events):
        if self.store.double == 40:
            self.figure.text = "older"
            with pn.io.hold():
                self.figure.text = "newer"

    def _offer(self, *events):
        for one in self._offers:
            one.disabled = not self.store.offered


class Top(Readout):
    def __init__(self, store, **params):
        super().__init__(store, **params)
        self.follow(self._numbers, "double")
        self.follow(self._work, "work", "error")

    def _numbers(self, *events):
        self.text.text = f"twice is {self.store.double}"


show(App("Doubles", Numbers, Doubles, Controls, (Top,)), __doc__)
