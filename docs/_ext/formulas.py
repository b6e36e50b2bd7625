"""Formulas without network: the browser turns LaTeX into MathML with the KaTeX that Panel ships.

MathML needs no fonts of its own, so that one script is all that is copied.
"""

from __future__ import annotations

import shutil
from importlib.util import find_spec
from pathlib import Path

from docutils import nodes

RENDER = """document.addEventListener("DOMContentLoaded", () => {
  for (const node of document.querySelectorAll(".math")) {
    katex.render(node.textContent, node, {
      output: "mathml", throwOnError: false, displayMode: node.tagName === "DIV"});
  }
});
"""


def katex() -> Path:
    """The script of KaTeX inside the installed Panel."""
    bundled = Path(find_spec("panel").origin).parent / "dist" / "bundled" / "katex"
    return next(bundled.glob("katex@*/dist/katex.min.js"))


def _inline(writer, node):
    writer.body.append(writer.starttag(node, "span", "", CLASS="math notranslate"))
    writer.body.append(f"{writer.encode(node.astext())}</span>")
    raise nodes.SkipNode


def _block(writer, node):
    writer.body.append(writer.starttag(node, "div", "", CLASS="math notranslate"))
    writer.body.append(f"{writer.encode(node.astext())}</div>\n")
    raise nodes.SkipNode


def _scripts(app, exception):
    if exception is None and app.builder.format == "html":
        folder = Path(app.outdir) / "_static"
        shutil.copyfile(katex(), folder / "katex.min.js")
        (folder / "formulas.js").write_text(RENDER, encoding="utf-8")


def _only_where_needed(app, page, template, context, doctree):
    if doctree is not None and any(
            doctree.findall(lambda node: isinstance(node, nodes.math | nodes.math_block))):
        app.add_js_file("katex.min.js")
        app.add_js_file("formulas.js")


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("katex", (_inline, None), (_block, None))
    app.config.html_math_renderer = "katex"
    app.connect("html-page-context", _only_where_needed)
    app.connect("build-finished", _scripts)
    return {"parallel_read_safe": True}
