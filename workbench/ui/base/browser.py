"""What an app asks of the browser itself: its history, its keys, its theme, and its connection."""

from __future__ import annotations

import panel as pn
import param

from workbench.ui.base import messages

COOKIE, SYSTEM = "workbench-dark", "workbench-system"   # what was chosen, and what the system has
PHONE = 600         # pixels below which the sidebar lies over the page


class Browser(pn.custom.JSComponent):
    """Buttons for undo, redo and reset; behind them is the history of the browser.

    What the user does with pointer or key, however many values it changes, is one entry of the
    history: the first change after a press makes an entry, those that follow replace it. Undo and
    redo are the browser's Back and Forward.

    Before what cannot be had again is left, the browser asks, in its own words.

    On a phone it closes the sidebar, which would lie over what the page is about.

    A dropdown opens by Enter, Space and the vertical arrows: panel-material-ui's own opens it on
    a click alone, and puts the focus on the first item, not on the chosen one.
    """

    query = param.String(doc="the choices as the page's address has them")
    separate = param.Integer(0, doc="counts changes that are an entry of their own")
    popped = param.Dict({}, doc="the query that Back or Forward came to, and when")
    escapes = param.Integer(0, doc="how often Escape was pressed, menus aside")
    resets = param.Integer(0, doc="how often the example was asked for")
    dark = param.Boolean(False, doc="whether the page is dark, kept in a cookie")
    unsaved = param.Boolean(False, doc="whether leaving the page loses what no file keeps")
    words = param.Dict({"undo": messages.UNDO, "redo": messages.REDO, "reset": messages.RESET,
                        "lost": messages.LOST, "reload": messages.RELOAD})
    cookie = param.String(COOKIE, constant=True)
    phone = param.Integer(PHONE, constant=True)

    _esm = """
    const ICONS = {undo: '↶', redo: '↷', reset: '⟲'}
    const STYLE = `button {font: inherit; font-size: 20px; line-height: 1; width: 34px;
      height: 34px; padding: 0; margin: 0 1px; border: none; border-radius: 50%; color: inherit;
      background: none; cursor: pointer}
      button:hover:enabled {background: rgba(255, 255, 255, 0.18)}
      button:focus-visible {outline: 2px solid currentColor}
      button:disabled {opacity: 0.35; cursor: default}
      div {display: flex; color: #fff}`
    const BANNER = `position: fixed; inset: 0 0 auto 0; z-index: 9999; padding: 10px 16px;
      font: 15px sans-serif; color: #fff; background: #b3261e; text-align: center`

    export function render({model, view}) {
      const key = 'workbench ' + location.pathname
      const index = () => history.state?.workbench ?? 0
      const top = () => Math.max(index(), Number(sessionStorage.getItem(key) ?? 0))
      let pressed = false, separate = model.separate, written = null, timer = null

      const row = document.createElement('div'), style = document.createElement('style')
      style.textContent = STYLE
      const buttons = {}
      for (const [name, act] of Object.entries({
          undo: () => history.back(), redo: () => history.forward(),
          reset: () => { model.resets += 1 }})) {
        const button = buttons[name] = document.createElement('button')
        button.type = 'button'
        button.textContent = ICONS[name]
        button.title = model.words[name]
        button.setAttribute('aria-label', model.words[name])
        button.addEventListener('click', act)
        row.append(button)
      }
      const enable = () => {
        buttons.undo.disabled = index() === 0
        buttons.redo.disabled = index() >= top()
      }

      const put = (method, at, url) => {
        history[method]({workbench: at}, '', url)
        if (method === 'pushState') sessionStorage.setItem(key, at)
        enable()
      }
      const write = () => {
        timer = null
        const own = model.separate !== separate
        separate = model.separate
        if (model.query === written) return
        const first = written === null
        written = model.query
        if (!first && (pressed || own)) put('pushState', index() + 1, '?' + written)
        else put('replaceState', index(), '?' + written)
        pressed = false
      }
      const soon = () => { timer ??= setTimeout(write, 30) }  // choices that change at once
      model.on('query', soon)
      model.on('separate', soon)

      const popped = () => {
        pressed = false
        written = location.search.replace(/^[?]/, '')
        model.popped = {query: written, at: Date.now()}
        enable()
      }
      const press = () => { pressed = true }
      const key_down = event => { if (!event.repeat) pressed = true }
      const typing = event => {
        const target = event.composedPath()[0]
        return target.isContentEditable || target.tagName === 'TEXTAREA'
          || target.tagName === 'INPUT' && !['range', 'checkbox', 'radio'].includes(target.type)
      }
      const keys = event => {     // after menus have had it
        if (event.key === 'Escape' && !event.defaultPrevented) model.escapes += 1
        if (!(event.ctrlKey || event.metaKey) || event.altKey || typing(event)) return
        const letter = event.key.toLowerCase()
        if (letter !== 'z' && letter !== 'y') return
        event.preventDefault()
        if (letter === 'y' || event.shiftKey) buttons.redo.click()
        else buttons.undo.click()
      }
      let opener = null         // Enter or Space, as long as it is down after it opened a dropdown
      const onto_chosen = (box, frames) => {
        const list = box.getRootNode().getElementById(box.getAttribute('aria-controls'))
        const item = [...list?.querySelectorAll('li') ?? []].find(
          one => one.textContent.trim() === box.textContent.trim())
        if (list?.contains(list.getRootNode().activeElement)) item?.focus()
        else if (frames) requestAnimationFrame(() => onto_chosen(box, frames - 1))
      }
      const unfold = event => {
        if (!event.repeat) opener = null        // its release was elsewhere, in another window
        if (event.repeat && event.key === opener) {     // else it would choose at once
          event.preventDefault()
          event.stopPropagation()
          return
        }
        const box = event.composedPath()[0]
        if (!['Enter', ' ', 'ArrowDown', 'ArrowUp'].includes(event.key)
            || event.ctrlKey || event.metaKey || !box.matches?.('.MuiSelect-select')
            || box.getAttribute('aria-expanded') !== 'false'
            || box.getAttribute('aria-disabled') === 'true') return
        event.preventDefault()
        opener = event.key
        box.click()
        onto_chosen(box, 60)
      }
      const let_go = event => {
        if (opener === ' ' && event.key === ' ') {      // a button would take it for a click
          event.preventDefault()
          event.stopPropagation()
        }
        opener = null
      }
      const remember = () => {
        const year = 365 * 24 * 3600
        document.cookie = `${model.cookie}=${+model.dark}; path=/; max-age=${year}; SameSite=Lax`
      }
      model.on('dark', remember)

      const phone = window.matchMedia(`(max-width: ${model.phone - 0.05}px)`)
      const close = () => setTimeout(() => {  // not while the page itself is being drawn
        const page = view.model.document?.roots().find(root => root.data?.sidebar_open)
        if (phone.matches && page) page.data.sidebar_open = false
      }, 0)
      phone.addEventListener('change', close)
      close()

      let banner = null
      const others = () => [...document.body.children].filter(child => child !== banner)
      const lost = () => {
        if (banner !== null) return
        banner = document.createElement('div')
        banner.setAttribute('role', 'alert')
        banner.style.cssText = BANNER
        const reload = document.createElement('button')
        reload.textContent = model.words.reload
        reload.style.cssText = 'margin-left: 12px; font: inherit; cursor: pointer'
        reload.addEventListener('click', () => location.reload())
        banner.append(model.words.lost, reload)
        document.body.append(banner)
        const quiet = document.createElement('style')   // Panel's own toast says less
        quiet.textContent = '[id^=reconnect-notification] {display: none !important}'
        document.head.append(quiet)
        others().forEach(child => { child.inert = true })
      }
      const found = () => {
        others().forEach(child => { child.inert = false })
        banner?.remove()
        banner = null
      }
      const leave = event => {      // once the server has gone there is nothing left to keep
        if (!model.unsaved || banner !== null) return
        event.preventDefault()
        event.returnValue = true
      }
      view.model.document.on_event('connection_lost', lost)
      view.model.document.on_event('client_reconnected', found)

      window.addEventListener('beforeunload', leave)
      window.addEventListener('popstate', popped)
      window.addEventListener('pointerdown', press, true)
      window.addEventListener('keydown', key_down, true)
      window.addEventListener('keydown', unfold, true)
      window.addEventListener('keyup', let_go, true)
      window.addEventListener('keydown', keys)
      model.on('remove', () => {
        window.removeEventListener('beforeunload', leave)
        window.removeEventListener('popstate', popped)
        window.removeEventListener('pointerdown', press, true)
        window.removeEventListener('keydown', key_down, true)
        window.removeEventListener('keydown', unfold, true)
        window.removeEventListener('keyup', let_go, true)
        window.removeEventListener('keydown', keys)
        phone.removeEventListener('change', close)
      })
      if (history.state?.workbench === undefined) sessionStorage.setItem(key, 0)
      if (model.query) write()
      enable()
      const box = document.createElement('div')
      box.append(style, row)
      return box
    }
    """
