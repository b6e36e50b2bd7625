"""Conditional and deconditional mean operators over Gram matrices, and how fast they converge.

>>> import numpy as np
>>> from workbench.papers.chau2021.theory import GramEstimator
>>> bags = np.array([0, 0, 0, 1])                     # four points in two bags
>>> operator = GramEstimator(np.eye(2), bags, ridge=0.25)
>>> operator.bag_weights(np.eye(2)).round(2).tolist()     # 1 / (1 + N λ / n_j)
[[0.75, 0.0], [0.0, 0.5]]
"""

from workbench.papers.chau2021.theory.conditional import ESTIMATORS, GramEstimator, bag_means
from workbench.papers.chau2021.theory.deconditional import DeconditionalMean
from workbench.papers.chau2021.theory.reconstruction import ReconstructionRisk
from workbench.papers.chau2021.theory.theorem import Schedule, schedule
from workbench.papers.chau2021.theory.world import CosineWorld

__all__ = ["ESTIMATORS", "GramEstimator", "CosineWorld", "DeconditionalMean",
           "ReconstructionRisk", "Schedule", "bag_means", "schedule"]
