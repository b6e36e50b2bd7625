"""All models as users see them, by registry name."""

from __future__ import annotations

from workbench.checks import choose
from workbench.labelled.auto import Auto
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

_CLASSES = {cls.torch_model.name: cls for cls in (
    Auto, Constant, BagConstant, BagPixel, CentrePointGP, NeuralNetwork, Nystrom, AggregatedGP,
    CentroidGP, IndependentBagsGP, QuasiLikelihoodGP, CMP, ShrinkageCMP, VarCMP, VBAgg,
    MRGP, MRVBAgg, MRGPRN, CentrePointGPRN, MRCascade, MRDGP)}


def models() -> dict[str, type[LabelledModel]]:
    """All models by registry name."""
    return dict(_CLASSES)


def make_model(name: str, **options) -> LabelledModel:
    """A model by registry name; an unknown name suggests the nearest."""
    return _CLASSES[choose("model", name, _CLASSES)](**options)
