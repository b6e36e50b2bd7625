"""The bridge: a bagged Dataset goes in as a Source, a Fit answers with labels and units.

This is the only place that knows both torch and xarray.
"""

from workbench.labelled.fit import Fit
from workbench.labelled.mediated import MediatedFit, impute
from workbench.labelled.models import (
    CMP,
    AggregatedGP,
    BagConstant,
    BagPixel,
    CentrePointGP,
    CentroidGP,
    Constant,
    IndependentBagsGP,
    LabelledModel,
    NeuralNetwork,
    Nystrom,
    QuasiLikelihoodGP,
    ShrinkageCMP,
    VarCMP,
    VBAgg,
    make_model,
    models,
)
from workbench.labelled.predictive import LabelledPredictive
from workbench.labelled.source import data_hash, to_bags, to_source
from workbench.labelled.tuning import tune

__all__ = [
    "CMP", "AggregatedGP", "BagConstant", "BagPixel", "CentrePointGP", "CentroidGP", "Constant",
    "Fit", "IndependentBagsGP", "LabelledModel", "LabelledPredictive", "MediatedFit",
    "NeuralNetwork", "Nystrom", "QuasiLikelihoodGP", "ShrinkageCMP", "VBAgg", "VarCMP",
    "data_hash", "impute", "make_model", "models", "to_bags", "to_source", "tune",
]
