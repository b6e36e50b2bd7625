"""Baselines that any model must beat: splits, regressions, classes, kriging and interpolation.

All but `bilinear_lapse` have ``fit(ds)``, which learns from totals alone.
"""

from workbench.evaluation.baselines.bilinear import bilinear_lapse
from workbench.evaluation.baselines.dasymetric import DasymetricClasses
from workbench.evaluation.baselines.fit import BaselineFit
from workbench.evaluation.baselines.given_totals import GivenTotals
from workbench.evaluation.baselines.glm import TotalsGLM
from workbench.evaluation.baselines.kriging import PoissonKriging
from workbench.evaluation.baselines.own_bag import OwnBag
from workbench.evaluation.baselines.simple import GLM, SPLIT, simple_maps
from workbench.evaluation.baselines.split import PopulationSplit

__all__ = ["GLM", "SPLIT", "BaselineFit", "DasymetricClasses", "GivenTotals", "OwnBag",
           "PoissonKriging", "PopulationSplit", "TotalsGLM", "bilinear_lapse", "simple_maps"]
