"""Granularity: an instrument for a lecture on how coarse summaries may be."""

from workbench.ui.base.shell import show
from workbench.ui.granularity.views.page import APP

show(APP)
