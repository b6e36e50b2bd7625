"""Conditional and deconditional mean operators over Gram matrices, and how fast they converge.

>>> import numpy as np
>>> from workbench.deconditioning import ConditionalMean
>>> bags = np.array([0, 0, 0, 1])                     # four points in two bags
>>> operator = ConditionalMean(np.eye(2), bags, ridge=0.25)
>>> operator.bag_weights(np.eye(2)).round(2).tolist()     # 1 / (1 + N λ / n_j)
[[0.75, 0.0], [0.0, 0.5]]
"""

from workbench.deconditioning.conditional import ESTIMATORS, ConditionalMean, bag_means
from workbench.deconditioning.deconditional import DeconditionalMean
from workbench.deconditioning.reconstruction import ReconstructionRisk
from workbench.deconditioning.theorem import Schedule, schedule
from workbench.deconditioning.world import CosineWorld

__all__ = ["ESTIMATORS", "ConditionalMean", "CosineWorld", "DeconditionalMean",
           "ReconstructionRisk", "Schedule", "bag_means", "schedule"]
