"""Two maps over each other with a divider between them: by mouse, by touch, or by keyboard."""

from __future__ import annotations

import panel as pn
import param

BEFORE, AFTER = "wb-before", "wb-after"
OVER = {"position": "absolute", "top": "0", "left": "0"}


class Divider(pn.custom.JSComponent):
    """The divider of two maps that lie over each other beside it: left of it one is seen.

    Panel's own layout ``Swipe`` is moved by a mouse alone, and tells every step of a drag; this one
    can be focused, has a handle that a finger finds, and tells where it was let go. It is as high
    as the frame of the maps, between their title and their bar of colours.
    """

    value = param.Integer(50, bounds=(0, 100), doc="where the divider stands, in percent")
    inset = param.Integer(0, doc="pixels left of the maps that an axis takes")
    label = param.String(doc="what the divider is called")
    told = param.String(doc="how its position is spoken; {} stands for the percent")
    classes = param.List([BEFORE, AFTER], doc="of the two maps")

    _esm = """
    const STYLE = `
      .box {position: absolute; inset: 0}
      .bar {position: absolute; top: 0; bottom: 0; width: 30px; margin-left: -15px;
        cursor: ew-resize; touch-action: none; outline: none; pointer-events: auto}
      .bar::before {content: ''; position: absolute; left: 14px; width: 2px; top: 0; bottom: 0;
        background: #E6007E}
      .bar::after {content: '◂▸'; position: absolute; left: 0; top: calc(50% - 15px); width: 30px;
        height: 30px; border-radius: 50%; background: #E6007E; color: #fff; text-align: center;
        font: 15px/29px sans-serif; letter-spacing: 2px; text-indent: 2px}
      .bar:focus-visible::after {outline: 3px solid currentColor; outline-offset: 2px}`

    export function render({model, el}) {
      const box = document.createElement('div'), style = document.createElement('style')
      style.textContent = STYLE
      box.className = 'box'
      const bar = document.createElement('div')
      bar.className = 'bar'
      bar.tabIndex = 0
      bar.setAttribute('role', 'slider')
      bar.setAttribute('aria-label', model.label)
      bar.setAttribute('aria-valuemin', 0)
      bar.setAttribute('aria-valuemax', 100)
      box.append(style, bar)

      const host = () => el.getRootNode().host
      const clip = (kind, shape) => {
        for (const one of host()?.parentNode?.children ?? [])
          if (one.classList.contains(kind)) one.style.clipPath = shape
      }
      const inside = (one, box) => {
        while (one && one !== box) one = one.parentNode ?? one.host
        return Boolean(one)
      }
      let waiting = null
      const fit = (tries = 40) => {       // the frame is known once the map is drawn
        clearTimeout(waiting)
        const below = [...host()?.parentNode?.children ?? []].find(
          one => one.classList.contains(model.classes[0]))
        const plot = below && [...new Set(Bokeh.index.all_views())].find(
          view => view.model.type === 'Figure' && inside(view.el, below))
        const frame = plot?.frame?.bbox
        if (!frame?.height) {
          if (tries > 0) waiting = setTimeout(fit, 150, tries - 1)
          return
        }
        const from = plot.canvas_view.el.getBoundingClientRect().top
        bar.style.top = `${Math.round(from - host().getBoundingClientRect().top + frame.top)}px`
        bar.style.height = `${Math.round(frame.height)}px`
      }
      let now = model.value, dragged = false
      const place = value => {
        now = Math.max(0, Math.min(100, Math.round(value)))
        const x = `${model.inset}px + (100% - ${model.inset}px) * ${now / 100}`
        clip(model.classes[0], `inset(0 calc(100% - (${x})) 0 0)`)
        clip(model.classes[1], `inset(0 0 0 calc(${x}))`)
        bar.style.left = `calc(${x})`
        bar.setAttribute('aria-valuenow', now)
        bar.setAttribute('aria-valuetext', model.told.replaceAll('{}', now))
      }
      const follow = event => {
        const frame = host().getBoundingClientRect()
        place(100 * (event.clientX - frame.left - model.inset) / (frame.width - model.inset))
      }
      bar.addEventListener('pointerdown', event => {
        dragged = true
        bar.setPointerCapture(event.pointerId)
        bar.focus()
        event.preventDefault()
      })
      bar.addEventListener('pointermove', event => { if (dragged) follow(event) })
      const end = () => { if (dragged) { dragged = false; model.value = now } }
      bar.addEventListener('pointerup', end)
      bar.addEventListener('pointercancel', end)
      bar.addEventListener('keydown', event => {
        const step = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10,
                      PageUp: 10, Home: -100, End: 100}[event.key]
        if (step === undefined) return
        event.preventDefault()
        place(now + step)
        model.value = now
      })
      const again = () => {
        if (dragged) return
        place(model.value)
        fit()
      }
      const sized = new ResizeObserver(() => fit())
      sized.observe(el)
      model.on('value', again)
      model.on('inset', again)
      model.on('after_layout', again)
      const frame = requestAnimationFrame(again)      // the maps may come after it
      model.on('remove', () => {
        cancelAnimationFrame(frame)
        clearTimeout(waiting)
        sized.disconnect()
      })
      return box
    }
    """


def swiped(before: pn.viewable.Viewable, after: pn.viewable.Viewable, divider: Divider
           ) -> pn.Column:
    """Two maps of one size over each other, and the divider between them.

    Parameters
    ----------
    before, after : Viewable
        Left and right of the divider.
    divider : Divider
    """
    before.css_classes, after.css_classes = [BEFORE], [AFTER]
    after.styles = OVER
    divider.styles = OVER | {"width": "100%", "height": "100%", "pointer-events": "none",
                             "z-index": "5"}
    divider.stylesheets = [":host > div {position: static !important;}"]
    return pn.Column(before, after, divider, margin=0, styles={"position": "relative"})
