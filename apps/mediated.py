"""Mediated downscaling: coarse targets and bags of fine pixels that do not lie together."""

import panel as pn

from workbench.ui import shell
from workbench.ui.mediated import words
from workbench.ui.mediated.state import State
from workbench.ui.mediated.store import Store
from workbench.ui.mediated.views.charts import Charts
from workbench.ui.mediated.views.controls import Controls
from workbench.ui.mediated.views.frame import Readout, Toggle
from workbench.ui.mediated.views.maps import Maps

shell.prepare()
state = State()
shell.follow_url(state)
store = Store(state, hop=shell.hop(), together=pn.io.hold)
shell.on_close(store.close)
store.refresh()
views = [Toggle(store), Readout(store), Maps(store), Charts(store)]
shell.page(words.TITLE, [Controls(store)], views).servable()
