"""The top of a page: numbers in a live region, chips, what is being worked on, and errors."""

from __future__ import annotations

from typing import ClassVar

import panel_material_ui as pmui

from workbench.ui.base import messages
from workbench.ui.base.live_text import LiveText
from workbench.ui.base.store import Store
from workbench.ui.base.views.layout import View, lower, stretched, wrapping

#: Of a chip, whose words go on in a second line where there is no room.
WHOLE = {"height": "auto", "minHeight": "24px",
         "& .MuiChip-label": {"whiteSpace": "normal", "paddingTop": "2px", "paddingBottom": "2px"}}
#: Of a chip that judges: white on a dark page's red, and on orange, could hardly be read.
JUDGED = {**WHOLE, "&.MuiChip-colorError": {"backgroundColor": "#c62828", "color": "#fff"},
          "&.MuiChip-colorWarning": {"backgroundColor": "#ffa726", "color": "#212121"}}

_DOING = 118            # width of most texts on what is being worked on, so that they move nothing
ROW, WIDE = 37, 1400        # pixels of a row of chips, and of a window that has one row of them
KEPT = """:host {{min-height: {0}px;}}
@media (max-width: {1}px) {{:host {{min-height: {2}px;}}}}
@media (max-width: 599.95px) {{:host {{min-height: {3}px;}}}}"""


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
    #: Rows that they take once there are numbers, on a wide page and on a phone: these are kept.
    rows: ClassVar[tuple[int, int]] = (1, 2)

    def __init__(self, store: Store, beside: tuple = (), under: tuple = (), over: tuple = (),
                 lines: int = 1, **params):
        super().__init__(store, **params)
        self.text = LiveText(sizing_mode="stretch_width", margin=(2, 5),
                             styles={"font-size": "15px"}, min_height=20 * lines)
        chip = {"size": "small", "margin": (4, 5), "visible": False, "sx": WHOLE}
        self.verdict = pmui.Chip("", variant="filled", **chip | {"sx": JUDGED})
        self.cost = pmui.Chip("", variant="outlined", **chip)
        self.doing = LiveText(role="note", margin=(6, 5), min_width=_DOING,
                              styles={"font-size": "13px"})
        self.bar = pmui.LinearProgress(value=0, variant="determinate", margin=(14, 10, 0, 5),
                                       width=150)
        self.stop = pmui.Button(label=messages.CANCEL, color="error", variant="outlined",
                                size="small", margin=(2, 5),
                                on_click=lambda _: self.results.cancel())
        self._wrong = LiveText(role="note", sizing_mode="stretch_width")
        self.error = pmui.Alert(self._wrong, severity="error", visible=False, margin=(4, 10),
                                sizing_mode="stretch_width")
        self.row = wrapping(*(getattr(self, name) for name in self.chips), *beside, self.doing,
                            self.bar, self.stop)
        self._loose = self.row.stylesheets
        self.keep_rows(True)
        for words in (self.text, *over, *under):
            lower(words)
        self._parts = [self.error, self.text, *over, self.row, *under]
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

    def keep_rows(self, whether: bool) -> None:
        """Keep room for all rows of chips, so that nothing moves when they come, or not."""
        kept = KEPT.format(ROW, WIDE, *(ROW * n for n in self.rows))
        self.row.stylesheets = [*self._loose, kept] if whether else self._loose

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
