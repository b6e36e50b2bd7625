"""Granularity: an instrument for a lecture on how coarse summaries may be."""

import panel as pn

from workbench.ui import shell
from workbench.ui.granularity import words
from workbench.ui.granularity.state import State
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.views.charts import Charts
from workbench.ui.granularity.views.controls import Controls
from workbench.ui.granularity.views.frame import Readout, Stage, Story

shell.prepare()
state = State()
shell.follow_url(state)
store = Store(state, hop=shell.hop(), together=pn.io.hold)
shell.on_close(store.close)
store.refresh()
views = [Story(store), Readout(store), Stage(store), Charts(store)]
shell.page(words.TITLE, [Controls(store)], views).servable()
