"""Reports of a map: one page of HTML, and a notebook that makes the map again."""

from workbench.reporting.notebook import notebook
from workbench.reporting.page import Report, report

__all__ = ["Report", "notebook", "report"]
