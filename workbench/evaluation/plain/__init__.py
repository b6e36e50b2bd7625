"""Plain methods that any model must beat: splits, regressions, classes and kriging of totals.

Each has ``fit(ds)``, which learns from totals alone and returns a `PlainFit`.
"""

from workbench.evaluation.plain.dasymetric import DasymetricClasses
from workbench.evaluation.plain.fit import GivenTotals, PlainFit
from workbench.evaluation.plain.glm import TotalsGLM
from workbench.evaluation.plain.kriging import PoissonKriging
from workbench.evaluation.plain.split import PopulationSplit

__all__ = ["DasymetricClasses", "GivenTotals", "PlainFit", "PoissonKriging", "PopulationSplit",
           "TotalsGLM"]
