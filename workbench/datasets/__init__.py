"""Datasets that load by name as bagged datasets: ``load("korea", level="province")``."""

from workbench.datasets.registry import datasets, load, options

__all__ = ["datasets", "load", "options"]
