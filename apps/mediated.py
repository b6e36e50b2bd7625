"""Mediated downscaling: coarse targets and bags of fine pixels that do not lie together.

Question: What if covariates and targets belong to different places?
For: researchers who downscale fields.
Example: ?model=s-cmp&side=8&share=0.75 three quarters unmatched
"""

from workbench.ui.base.shell import show
from workbench.ui.mediated.views.page import APP

show(APP, __doc__)
