"""Fine maps from coarse counts: Gaussian processes on aggregates, with believable uncertainty.

>>> import workbench as wb
>>> ds = wb.load("swiss-roll", n_bags=20)
>>> fit = wb.VBAgg(kernel="rbf", inducing=20, max_steps=5).fit(ds)
>>> fit.at(ds).mean.sizes["individual"] == ds.sizes["individual"]
True
"""

from __future__ import annotations

import importlib
import os
import pkgutil

# Before torch is loaded: its threads that wait sleep instead of spinning. Most matrices here are
# small, and on two cores that others use, too, spinning makes a fit of 4 seconds one of 32
# (benchmarks/busy.py). A setting of the user's own stays.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from workbench.gp.models.registry import AUTO, ENTRIES

# Names are imported on first use: the command line answers without torch, a model loads its own
# family alone, and the geospatial and plotting packages stay optional. ``__init__.pyi``, written by
# ``make signatures``, lists the same names for editors and type checkers.
_HOME = {entry.cls: "labelled" for entry in (AUTO, *ENTRIES.values())} | {
    "ConditionalMean": "labelled",
    "Fit": "labelled",
    "bag_in_parts": "labelled",
    "condense": "labelled",
    "impute": "labelled",
    "load_fit": "labelled",
    "make_model": "labelled",
    "tune": "labelled",
    "Cancelled": "checks",
    "checkpoints": "gp.optimisation.checkpoint",
    "InputError": "checks",
    "AggregateSpec": "pipeline.spec",
    "CombineSpec": "pipeline.spec",
    "EnginesSpec": "pipeline.spec",
    "MediateSpec": "pipeline.spec",
    "PredictSpec": "pipeline.spec",
    "RehearseSpec": "pipeline.spec",
    "SmoothSpec": "pipeline.spec",
    "Spec": "pipeline.spec",
    "run": "pipeline.run",
    "load": "datasets",
    "load_sources": "datasets",
    "sources_from_london_air": "datasets.several_sources",
    "sources_from_series": "datasets.several_sources",
    "sources_from_tables": "datasets.several_sources",
    "city_map": "datasets.several_sources",
    "city_outlines": "datasets.several_sources",
    "add_mediators": "bagging",
    "bag_along": "bagging",
    "bag_blocks": "bagging",
    "bag_boxes": "bagging",
    "bag_grid": "bagging",
    "from_summaries": "bagging",
    "grid_places": "bagging",
    "merge": "bagging",
    "merge_to": "bagging",
    "move_to_centres": "bagging",
    "as_singleton_bags": "bagging",
    "separate": "bagging",
    "summarise": "bagging",
    "targets_from_grid": "bagging",
    "targets_from_table": "bagging",
    "unmatch": "bagging",
    "aggregate": "geo",
    "bag_children": "geo",
    "at_period": "geo",
    "in_period": "geo",
    "bag_points": "geo",
    "bag_polygons": "geo",
    "child_places": "geo",
    "distance_to": "geo",
    "grid_areas": "geo",
    "open_rasters": "geo",
    "polygon_places": "geo",
    "raster_places": "geo",
    "slope": "geo",
    "read": "geo",
    "to_raster": "geo",
    "with_weight": "geo",
    "write": "geo",
    "write_blocks": "geo",
    "Check": "preflight",
    "check": "preflight",
    "compare": "comparison",
    "compare_engines": "comparison",
    "cross_validate": "comparison",
    "evaluate": "comparison",
    "rehearse": "comparison",
    "notebook": "reporting",
    "report": "reporting",
    "explain": "evaluation",
    "pin_to_totals": "evaluation",
    "rescale_to_totals": "evaluation",
    "ranks": "evaluation",
    "recover": "evaluation",
    "subset": "evaluation",
    "table": "evaluation",
}
__all__ = sorted(_HOME)
# So that ``wb.bagging.NAME`` needs no import of its own.
_FOLDERS = frozenset(one.name for one in pkgutil.iter_modules(__path__) if one.name[0] != "_")


def __getattr__(name: str):
    if name in _FOLDERS:
        return importlib.import_module(f"workbench.{name}")     # which sets the attribute, too
    if name not in _HOME:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"workbench.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_FOLDERS})
