"""Sources: several observers of one quantity, some biased or copying; on a line and over a city."""

from workbench.ui.base.shell import show
from workbench.ui.sources.views.page import APP

show(APP)
