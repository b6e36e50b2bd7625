"""The top of a page: numbers in a live region, chips, what is being worked on, and errors."""

from __future__ import annotations

from typing import ClassVar

import panel as pn
import panel_material_ui as pmui
import param

from workbench.ui.base import messages
from workbench.ui.base.store import Store
from workbench.ui.base.views.layout import View, lower, stretched, wrapping

#: Of a chip, whose words go on in a second line where there is no room.
WHOLE = {"height": "auto", "minHeight": "24px",
         "& .MuiChip-label": {"whiteSpace": "normal", "paddingTop": "2px", "paddingBottom": "2px"}}
#: Of a chip that judges: white on a dark page's red, and on orange, could hardly be read.
JUDGED = {**WHOLE, "&.MuiChip-colorError": {"backgroundColor": "#c62828", "color": "#fff"},
          "&.MuiChip-colorWarning": {"backgroundColor": "#ffa726", "color": "#212121"}}


class LiveText(pn.custom.JSComponent):
    """Text that screen readers speak when it changes, shown as it is.

    Alerts and typography of panel-material-ui take their text for Markdown and HTML, so that the
    name of a file or a column would become part of the page.
    """

    text = param.String()
    role = param.String("status")

    _esm = """
    export function render({model, el}) {
      const line = document.createElement('div')
      line.setAttribute('role', model.role)
      line.setAttribute('aria-live', model.role === 'alert' ? 'assertive' : 'polite')
      const show = () => { line.textContent = model.text }
      model.on('text', show)
      show()
      return line
    }
    """


class Readout(View):
    """Numbers and work of a store; a subclass fills in the numbers.

    On a phone the words stand below what they are about, and the chips above it.

    Parameters
    ----------
    store : Store
    beside : tuple
        What else is in the row of chips.
    under, over : tuple
        What is below that row, and between the numbers and it.
    lines : int
        Lines that the numbers take at least, so that nothing below them moves.
    """

    #: Chips that the app fills in.
    chips: ClassVar[tuple[str, ...]] = ("verdict", "cost")

    def __init__(self, store: Store, beside: tuple = (), under: tuple = (), over: tuple = (),
                 lines: int = 1, **params):
        super().__init__(store, **params)
        self.text = LiveText(sizing_mode="stretch_width", margin=(2, 5),
                             styles={"font-size": "15px"}, min_height=20 * lines)
        chip = {"size": "small", "margin": (4, 5), "visible": False, "sx": WHOLE}
        self.verdict = pmui.Chip("", variant="filled", **chip | {"sx": JUDGED})
        self.cost = pmui.Chip("", variant="outlined", **chip)
        self.doing = LiveText(role="note", margin=(6, 5), styles={"font-size": "13px"})
        self.bar = pmui.LinearProgress(value=0, variant="determinate", margin=(14, 10, 0, 5),
                                       width=150)
        self.stop = pmui.Button(label=messages.CANCEL, color="error", variant="outlined",
                                size="small", margin=(2, 5),
                                on_click=lambda _: self.results.cancel())
        self._wrong = LiveText(role="note", sizing_mode="stretch_width")
        self.error = pmui.Alert(self._wrong, severity="error", visible=False, margin=(4, 10),
                                sizing_mode="stretch_width")
        row = wrapping(*(getattr(self, name) for name in self.chips), *beside, self.doing,
                       self.bar, self.stop, min_height=36)
        for words in (self.text, *over, *under):
            lower(words)
        self._parts = [self.error, self.text, *over, row, *under]
        self._panel = stretched(*self._parts)

    @property
    def parts(self) -> list:
        """Each by itself: what is lower on a phone is so beside the other parts of the page."""
        return self._parts

    @property
    def results(self) -> Store:
        """The store whose work is shown."""
        return self.store

    @property
    def stoppable(self) -> bool:
        """Whether there is work that the user may stop."""
        return self.results.stoppable

    @property
    def present(self) -> str:
        """What is being worked on, in words."""
        return self.results.work or messages.READY

    def judge(self, verdict: tuple[str, str], visible: bool = True) -> None:
        """Show what the setting means: a label and a colour."""
        self.verdict.param.update(label=verdict[0], color=verdict[1], visible=visible)

    def _numbers(self, *events) -> None:
        """Fill in the numbers."""

    def _work(self, *events) -> None:
        results = self.results
        self.doing.text = self.present
        self.bar.param.update(
            visible=bool(results.work), value=round(100 * results.fraction),
            variant="determinate" if results.fraction > 0 else "indeterminate")
        self.stop.visible = self.stoppable
        self._wrong.text, self.error.visible = results.error, bool(results.error)
