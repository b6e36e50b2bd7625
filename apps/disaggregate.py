"""Disaggregate: choose data, granularity and model; see the fine map and its calibration."""

from workbench.ui.base.shell import show
from workbench.ui.disaggregate.views.page import APP

show(APP)
