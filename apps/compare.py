"""Compare: models, engines, and published results beside ours.

Question: Which model should draw the map, and is it better than a simple one?
For: everyone who has to choose a model, and reviewers of the choice.
Example: ?dataset=korea deaths in Korea
"""

from workbench.ui.base.shell import show
from workbench.ui.compare.views.page import APP

show(APP, __doc__)
