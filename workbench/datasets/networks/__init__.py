"""Datasets of several sources: ``load_sources("biased-sources")`` gives an `xr.DataTree`."""

from workbench.datasets.networks.city_map import city_map, city_outlines
from workbench.datasets.networks.city_tables import sources_from_tables
from workbench.datasets.networks.london_air import sources_from_london_air
from workbench.datasets.networks.registry import load_sources, source_datasets, source_options
from workbench.datasets.networks.series import sources_from_series
from workbench.datasets.networks.tree import check_sources

__all__ = ["check_sources", "city_map", "city_outlines", "load_sources", "source_datasets",
           "source_options", "sources_from_london_air", "sources_from_series",
           "sources_from_tables"]
