"""Files without content, of which a field of files says nothing."""

from __future__ import annotations

from collections.abc import Callable

import panel as pn


class Emptied(pn.custom.JSComponent):
    """Hears in the browser of files without content.

    A field of files sends a file in pieces, and of one without content no piece: it would vanish
    without a word. What is heard here is told before the field sends the other files.

    Parameters
    ----------
    told : callable
        Given the names of such files whenever some are chosen or dropped.
    """

    _esm = """
    const FIELD = 'input[type=file][multiple]'
    export function render({model}) {
      const tell = files => {
        const names = [...files ?? []].filter(file => file.size === 0).map(file => file.name)
        if (names.length) model.send_msg(names)
      }
      const chosen = event => {         // a change does not leave the shadow root it happens in
        const [field] = event.composedPath()
        if (field.matches?.(FIELD)) tell(field.files)
      }
      const dropped = event => {
        const over = event.composedPath().some(
          one => one.matches?.('label') && one.querySelector(FIELD))
        if (over) tell(event.dataTransfer?.files)
      }
      window.addEventListener('input', chosen, true)
      window.addEventListener('drop', dropped, true)
      model.on('remove', () => {
        window.removeEventListener('input', chosen, true)
        window.removeEventListener('drop', dropped, true)
      })
      return document.createElement('div')
    }
    """

    def __init__(self, told: Callable[[list[str]], None], **params):
        super().__init__(**params)
        self._told = told

    def _handle_msg(self, msg: list[str]) -> None:
        self._told([str(name) for name in msg])
