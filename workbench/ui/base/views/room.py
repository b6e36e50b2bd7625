"""How much room a page has, told by the browser as it changes."""

from __future__ import annotations

import panel as pn
import param


class Room(pn.custom.JSComponent):
    """How much room a page has, told by the browser as it changes.

    What a page says, or is told, while it is still connecting is lost: it says it again until it
    is heard, and is heard when it has loaded.
    """

    told = param.String("", doc="across, down, window, and how often they were told")
    heard = param.String("", doc="the first three of them as they were heard last")
    room = param.Tuple((0, 0, 0), doc="pixels of the column, down and across the window")

    _rename = {**pn.custom.JSComponent._rename, "room": None}
    _esm = """
    export function render({model, el}) {
      const line = document.createElement('div')
      let frame = el, count = 0
      while (frame && frame.tagName !== 'MAIN') frame = frame.parentNode ?? frame.host
      frame = frame ?? document.body
      const tell = () => {
        const now = `${frame.clientWidth - 12} ${window.innerHeight} ${window.innerWidth}`
        if (frame.clientWidth > 0 && now !== model.heard) model.told = `${now} ${count++}`
      }
      const timer = setInterval(tell, 400)
      model.on('remove', () => clearInterval(timer))
      return line
    }
    """

    def __init__(self, **params):
        super().__init__(**params)
        self._loaded = False
        pn.state.onload(self._load)

    def _load(self) -> None:
        self._loaded = True

    @param.depends("told", watch=True)
    def _hear(self) -> None:
        if not self._loaded:
            return
        across, down, window, _ = map(int, self.told.split())
        self.heard = f"{across} {down} {window}"
        self.room = across, down, window
