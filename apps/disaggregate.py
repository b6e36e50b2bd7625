"""Disaggregate: choose data, granularity and model; see the fine map and its calibration.

Question: Where inside my areas are the cases, and how sure is the map?
For: analysts with totals by area.
Example: ?granularity=region 24 regions
Own data: ?step=data Map your own areas
"""

from workbench.ui.base.shell import show
from workbench.ui.disaggregate.views.page import APP

show(APP, __doc__)
