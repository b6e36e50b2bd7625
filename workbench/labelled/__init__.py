"""The bridge: a bagged Dataset goes in as a Source, a Fit answers with labels and units.

This is the only place that knows both torch and xarray.
"""

from workbench.labelled.fit import Fit
from workbench.labelled.models import (
    AggregatedGP,
    BagConstant,
    BagPixel,
    CentrePointGP,
    Constant,
    LabelledModel,
    NeuralNetwork,
    Nystrom,
    QuasiLikelihoodGP,
    VBAgg,
    make_model,
    models,
)
from workbench.labelled.predictive import LabelledPredictive
from workbench.labelled.source import data_hash, to_bags, to_source
from workbench.labelled.tuning import tune

__all__ = [
    "AggregatedGP", "BagConstant", "BagPixel", "CentrePointGP", "Constant", "Fit", "LabelledModel",
    "LabelledPredictive", "NeuralNetwork", "Nystrom", "QuasiLikelihoodGP", "VBAgg", "data_hash",
    "make_model", "models", "to_bags", "to_source", "tune",
]
