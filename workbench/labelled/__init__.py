"""The bridge: a bagged Dataset goes in as a Source, a Fit answers with labels and units.

This is the only place that knows both torch and xarray. Names are imported on first use, so that a
model loads its own family alone; ``__init__.pyi`` lists them for editors.
"""

from __future__ import annotations

import importlib

from workbench.labelled.classes.registry import PUBLIC, make_model, models, module_of

_HOME = {entry.cls: module_of(entry) for entry in PUBLIC.values()} | {
    "AutoFit": "workbench.labelled.auto_fit",
    "ConditionalMean": "workbench.labelled.conditional_mean",
    "ConditionalMeanFit": "workbench.labelled.conditional_mean",
    "Fit": "workbench.labelled.fit",
    "LabelledModel": "workbench.labelled.classes.base",
    "LabelledPredictive": "workbench.labelled.predictive",
    "MediatedFit": "workbench.labelled.mediated",
    "SourcesFit": "workbench.labelled.several",
    "data_hash": "workbench.labelled.identity",
    "datasets_of": "workbench.labelled.sources",
    "bag_in_parts": "workbench.labelled.in_parts",
    "condense": "workbench.labelled.condensing",
    "impute": "workbench.labelled.mediated",
    "load_fit": "workbench.labelled.classes.loading",
    "to_bags": "workbench.labelled.source",
    "to_source": "workbench.labelled.source",
    "to_sources": "workbench.labelled.sources",
    "tune": "workbench.labelled.tuning",
}
__all__ = ["make_model", "models", *sorted(_HOME)]


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module 'workbench.labelled' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOME[name]), name)
