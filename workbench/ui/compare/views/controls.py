"""The sidebar: what is compared; choices without effect are not shown."""

from __future__ import annotations

import panel_material_ui as pmui

from workbench.ui.base.views.controls import column, title, widget
from workbench.ui.base.views.layout import View, stretched
from workbench.ui.base.views.text import note, paragraph
from workbench.ui.compare import messages
from workbench.ui.compare.catalogue import RIVALS
from workbench.ui.compare.state import BETWEEN, MODELS, PAPERS
from workbench.ui.compare.store import Store

LABELS = {"dataset": "Dataset", "test": "Test", "score": "Ranked by", "folds": "Parts",
          "effort": "Effort of auto", "seed": "Seed", "likelihood": "Values", "one": "First",
          "other": "Second", "learnt": "Hyperparameters", "paper": "Source"}
SECTIONS = {MODELS: ("dataset", "test", "score"), BETWEEN: ("likelihood", "one", "other", "learnt"),
            PAPERS: ("paper",)}
MORE = ("folds", "effort", "seed")


class Controls(View):
    """Widgets of a store's state, those of the open tab."""

    def __init__(self, store: Store, **params):
        super().__init__(store, **params)
        state = store.state
        self.widgets = {name: widget(state, name, label, margin=(7, 10, 3, 10))
                        for name, label in LABELS.items()}
        self.switches = {key: pmui.Checkbox.from_param(
            state.param[key], label=rival.name, description=rival.doc, size="small",
            margin=(0, 10)) for key, rival in RIVALS.items()}
        # Around each, what is hidden: a widget that itself was hidden stays light on dark pages.
        self.cells = {name: column(each)
                      for name, each in {**self.widgets, **self.switches}.items()}
        self.about = note(inset=10)
        self.sections = {tab: column(*(self.cells[name] for name in names))
                         for tab, names in SECTIONS.items()}
        self.models = column(title("Models beside the simple map"),
                             *(self.cells[key] for key in RIVALS),
                             *(self.cells[name] for name in MORE))
        self.own = note(messages.OWN_DATA, html=True, inset=10)
        self.sections[MODELS].insert(1, self.own)
        self._panel = stretched(self.about, *self.sections.values(), self.models)
        self.follow(self._shown, *state.names(), of=state)

    def _shown(self, *events) -> None:
        state = self.store.state
        for name, cell in self.cells.items():
            cell.visible = not state.inapplicable(name)
        for tab, section in self.sections.items():
            section.visible = tab == state.tab
        self.models.visible = state.tab == MODELS
        self.about.object = paragraph(messages.ABOUT[state.tab])
