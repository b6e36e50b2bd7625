"""Mediated downscaling: coarse targets and bags of fine pixels that do not lie together."""

from workbench.ui.base.shell import show
from workbench.ui.mediated.views.page import APP

show(APP)
