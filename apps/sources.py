"""Sources: several observers of one quantity, some biased or copying; on a line and over a city."""

import panel as pn

from workbench.ui import shell
from workbench.ui.sources import words
from workbench.ui.sources.state import State
from workbench.ui.sources.store import Store
from workbench.ui.sources.views.controls import Controls
from workbench.ui.sources.views.frame import Readout, Stage, Top

shell.prepare()
state = State()
shell.follow_url(state)
store = Store(state, hop=shell.hop(), together=pn.io.hold)
shell.on_close(store.close)
store.refresh()
views = [Top(store), Readout(store), Stage(store)]
shell.page(words.TITLE, [Controls(store)], views).servable()
