"""A page that is built while others are open can be read by its browser."""

import subprocess
import sys

import panel as pn
from bokeh.document import Document

from workbench.ui.base.arrival import define_all


class Kind(pn.custom.JSComponent):
    """A part of a page that came to be while another page was connected."""

    _esm = "export function render() { return null }"


def told(kind):
    """Definitions that a model brings along, of which a new page has had all before."""
    return kind().get_root(Document())._defs


def test_a_kind_of_parts_is_defined_once_on_a_page_built_after_it():
    Kind._data_model__initialized = False       # as Panel marks it then
    assert told(Kind) == [Kind._data_model]     # a page cannot read it, and stays empty
    Kind._data_model__initialized = False
    define_all()
    assert told(Kind) == []


def test_what_a_browser_sends_back_is_no_line_in_the_log_of_the_server():
    done = subprocess.run([sys.executable, "-W", "default", "-c", """
import workbench.ui.base.arrival
from bokeh.util.warnings import BokehUserWarning, warn
warn("reference already known 'p1510'", BokehUserWarning)
warn("something else", BokehUserWarning)"""], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "something else" in done.stderr and "already known" not in done.stderr
