"""The documentation site: `make docs`, or `sphinx-build -W -n docs build/docs`.

Nothing is fetched: no intersphinx, no fonts or scripts of other machines, no notebook is executed.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
sys.path.insert(0, str(HERE.parent))

PROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]

project = "aggregate-workbench"
author = "The aggregate-workbench authors"
copyright = f"2026, {author}"
version = release = PROJECT["version"]

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "generated",        # docs/_ext: copies of notebooks, the lists of public names
    "stored",           # tables of data/results
    "drawn",            # charts from the functions of the package
    "status",           # the reproduction status, from the same files
    "words",            # the glossary of the apps
    "formulas",         # LaTeX to MathML in the browser, with a script that is shipped
]
root_doc = "index"
exclude_patterns = ["_ext", "**/.ipynb_checkpoints"]
nitpicky = True
# Modules below these are private and have no page; models are known by their public names.
nitpick_ignore_regex = [("py:.*", r"workbench\.(gp|labelled|pipeline|papers)\..*")]
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "attrs_inline"]
myst_heading_anchors = 4
nb_execution_mode = "off"
nb_merge_streams = True
# Notebooks quote terminal output and tables of their own, which no lexer has to understand.
suppress_warnings = ["misc.highlighting_failure", "myst.header", "mystnb.unknown_mime_type"]

autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"          # types stand in the sections of the docstrings, with units
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "aggregate-workbench"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}
smartquotes = False                 # options and code are quoted as they are typed
html_theme_options = {
    "logo": {"text": "aggregate-workbench"},
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"start": [], "data": [], "changelog": [], "contributing": [], "cite": []}


def _bars(app, what, name, obj, options, lines):
    """Keep |x| in docstrings a norm: reStructuredText takes it for a substitution."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = line.split("``")
            parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
            lines[number] = "``".join(parts)


def setup(app):
    """Connect before numpydoc reads the docstrings."""
    app.connect("autodoc-process-docstring", _bars, priority=100)
