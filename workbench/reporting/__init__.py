"""Reports of a map: one page of HTML, and a notebook that makes the map again."""

from workbench.reporting.notebook import notebook

__all__ = ["notebook"]
