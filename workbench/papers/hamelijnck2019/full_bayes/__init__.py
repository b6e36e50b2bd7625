"""Fully Bayesian posteriors of points and aggregates that share noise, by Markov chain Monte Carlo.

>>> import numpy as np
>>> from workbench.papers.hamelijnck2019.full_bayes import Problem, conditional
>>> means = [[0.5, 0.5]]
>>> twice = Problem([0.0, 9.0], [1.0, 1.0], [1.0], means, "product")
>>> once = Problem([0.0, 9.0], [1.0, 1.0], [1.0], means, "dependent")
>>> logs = np.zeros(4)                       # variance, lengthscale and both noises are one
>>> sd = [np.sqrt(conditional(problem, logs)[1][0, 0]).round(3).item() for problem in (once, twice)]
>>> sd                                       # the product counts the points twice
[0.707, 0.671]
"""

from workbench.papers.hamelijnck2019.full_bayes.chains import Chains
from workbench.papers.hamelijnck2019.full_bayes.evidence import (
           conditional,
           draw_latent,
           evidence_gradient,
           log_evidence,
)
from workbench.papers.hamelijnck2019.full_bayes.figure5 import Figure5, LatentPosterior, figure5
from workbench.papers.hamelijnck2019.full_bayes.problem import LIKELIHOODS, NAMES, Priors, Problem

__all__ = ["LIKELIHOODS", "NAMES", "Chains", "Figure5", "LatentPosterior", "Priors", "Problem",
           "conditional", "draw_latent", "evidence_gradient", "figure5", "log_evidence"]
