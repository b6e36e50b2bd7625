"""The glossary inside an app: a button, and a dialog of words that can be searched."""

from __future__ import annotations

import panel as pn
import param

from workbench.ui.base import messages, words


class Glossary(pn.custom.JSComponent):
    """A button that opens all words of the apps; a word marked in a text opens its own entry.

    Everything happens in the browser: it answers while the server computes, and when it has gone.
    What it shows is text, never HTML.
    """

    entries = param.List(doc="terms, pieces of text and page of each word")
    labels = param.Dict({"open": messages.GLOSSARY, "search": messages.SEARCH_WORDS,
                         "close": messages.CLOSE, "none": messages.NO_SUCH_WORD,
                         "more": messages.MORE_IN_DOCUMENTATION})

    _esm = """
    const STYLE = `
      :host {display: block}
      button {font: inherit; color: inherit; background: none; cursor: pointer;
        border: 1px solid currentColor; border-radius: 4px; padding: 5px 12px; font-weight: 500}
      button:hover {background: rgba(128, 128, 128, 0.18)}
      :is(button, input, a):focus-visible {outline: 2px solid #0072b5; outline-offset: 2px}
      .open {color: #fff; border: none; white-space: nowrap; padding: 6px 10px; font-size: 14px}
      .open:focus-visible {outline-color: currentColor}
      .open::before {content: attr(aria-label)}
      dialog {box-sizing: border-box; width: min(720px, calc(100vw - 24px)); padding: 0;
        height: min(800px, calc(100vh - 48px)); border: none; border-radius: 6px;
        overflow: hidden; box-shadow: 0 8px 40px rgba(0, 0, 0, 0.5); font-size: 14px;
        color: var(--mui-palette-text-primary, #212121);
        background: var(--mui-palette-background-paper, #fff)}
      dialog::backdrop {background: rgba(0, 0, 0, 0.5)}
      .all {display: flex; flex-direction: column; height: 100%}
      .top {display: flex; flex-wrap: wrap; gap: 8px 12px; align-items: center;
        padding: 14px 18px 12px; border-bottom: 1px solid rgba(128, 128, 128, 0.4)}
      h2 {font: inherit; font-size: 20px; font-weight: 500; margin: 0; flex: none}
      input {font: inherit; flex: 1 1 180px; min-width: 0; box-sizing: border-box; color: inherit;
        padding: 6px 10px; border: 1px solid rgba(128, 128, 128, 0.7); border-radius: 4px;
        background: transparent}
      .list {overflow-y: auto; flex: 1; padding: 4px 18px 18px; line-height: 1.45}
      dl {margin: 0}
      dt {font-weight: 600; margin-top: 12px}
      dt span {font-weight: 400; opacity: 0.8}
      dd {margin: 1px 0 0}
      .found {border-left: 4px solid #f0a830; padding-left: 8px; margin-left: -12px}
      dd button {border: none; padding: 0; font-weight: inherit; text-decoration: underline;
        color: inherit; border-radius: 0}
      a {color: inherit; margin-left: 6px}
      @media (max-width: 599.95px) {
        .open {padding: 0; width: 24px; height: 34px; font-size: 18px}
        .open::before {content: '?'}
        .top > button {margin-left: auto}
        input {order: 1; flex-basis: 100%}
      }`

    const make = (tag, text = '', name = '') => {
      const made = document.createElement(tag)
      made.textContent = text
      if (name) made.className = name
      return made
    }

    export function render({model}) {
      const labels = model.labels
      const box = document.createElement('div'), dialog = make('dialog')
      const opener = make('button', '', 'open'), search = make('input')
      const list = make('div', '', 'list'), none = make('p', labels.none)
      opener.type = 'button'
      opener.title = labels.open
      opener.setAttribute('aria-label', labels.open)
      opener.setAttribute('aria-haspopup', 'dialog')
      dialog.setAttribute('aria-label', labels.open)
      search.type = 'text'            // Escape would empty a search before it closes the dialog
      search.setAttribute('role', 'searchbox')
      search.placeholder = labels.search
      search.setAttribute('aria-label', labels.search)
      none.setAttribute('role', 'status')
      list.tabIndex = 0                 // keys scroll it
      list.setAttribute('aria-label', labels.open)
      list.setAttribute('role', 'region')
      let rows = null

      const show = wanted => {
        const asked = wanted.trim().toLowerCase()
        for (const row of rows) row.block.hidden = !row.text.includes(asked)
        const rank = row => row.terms.some(term => term.startsWith(asked)) ? 0 : 1
        // Words that begin so come first; then those that are explained by it.
        const shown = [...rows].sort((one, two) => asked ? rank(one) - rank(two) : 0)
        list.firstChild.append(...shown.map(row => row.block))
        none.hidden = rows.some(row => !row.block.hidden)
        list.scrollTop = 0
      }
      const go = term => {
        search.value = ''
        show('')
        for (const row of rows) row.block.classList.toggle('found', row.first === term)
        const row = rows.find(one => one.first === term)
        if (row) row.block.scrollIntoView({block: 'center'})
      }
      const fill = () => {              // not before it is asked for: every page has it
        if (rows !== null) return
        const all = make('dl')
        rows = model.entries.map(({terms, parts, page}) => {
          const block = make('div'), head = make('dt', terms[0]), body = make('dd')
          if (terms.length > 1) head.append(make('span', ', ' + terms.slice(1).join(', ')))
          for (const [text, term] of parts) {
            if (!term) { body.append(text); continue }
            const link = make('button', text)
            link.type = 'button'
            link.addEventListener('click', () => go(term))
            body.append(link)
          }
          if (page) {
            const link = make('a', labels.more)
            Object.assign(link, {href: page, target: '_blank', rel: 'noopener'})
            body.append(link)
          }
          block.append(head, body)
          all.append(block)
          const lower = terms.map(term => term.toLowerCase())
          return {block, first: terms[0], terms: lower,
                  text: [...lower, body.textContent.toLowerCase()].join(' ')}
        })
        list.append(all, none)
      }
      const open = term => {
        fill()
        if (!dialog.open) dialog.showModal()
        go(term)
        if (!term) search.focus()
      }
      const clicked = event => {
        const word = event.composedPath()[0]?.dataset?.word
        if (word) open(word)
      }

      const close = make('button', labels.close)
      close.type = 'button'
      opener.addEventListener('click', () => open(''))
      close.addEventListener('click', () => dialog.close())
      dialog.addEventListener('click', event => {       // beside it
        if (event.composedPath()[0] === dialog) dialog.close()
      })
      search.addEventListener('input', () => {
        for (const row of rows) row.block.classList.remove('found')
        show(search.value)
      })
      // Its keys are no keys of the page, where Escape stops work and letters change modes.
      dialog.addEventListener('keydown', event => event.stopPropagation())
      window.addEventListener('click', clicked)
      model.on('remove', () => window.removeEventListener('click', clicked))

      const top = make('div', '', 'top'), all = make('div', '', 'all')
      top.append(make('h2', labels.open), search, close)
      all.append(top, list)
      dialog.append(all)
      box.append(make('style', STYLE), opener, dialog)
      return box
    }
    """

    def __init__(self, **params):
        super().__init__(entries=words.shown(), **params)
