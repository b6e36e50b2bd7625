"""Fine maps from coarse counts: Gaussian processes on aggregates, with believable uncertainty.

>>> import workbench as wb
>>> ds = wb.load("swiss-roll", n_bags=20)
>>> fit = wb.VBAgg(kernel="rbf", inducing=20, max_steps=5).fit(ds)
>>> fit.at(ds).mean.sizes["individual"] == ds.sizes["individual"]
True
"""

from __future__ import annotations

import importlib

# Names are imported on first use: the command line answers without torch, and the geospatial and
# plotting packages stay optional.
_HOME = {
    "AggregatedGP": "labelled",
    "Auto": "labelled",
    "BagConstant": "labelled",
    "BagPixel": "labelled",
    "CMP": "labelled",
    "CentrePointGP": "labelled",
    "CentrePointGPRN": "labelled",
    "CentroidGP": "labelled",
    "ConditionalMean": "labelled",
    "Constant": "labelled",
    "Fit": "labelled",
    "IndependentBagsGP": "labelled",
    "MRCascade": "labelled",
    "MRDGP": "labelled",
    "MRGP": "labelled",
    "MRGPRN": "labelled",
    "MRVBAgg": "labelled",
    "NeuralNetwork": "labelled",
    "Nystrom": "labelled",
    "QuasiLikelihoodGP": "labelled",
    "ShrinkageCMP": "labelled",
    "VBAgg": "labelled",
    "VarCMP": "labelled",
    "impute": "labelled",
    "make_model": "labelled",
    "tune": "labelled",
    "Cancelled": "training",
    "InputError": "checks",
    "Spec": "spec",
    "run": "pipeline",
    "load": "datasets",
    "load_sources": "datasets",
    "sources_from_london_air": "datasets.networks",
    "sources_from_series": "datasets.networks",
    "sources_from_tables": "datasets.networks",
    "city_map": "datasets.networks",
    "city_outlines": "datasets.networks",
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
    "separate": "bagging",
    "summarise": "bagging",
    "targets_from_grid": "bagging",
    "targets_from_table": "bagging",
    "unmatch": "bagging",
    "bag_children": "geo",
    "bag_polygons": "geo",
    "read": "geo",
    "to_raster": "geo",
    "write": "geo",
    "compare": "evaluation",
    "cross_validate": "evaluation",
    "evaluate": "evaluation",
    "pin_to_totals": "evaluation",
    "recover": "evaluation",
    "subset": "evaluation",
    "table": "evaluation",
}
__all__ = sorted(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"workbench.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
