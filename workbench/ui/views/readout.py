"""The top of a page: numbers in a live region, chips, what is being worked on, and errors."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui
import param

from workbench.ui import lang
from workbench.ui.results import Results
from workbench.ui.views.layout import wrapping
from workbench.ui.views.status import LiveText


class Readout(pn.viewable.Viewer):
    """Widgets that follow a store's work; a subclass lays them out and fills in the numbers."""

    store = param.ClassSelector(class_=Results)

    def __init__(self, store: Results, **params):
        super().__init__(store=store, **params)
        self.text = LiveText(sizing_mode="stretch_width", margin=(2, 5),
                             styles={"font-size": "15px"})
        chip = {"size": "small", "margin": (4, 5), "visible": False}
        self.verdict = pmui.Chip("", variant="filled", **chip)
        self.cost = pmui.Chip("", variant="outlined", **chip)
        self.doing = pmui.Typography("", variant="body2", margin=(6, 5))
        self.bar = pmui.LinearProgress(value=0, variant="determinate", margin=(14, 10, 0, 5),
                                       width=150)
        self.stop = pmui.Button(label="Cancel", color="error", variant="outlined", size="small",
                                margin=(2, 5), on_click=lambda _: self.results.cancel())
        self.error = pmui.Alert("", severity="error", visible=False, margin=(4, 10),
                                sizing_mode="stretch_width")

    @property
    def results(self) -> Results:
        """The store whose work is shown."""
        return self.store

    @property
    def stoppable(self) -> bool:
        """Whether there is work that the user may stop."""
        return bool(self.results.work)

    def strip(self, *more) -> pn.Row:
        """Chips, what else is given, and the work, in a row that wraps."""
        return wrapping(self.verdict, self.cost, *more, self.doing, self.bar, self.stop,
                        min_height=36)

    def _work(self, *events) -> None:
        results = self.results
        self.doing.object = results.work or lang.READY
        self.bar.param.update(
            visible=bool(results.work), value=round(100 * results.fraction),
            variant="determinate" if results.fraction > 0 else "indeterminate")
        self.stop.visible = self.stoppable
        self.error.param.update(object=results.error, visible=bool(results.error))
