"""How much room a page has, told by the browser as it changes."""

from __future__ import annotations

import panel as pn
import param

from workbench.ui.base.first_room import when_told


class Room(pn.custom.JSComponent):
    """How much room a page has, told by the browser as it changes.

    The page says before it connects how much it will have, see `first_room`. Where that did not
    come in time, or nobody hears it, as under `panel serve`, it says it once it is there: what it
    says, or is told, while it is still connecting is lost, so that it says it again until it is
    heard, and is heard when it has loaded. Until then it has a class, by which its first frame
    stays: parts that find their places would jump about.
    """

    told = param.String("", doc="across, down, and how often they were told")
    heard = param.String("", doc="the first two of them as they were heard last")
    room = param.Tuple((0, 0), doc="pixels of the column, and down the window")
    waits = param.String("wb-arranging", constant=True, doc="class of a page not yet arranged")

    _rename = {**pn.custom.JSComponent._rename, "room": None}
    _esm = """
    export function render({model, el}) {
      const line = document.createElement('div')
      let frame = el, count = 0       // what scrolls: its bar takes room that the window has
      while (frame && !frame.classList?.contains('main-content'))
        frame = frame.parentNode ?? frame.host
      frame = frame ?? document.body
      const tell = () => {
        const now = `${frame.clientWidth - 12} ${window.innerHeight}`
        if (frame.clientWidth > 0 && now !== model.heard) model.told = `${now} ${count++}`
      }
      const timer = setInterval(tell, 400)
      const arranged = () => document.body.classList.remove(model.waits)
      if (!model.heard) document.body.classList.add(model.waits)
      model.on('heard', arranged)
      model.on('remove', () => { clearInterval(timer); arranged() })
      return line
    }
    """

    def __init__(self, **params):
        super().__init__(**params)
        self._loaded = False
        pn.state.onload(self._load)
        when_told(pn.state.curdoc, self._arrange)

    def _load(self) -> None:
        self._loaded = True

    @param.depends("told", watch=True)
    def _hear(self) -> None:
        if not self._loaded:
            return
        across, down, _ = map(int, self.told.split())
        self._arrange(across, down)

    def _arrange(self, across: int, down: int) -> None:
        self.room = across, down                # all that lies in it is arranged
        self.heard = f"{across} {down}"
