"""Datasets that load by name, bagged: ``load("korea", level="province")``.

Those of several sources are trees of bagged datasets: ``load_sources("marylebone", hours=5)``.
"""

from workbench.datasets.networks import load_sources, source_datasets, source_options
from workbench.datasets.registry import datasets, load, options

__all__ = ["datasets", "load", "load_sources", "options", "source_datasets", "source_options"]
