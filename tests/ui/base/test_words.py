"""What every app says on its first page and its tabs: words, and no names of the program."""

import re
from html import unescape

import numpy as np
import panel as pn
import pytest
from bokeh.models import FactorRange, Legend
from bokeh.plotting import figure

from tests.ui.base.test_glossary import unexplained
from tests.ui.kit import settled
from workbench.ui.base.live_text import LiveText
from workbench.ui.compare.state import SOURCES
from workbench.ui.compare.views.page import APP as COMPARE
from workbench.ui.disaggregate import engine
from workbench.ui.disaggregate.views.page import APP as DISAGGREGATE
from workbench.ui.granularity.views.page import APP as GRANULARITY
from workbench.ui.mediated.views.page import APP as MEDIATED
from workbench.ui.sources.views.page import APP as SOURCE_APP

pytestmark = [pytest.mark.usefixtures("one_thread"), pytest.mark.filterwarnings(
    "ignore:Both 'variant':PendingDeprecationWarning")]         # of the widget

#: Values and names of the program, tags shown as text, hyphens for minus signs.
WRONG = {
    "value": re.compile(r"\b(nan|NaN|NaT|inf|None(?! here)|True(?! rate)|False)\b"),
    "name": re.compile(r"\b[a-z]+_[a-z_]+\b|\b[a-z]+[a-z0-9]*\.[a-z]+_?[a-z]*\("),
    "repr": re.compile(r"object at 0x|<class|\barray\(|dtype|\{'|\['|\(\)|[{}]"),
    "tag": re.compile(r"</?(p|b|i|div|span|br)\b"),
    "minus": re.compile(r"(?<![\w–−-])-\d"),
}
PAGES = [
    (COMPARE, {}), (COMPARE, {"tab": "engines"}), (COMPARE, {"dataset": "us"}),
    *[(COMPARE, {"tab": "papers", "paper": paper}) for paper in SOURCES.values()],
    (GRANULARITY, {}), (GRANULARITY, {"tab": "map"}), (GRANULARITY, {"tab": "map", "second": 0.5}),
    (GRANULARITY, {"lecture": True, "tab": "map", "shape": "strips"}),
    (MEDIATED, {"source": "made"}), (SOURCE_APP, {}), (SOURCE_APP, {"tab": "city"}),
]


def texts(view) -> set[str]:
    """All that can be read of a view, of what is hidden too: it may be shown next."""
    found = set()
    for part in view.__panel__().select():
        if isinstance(part, pn.pane.Bokeh):
            found |= drawn(part.object)
        elif isinstance(part, LiveText):
            found.add(part.text)
        else:
            for name in ("object", "label", "title"):
                value = getattr(part, name, None)
                if isinstance(value, str):
                    found.add(unescape(re.sub(r"<[^>]*>", " ", value)) if name == "object"
                              else value)
            if isinstance(getattr(part, "options", None), dict):
                found |= set(map(str, part.options))
    return {text.strip() for text in found if text.strip()}


def drawn(plot: figure) -> set[str]:
    """Titles, axes, legends and categories of a figure."""
    found = {plot.title.text if plot.title else ""}
    for part in (*plot.above, *plot.below, *plot.left, *plot.right, *plot.center):
        found |= {str(getattr(part, name, None) or "") for name in ("axis_label", "title")}
        if isinstance(part, Legend):
            found |= {str(item.label.value) for item in part.items}
    for ends in (plot.x_range, plot.y_range):
        found |= set(map(str, ends.factors)) if isinstance(ends, FactorRange) else set()
    return found


def wrong(found: set[str]) -> list[tuple[str, str]]:
    """What is no word for people, with the kind of fault."""
    return [(kind, text) for text in sorted(found) for kind, fault in WRONG.items()
            if fault.search(text)]


def test_what_is_no_word_is_found():
    said = {"nan %", "None", "rate of True", "bag_geometry", "wb.load(", "{'a': 1}", "<p>ready</p>",
            "log evidence -26.9"}
    assert {text for _, text in wrong(said)} == said
    assert wrong({"None here: Auto fits several kernels", "True rate", "5-fold", "−26.9",
                  "2009-11-19", "10–20", "Matérn 3/2", "R-package e.g. this"}) == []


@pytest.mark.slow
@pytest.mark.parametrize("app, given", PAGES, ids=lambda part: getattr(
    part, "title", "-".join(map(str, part.values())) if isinstance(part, dict) else ""))
def test_pages_say_words_and_no_names_of_the_program(app, given):
    state = app.state()
    assert state.read("&".join(f"{name}={'yes' if value is True else value}"
                               for name, value in given.items())) == []
    store = app.store(state)
    store.refresh()
    views = [app.controls(store), *(view(store) for view in app.views)]
    settled(store, 200)
    found = set().union(*map(texts, views))
    assert len(found) > 25
    assert wrong(found) == []
    # The papers' tables name methods and columns as the papers do.
    assert given.get("tab") == "papers" or unexplained(found) == set()
    store.leave()


@pytest.mark.slow
def test_the_page_of_a_map_says_words_and_no_names_of_the_program():
    state = DISAGGREGATE.state()
    assert state.read("dataset=swiss-roll&granularity=10&model=vbagg&kernel=linear") == []
    store = DISAGGREGATE.store(state)
    answer = engine.quick(state.spec())
    store.param.update(scene=engine.scene(state.spec()), answer=answer,
                       exceedance=np.zeros(answer.mean.size), scores=engine.scores(answer))
    views = [DISAGGREGATE.controls(store), *(view(store) for view in DISAGGREGATE.views)]
    found = set().union(*map(texts, views))
    assert len(found) > 60 and wrong(found) == [] and unexplained(found) == set()
    store.close()
