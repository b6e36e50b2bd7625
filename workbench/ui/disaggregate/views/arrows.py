"""Arrows that lead from a place of the map to those beside it: by key, by mouse, or by touch."""

from __future__ import annotations

import panel as pn
import param

from workbench.ui.disaggregate import labels

FAR = 10        # places that an arrow key goes with Shift


class Arrows(pn.custom.JSComponent):
    """Four arrows, and their keys while they are focused."""

    asked = param.List([0, 0, 0, 0], doc="-1, 0 or 1 to the right, the same up, how many steps, "
                       "how often something was asked")
    closes = param.Integer(0, doc="how often Escape was pressed on it")
    leads = param.Integer(0, doc="how often it was given the focus from elsewhere")
    label = param.String(labels.MOVE_PLACE)
    told = param.String(labels.MOVED_BY)
    far = param.Integer(FAR)
    names = param.List([labels.LEFT, labels.DOWN, labels.UP, labels.RIGHT])

    _esm = """
    const STYLE = `
      .box {display: flex; align-items: center; gap: 4px; padding: 3px; border-radius: 4px}
      .box:focus-visible {outline: 2px solid currentColor}
      button {width: 30px; height: 28px; font: 15px/1 sans-serif; color: inherit; background: none;
        border: 1px solid rgba(128, 128, 128, 0.6); border-radius: 4px; cursor: pointer}
      button:hover {background: rgba(128, 128, 128, 0.2)}
      span {font: 13px/1.3 sans-serif; opacity: 0.85; margin-left: 6px}`
    const WAYS = [['ArrowLeft', '←', -1, 0], ['ArrowDown', '↓', 0, -1], ['ArrowUp', '↑', 0, 1],
                  ['ArrowRight', '→', 1, 0]]

    export function render({model}) {
      const box = document.createElement('div'), style = document.createElement('style')
      style.textContent = STYLE
      box.className = 'box'
      box.tabIndex = 0
      box.setAttribute('role', 'group')
      box.setAttribute('aria-label', model.label)
      const go = (across, up, steps) => {
        model.asked = [across, up, steps, model.asked[3] + 1]
      }
      WAYS.forEach(([key, sign, across, up], k) => {
        const button = document.createElement('button')
        button.type = 'button'
        button.tabIndex = -1                // the keys do the same
        button.textContent = sign
        button.title = model.names[k]
        button.setAttribute('aria-label', model.names[k])
        button.addEventListener('click', () => { box.focus(); go(across, up, 1) })
        box.append(button)
      })
      const told = document.createElement('span')
      told.textContent = model.told
      box.append(style, told)
      box.addEventListener('keydown', event => {
        const way = WAYS.find(one => one[0] === event.key)
        if (way) go(way[2], way[3], event.shiftKey ? model.far : 1)
        else if (event.key === 'Escape') model.closes += 1
        else return
        event.preventDefault()
        event.stopPropagation()
      })
      // A drawer that opens takes focus away; on a busy machine that takes long. So it is given for
      // half a second at a stretch, and no more once a key or a pointer is pressed.
      let timer = null, end = 0
      const leave = () => {
        clearTimeout(timer)
        window.removeEventListener('keydown', used, true)
        window.removeEventListener('pointerdown', leave, true)
      }
      const used = event => {
        const alone = ['Shift', 'Control', 'Alt', 'Meta'].includes(event.key)
        if (!event.repeat && !alone) leave()
      }
      const lead = kept => {
        kept = box.getRootNode().activeElement === box ? kept + 1 : 0
        if (kept === 0) box.focus()
        if (kept < 5 && box.isConnected && Date.now() < end) timer = setTimeout(lead, 100, kept)
        else leave()
      }
      model.on('leads', () => {
        leave()
        end = Date.now() + 60_000
        window.addEventListener('keydown', used, true)
        window.addEventListener('pointerdown', leave, true)
        lead(0)
      })
      model.on('remove', leave)
      return box
    }
    """
