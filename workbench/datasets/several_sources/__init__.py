"""Datasets of several sources, and how tables of the user's become one."""

from workbench.datasets.several_sources.city_map import city_map, city_outlines
from workbench.datasets.several_sources.city_tables import sources_from_tables
from workbench.datasets.several_sources.london_air import sources_from_london_air
from workbench.datasets.several_sources.series import sources_from_series
from workbench.datasets.several_sources.tree import check_sources

__all__ = ["check_sources", "city_map", "city_outlines", "sources_from_london_air",
           "sources_from_series", "sources_from_tables"]
