"""Datasets that load by name, bagged: ``load("korea", level="province")``.

Those of several sources are trees of bagged datasets: ``load_sources("marylebone", hours=5)``.
"""

from workbench.checks.moved import moved
from workbench.datasets.registry import datasets, load, load_sources, options

__all__ = ["datasets", "load", "load_sources", "options"]

__getattr__ = moved(__name__, {
    "source_datasets": "workbench.datasets.datasets(several=True)",
    "source_options": "workbench.datasets.options",
})
