"""The directive ``words``: the glossary of the apps, as that of the documentation.

```{words}
```
"""

from __future__ import annotations

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList

from workbench.ui.base import words


class Words(Directive):
    """All entries, parsed as if they were written where the directive stands."""

    def run(self) -> list[nodes.Node]:
        """A glossary."""
        self.state.document.settings.env.note_dependency(str(words.FILE))
        box = nodes.container(classes=["words"])
        self.state.nested_parse(StringList(words.as_markdown(), str(words.FILE)), 0, box)
        return box.children


def setup(app):
    """Register the directive."""
    app.add_directive("words", Words)
    return {"parallel_read_safe": True}
