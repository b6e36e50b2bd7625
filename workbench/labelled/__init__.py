"""The bridge: a bagged Dataset goes in as a Source, a Fit answers with labels and units.

This is the only place that knows both torch and xarray.
"""

from workbench.labelled.auto import Auto
from workbench.labelled.auto_fit import AutoFit
from workbench.labelled.conditional_mean import ConditionalMean, ConditionalMeanFit
from workbench.labelled.fit import Fit
from workbench.labelled.mediated import MediatedFit, impute
from workbench.labelled.models import (
    CMP,
    MRDGP,
    MRGP,
    MRGPRN,
    AggregatedGP,
    BagConstant,
    BagPixel,
    CentrePointGP,
    CentrePointGPRN,
    CentroidGP,
    Constant,
    IndependentBagsGP,
    LabelledModel,
    MRCascade,
    MRVBAgg,
    NeuralNetwork,
    Nystrom,
    QuasiLikelihoodGP,
    ShrinkageCMP,
    VarCMP,
    VBAgg,
)
from workbench.labelled.predictive import LabelledPredictive
from workbench.labelled.registry import make_model, models
from workbench.labelled.several import SourcesFit, datasets_of, to_sources
from workbench.labelled.source import data_hash, to_bags, to_source
from workbench.labelled.tuning import tune

__all__ = [
    "AggregatedGP", "Auto", "AutoFit", "BagConstant", "BagPixel", "CMP", "CentrePointGP",
    "CentrePointGPRN", "CentroidGP", "ConditionalMean", "ConditionalMeanFit", "Constant", "Fit",
    "IndependentBagsGP",
    "LabelledModel", "LabelledPredictive", "MRCascade", "MRDGP", "MRGP", "MRGPRN", "MRVBAgg",
    "MediatedFit", "NeuralNetwork", "Nystrom", "QuasiLikelihoodGP", "ShrinkageCMP", "SourcesFit",
    "VBAgg", "VarCMP", "data_hash", "datasets_of", "impute", "make_model", "models", "to_bags",
    "to_source", "to_sources", "tune",
]
