"""Sources: several observers of one quantity, some biased or copying; on a line and over a city.

Question: What do several instruments say together, if some are biased or copies of each other?
For: researchers who combine stations, satellites and models.
Example: ?tab=city over a city
"""

from workbench.ui.base.shell import show
from workbench.ui.sources.views.page import APP

show(APP, __doc__)
