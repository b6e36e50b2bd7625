"""All models by name: the command line, apps, contract tests and tables read this."""

from __future__ import annotations

from workbench.baselines.bag_constant import BagConstant
from workbench.baselines.models import BagPixel, NeuralNetwork, Nystrom
from workbench.checks import choose
from workbench.models.bagged_baselines import CentroidGP, IndependentBagsGP
from workbench.models.bagged_gp import AggregatedGP
from workbench.models.cmp import CMP, ShrinkageCMP
from workbench.models.quasi_gp import QuasiLikelihoodGP
from workbench.models.var_cmp import VarCMP
from workbench.models.vbagg import CentrePointGP, Constant, VBAgg
from workbench.multisource.gprn import MRGPRN, CentrePointGPRN
from workbench.multisource.mixed import MRVBAgg
from workbench.multisource.mr_gp import MRGP
from workbench.multisource.tree.cascade import MRCascade
from workbench.multisource.tree.mr_dgp import MRDGP

MODELS = {model.name: model for model in (
    Constant, BagConstant, BagPixel, CentrePointGP, NeuralNetwork, Nystrom, AggregatedGP,
    CentroidGP, IndependentBagsGP, QuasiLikelihoodGP, CMP, ShrinkageCMP, VarCMP, VBAgg,
    MRGP, MRVBAgg, CentrePointGPRN, MRGPRN, MRCascade,
    MRDGP)}


def model_named(name: str) -> type:
    """The model class of that name; the nearest is suggested for an unknown one."""
    return MODELS[choose("model", name, MODELS)]
