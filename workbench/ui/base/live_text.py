"""Text that screen readers speak when it changes."""

from __future__ import annotations

import panel as pn
import param


class LiveText(pn.custom.JSComponent):
    """Text that screen readers speak when it changes, shown as it is.

    Alerts and typography of panel-material-ui take their text for Markdown and HTML, so that the
    name of a file or a column would become part of the page.
    """

    text = param.String()
    role = param.String("status")

    _esm = """
    export function render({model, el}) {
      const line = document.createElement('div')
      line.setAttribute('role', model.role)
      line.setAttribute('aria-live', model.role === 'alert' ? 'assertive' : 'polite')
      const show = () => { line.textContent = model.text }
      model.on('text', show)
      show()
      return line
    }
    """
