"""A slim row of steps from data to report: where one is, what is done, what is wrong."""

from __future__ import annotations

import panel as pn
import param

from workbench.ui.base.views.layout import View
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.state import STEPS
from workbench.ui.disaggregate.steps import steps_of
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.verdict import verdict_of

WATCHED = ("scene", "answer", "scores", "recovered", "testing", "untested", "check",
           "unchecked", "work", "own_refused")


def target(step: str) -> str:
    """Class of the part of the page that a step leads to."""
    return f"wb-step-{step}"


class Row(pn.custom.JSComponent):
    """The steps as buttons; each leads to the part of the page that has its class."""

    steps = param.List(doc="of each step name, title, mark, and what it stands for")
    here = param.String("map", doc="name of the step one is at")
    leads = param.Integer(0, doc="how often the page led to where one is, without being asked here")
    label = param.String(labels.STEPS_LABEL)

    _esm = """
    const MARKS = {done: '✓', doubt: '!', wrong: '✗', next: '○', busy: '…'}
    const COLOURS = {done: '46, 125, 50', doubt: '230, 145, 0', wrong: '198, 40, 40',
                     next: '25, 118, 210', busy: '128, 128, 128'}
    const STYLE = `
      ol {display: flex; flex-wrap: wrap; gap: 2px; list-style: none; margin: 0; padding: 0}
      li {flex: 1 1 auto; min-width: 0; max-width: 210px}
      button {display: flex; align-items: center; gap: 5px; width: 100%; height: 26px;
        padding: 0 6px; font: 13px/1 sans-serif; color: inherit; background: none;
        border: none; border-bottom: 2px solid rgba(128, 128, 128, 0.3); cursor: pointer;
        white-space: nowrap; overflow: hidden}
      button:hover {background: rgba(128, 128, 128, 0.14)}
      button:focus-visible {outline: 2px solid currentColor; outline-offset: -2px}
      button[aria-current] {font-weight: 600; border-bottom-color: currentColor}
      i {flex: none; width: 16px; height: 16px; border-radius: 50%; font: bold 11px/16px sans-serif;
        text-align: center; color: #fff}
      span {overflow: hidden; text-overflow: ellipsis; opacity: 0.75; font-weight: 400;
        font-size: 12px; line-height: 1.3}
      @media (max-width: 900px) {span {display: none} button {padding: 0 3px}}
      @media (max-width: 600px) {ol {flex-wrap: nowrap; gap: 0} li {flex: 1 1 auto}
        button {gap: 3px; padding: 0 2px; font-size: 12px}
        i {width: 14px; height: 14px; font-size: 10px; line-height: 14px}}`

    const deep = (root, name) => {
      for (const one of root.querySelectorAll('*')) {
        if (one.classList.contains(name)) return one
        const found = one.shadowRoot && deep(one.shadowRoot, name)
        if (found) return found
      }
      return null
    }
    const focusable = root => {
      for (const one of root.querySelectorAll('*')) {
        if (one.matches('button, input, a[href], [tabindex="0"], [role=combobox]')) return one
        const found = one.shadowRoot && focusable(one.shadowRoot)
        if (found) return found
      }
      return null
    }

    export function render({model}) {
      const nav = document.createElement('nav'), style = document.createElement('style')
      const list = document.createElement('ol'), buttons = {}
      style.textContent = STYLE
      nav.setAttribute('aria-label', model.label)
      nav.append(style, list)
      let timer = null
      const go = (name, focus, tries = 40) => {
        clearTimeout(timer)
        const found = deep(document, 'wb-step-' + name)
        if (found === null || found.getBoundingClientRect().height === 0) {
          if (tries > 0) timer = setTimeout(() => go(name, focus, tries - 1), 150)
          return
        }
        found.style.scrollMarginTop = '90px'
        found.scrollIntoView({block: 'start'})
        const first = focus && (focusable(found.shadowRoot ?? found) ?? focusable(found))
        if (first) first.focus({preventScroll: true})
      }
      const draw = () => {
        for (const {name, title, mark, told, spoken} of model.steps) {
          if (!(name in buttons)) {
            const item = document.createElement('li')
            const button = buttons[name] = document.createElement('button')
            button.type = 'button'
            button.append(...['i', 'b', 'span'].map(kind => document.createElement(kind)))
            button.children[1].style.fontWeight = 'inherit'
            button.addEventListener('click', () => {
              model.here = name
              go(name, true)
            })
            item.append(button)
            list.append(item)
          }
          const button = buttons[name], [icon, head, more] = button.children
          icon.textContent = MARKS[mark]
          icon.style.background = `rgb(${COLOURS[mark]})`
          head.textContent = title
          more.textContent = told
          button.title = told
          button.setAttribute('aria-label', `${title}: ${spoken}, ${told}`)
          if (name === model.here) button.setAttribute('aria-current', 'step')
          else button.removeAttribute('aria-current')
        }
      }
      model.on('steps', draw)
      model.on('here', draw)
      model.on('leads', () => go(model.here, false))
      draw()
      if (model.here !== 'map') go(model.here, false)
      model.on('remove', () => clearTimeout(timer))
      return nav
    }
    """


class Stepper(View):
    """The steps of a store, and the one that the URL says."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        self.row = Row(sizing_mode="stretch_width", margin=(0, 4, 2, 4),
                       styles={"flex": "1 0 calc(100% - 14px)"})
        self._panel = self.row
        self.follow(self._update, *WATCHED)
        self.follow(self._here, "step", of=store.state)
        store.param.watch(self._seek, "seek")
        self.row.param.watch(self._asked, "here")

    def _update(self, *events) -> None:
        shown = [{"name": one.name, "title": labels.STEPS[one.name], "mark": one.mark,
                  "told": one.told, "spoken": labels.STEP_MARKS[one.mark]}
                 for one in steps_of(self.store, verdict_of(self.store))]
        if shown != self.row.steps:
            self.row.steps = shown

    def _here(self, *events) -> None:
        self.row.here = self.store.state.step

    def _seek(self, *events) -> None:
        self.store.state.step = "map"
        self.row.leads += 1

    def _asked(self, event) -> None:
        if event.new in STEPS:
            self.store.state.step = event.new
