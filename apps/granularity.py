"""Granularity: an instrument for a lecture on how coarse summaries may be.

Question: How coarse may summaries be before what matters is lost?
For: lectures, and whoever plans what to publish.
Example: ?tab=map on a map
"""

from workbench.ui.base.shell import show
from workbench.ui.granularity.views.page import APP

show(APP, __doc__)
