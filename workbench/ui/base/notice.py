"""What of an address could not be used, in a line that is part of the page and can be closed."""

from __future__ import annotations

from collections.abc import Sequence

import panel as pn
import panel_material_ui as pmui

from workbench.ui.base import messages
from workbench.ui.base.live_text import LiveText


class Notice(pn.viewable.Viewer):
    """Stands above all else in the page, so that it covers nothing; seen if there is a problem.

    A toast would lie over what can be clicked, on a phone over a third of the window.
    """

    def __init__(self, **params):
        super().__init__(**params)
        self.said = LiveText(role="note", sizing_mode="stretch_width", margin=0,
                             styles={"font-size": "14px"})
        alert = pmui.Alert(self.said, severity="warning", margin=0, sizing_mode="stretch_width",
                           styles={"flex": "1 1 0", "min-width": "0"})
        close = pmui.Button(label=messages.CLOSE, on_click=lambda _: self.close(), size="small",
                            variant="outlined", margin=(8, 5))
        self._panel = pn.Row(alert, close, sizing_mode="stretch_width", margin=(4, 5),
                             visible=False)

    def tell(self, problems: Sequence[str]) -> None:
        """Say what could not be used; nothing, and it is closed.

        Parameters
        ----------
        problems : sequence of str
            As of `State.read`.
        """
        self.said.text = messages.not_offered(problems) if problems else ""
        self._panel.visible = bool(problems)

    def close(self) -> None:
        """Take it away."""
        self.tell([])

    def __panel__(self):
        return self._panel
