"""The window: how much room views have in it, and the keys of a lecture."""

from __future__ import annotations

from dataclasses import dataclass

import panel as pn
import param

from workbench.ui.base.first_room import when_told
from workbench.ui.base.views.layout import View
from workbench.ui.granularity.store import Store

EDGES, AXIS = 90, 62        # pixels beside the frame of a line, and of the first map
MAPS = 4
#: Of a lecture, whose type is of 20 pixels: what is said beside its maps, and from where it is.
ASIDE, BESIDE = 240, 900
#: Pixels down to its controls and badge, but for the lines of its sentence and rows of its badge.
ABOVE, SENTENCE, BADGE = 236, 34, 44
#: Pixels that its longest sentence takes in one line, and its badge in one row.
LONGEST, WIDEST = 2350, 1190
#: Pixels above and below the frames of its line, maps and chart: titles, axes, bars of colours.
ROUND_LINE, ROUND_MAPS, ROUND_CHART = 140, 164, 150


class Listener(pn.custom.JSComponent):
    """What a page tells its server: its room, and keys that no widget needs for itself."""

    lecture = param.Boolean()
    room = param.List(doc="pixels that are left right of the sidebar, and the window's height")
    pressed = param.List(doc="how many keys were pressed, and which one last")

    _esm = """
    export function render({model, el}) {
      const host = el.getRootNode().host ?? el
      let before = [0, 0], count = 0
      let pane = host         // what scrolls: its bar takes room that the window has
      while (pane && !pane.classList?.contains('main-content')) pane = pane.parentNode ?? pane.host
      pane = pane ?? document.documentElement
      const measure = () => {     // not the column's own width: what is too wide widens it
        const end = pane.getBoundingClientRect().left + pane.clientLeft + pane.clientWidth
        const wide = end - host.getBoundingClientRect().left - 12
        const room = [Math.round(wide), window.innerHeight]
        if (wide > 0 && room.some((pixels, k) => Math.abs(pixels - before[k]) > 8))
          model.room = before = room
      }
      let waiting
      const later = () => { clearTimeout(waiting); waiting = setTimeout(measure, 150) }
      const observer = new ResizeObserver(later)
      observer.observe(host)
      window.addEventListener('resize', later)
      const inner = () => {
        let found = document.activeElement
        while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement
        return found
      }
      const needs = (found, key) => {
        const role = found?.getAttribute?.('role') ?? ''
        if (/^(menuitem|option|listbox|menu|combobox)$/.test(role)) return true
        if (found?.tagName === 'TEXTAREA' || found?.isContentEditable) return true
        if (found?.tagName !== 'INPUT') return false
        const steps = ['range', 'checkbox', 'radio'].includes(found.type)
        return !steps || (found.type === 'range' && key.startsWith('Arrow'))
      }
      const heard = ['l', 'L', 'Escape', 'ArrowLeft', 'ArrowRight', 'PageUp', 'PageDown']
      const press = event => {
        if (event.ctrlKey || event.metaKey || event.altKey || !heard.includes(event.key)) return
        const opens = event.key.toLowerCase() === 'l'
        if ((!opens && !model.lecture) || needs(inner(), event.key)) return
        event.preventDefault()
        model.pressed = [count += 1, event.key]
      }
      // A slider that was dragged gives the arrow keys back to the story.
      const release = () => setTimeout(() => {
        if (model.lecture && inner()?.type === 'range') inner().blur()
      }, 0)
      document.addEventListener('keydown', press)
      document.addEventListener('pointerup', release)
      later()
      model.on('remove', () => {
        observer.disconnect()
        window.removeEventListener('resize', later)
        document.removeEventListener('keydown', press)
        document.removeEventListener('pointerup', release)
      })
    }
    """


class Window(View):
    """Hears of room and keys, and tells the store and the state of them."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.listener = Listener(lecture=store.state.lecture, sizing_mode="stretch_width", height=1,
                                 margin=0)
        self.listener.param.watch(lambda event: self._fit(*event.new), "room")
        when_told(pn.state.curdoc, self._fit)
        self.listener.param.watch(lambda event: self.press(str(event.new[-1])), "pressed")
        store.state.param.watch(lambda event: setattr(self.listener, "lecture", event.new),
                                "lecture")
        self._panel = self.listener

    def _fit(self, across: float, down: float) -> None:
        self.store.room = int(across), int(down)

    def press(self, key: str) -> None:
        """Do what a key is for."""
        state = self.store.state
        if key in ("l", "L"):
            state.lecture = not state.lecture
        elif not state.lecture:
            return
        elif key == "Escape":
            state.lecture = False
        elif key in ("ArrowRight", "PageDown"):
            state.step(1)
        elif key in ("ArrowLeft", "PageUp"):
            state.step(-1)


@dataclass(frozen=True)
class Sizes:
    """Frames that fill the room, in pixels."""

    line: tuple[int, int]   # no height where a chart takes its place
    maps: int               # side of a map
    charts: tuple[int, int]


def sizes(room: tuple[int, int], lecture: bool, chart: bool = False) -> Sizes:
    """What fits into a room.

    Parameters
    ----------
    room : (int, int)
        Width of the main column and height of the window.
    lecture : bool
        Whether type is large; the first figures are then as high as the rest of the window.
    chart : bool
        Whether a lecture is about a chart, which then takes the place of the line.
    """
    width, height = room
    wide = width - EDGES if lecture else width - 65
    if lecture:
        left = height - _above(width)
        high = 0 if chart else _within(left - ROUND_LINE, 200, 620)
        aside = ASIDE + AXIS // 2 if width >= BESIDE else 0
        map_side = _map(width - aside, 3, 16, left - ROUND_MAPS, 520)
        charts = _within(width - 360, 220, 760), _within(left - ROUND_CHART, 200, 560)
    else:
        high = _within(height - 755, 215, 420)      # charts below it are to be seen, too
        map_side = _map(width, MAPS, 14, height - 430, 420)
        charts = _within(width / 3 - 102, 200, 380), 215
    return Sizes((max(wide, 240), high), map_side, charts)


def _above(width: int) -> int:
    """Pixels of a lecture above its figures: story, controls and badge."""
    return ABOVE + SENTENCE * -(-LONGEST // width) + BADGE * -(-WIDEST // width)


def _map(width: int, most: int, gap: int, height: int, largest: int) -> int:
    """Side of maps, so many of which are beside each other where they are not too small there."""
    beside = max(1, min(most, (width - AXIS) // 190))
    return _within(min((width - AXIS) / beside - gap, max(height, 200)), 180, largest)


def _within(value: float, least: int, most: int) -> int:
    return int(min(max(value, least), most))
