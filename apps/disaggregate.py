"""Disaggregate: choose data, granularity and model; see the fine map and its calibration."""

from workbench.ui import lang, shell
from workbench.ui.state import State
from workbench.ui.store import Store
from workbench.ui.views.charts import Charts
from workbench.ui.views.controls import Controls
from workbench.ui.views.maps import Maps
from workbench.ui.views.report import Report
from workbench.ui.views.status import Status

shell.prepare()
state = State()
shell.follow_url(state)
store = Store(state, hop=shell.hop())
shell.on_close(store.close)
store.refresh()
views = [Status(store), Maps(store), Charts(store), Report(store)]
shell.page(lang.TITLE, [Controls(store)], views).servable()
