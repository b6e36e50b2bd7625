"""Modes of the hyperparameters' posterior, and proposals that jump between them.

Walks do not cross from mode to mode. Of the data of App. B.1 with seed 1 all four chains of walks
alone stay, under the product likelihood, in a mode of noise 0.8, and no R̂ tells; another, of noise
0.1, has e⁵³ times its mass. So modes are sought from many draws of the prior, and a mixture of
Student's t about them, each weighted by its Laplace mass, proposes where to go whatever the present
place: with its density in the ratio of acceptance the posterior is exact.

References
----------
Tierney 1994, Markov chains for exploring posterior distributions, section 2.3.3 (independence
chains). Hesterberg 1995, Weighted average importance sampling and defensive mixture distributions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, solve_triangular
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp

from workbench.checks import require
from workbench.papers.hamelijnck2019.full_bayes.evidence import evidence_gradient, log_evidence
from workbench.papers.hamelijnck2019.full_bayes.problem import Problem

STARTS = 24
_FARTHEST = 8.0         # of a mode from the prior's median, in logarithms
_SAME = 0.1             # posterior standard deviations below which two ends are one mode
_AT_REST = 0.1          # the same, of the Newton step that is left at a mode
_STEP = 1e-4            # of the finite differences of the gradient
_FREEDOM = 5            # of Student's t: heavier tails than the posterior's about a mode
_EQUAL = 0.1            # share of the proposals that all modes have alike


@dataclass(frozen=True)
class Mode:
    """A mode of the logarithms of the hyperparameters.

    Parameters
    ----------
    place : array (4,)
        Where it is.
    root : array (4, 4)
        Lower factor of the inverse of the negative Hessian there.
    log_mass : float
        Of the Laplace approximation about it, in nats, as `log_evidence` counts them.
    """

    place: np.ndarray
    root: np.ndarray
    log_mass: float

    def white(self, logs: np.ndarray) -> np.ndarray:
        """Steps from the mode (4,) in its standard deviations."""
        return solve_triangular(self.root, logs - self.place, lower=True)


def modes(problem: Problem, seed: int = 0, starts: int = STARTS) -> list[Mode]:
    """Modes that searches from draws of the prior end at, the heaviest first.

    Parameters
    ----------
    problem : Problem
        Data, likelihood and priors.
    seed : int
        Of the draws.
    starts : int
        Number of searches.

    Returns
    -------
    list of Mode
        At least one.

    Raises
    ------
    InputError
        If no search ends where the Hessian is that of a maximum.
    """
    rng, found = np.random.default_rng(seed), []
    middle = np.log(problem.priors.median)
    bounds = list(zip(middle - _FARTHEST, middle + _FARTHEST, strict=True))
    for _ in range(starts):
        start = np.clip(problem.priors.draw(rng), *zip(*bounds, strict=True))
        end = minimize(_loss, start, args=(problem,), jac=True, method="L-BFGS-B", bounds=bounds)
        mode = _mode(problem, end.x)
        if mode and all(np.abs(known.white(mode.place)).max() > _SAME for known in found):
            found.append(mode)
    require(bool(found), f"no mode of the hyperparameters was found from {starts} draws of the "
            "prior; state priors nearer to the data")
    return sorted(found, key=lambda one: -one.log_mass)


def _loss(logs: np.ndarray, problem: Problem) -> tuple[float, np.ndarray]:
    try:
        return -float(log_evidence(problem, logs)), -evidence_gradient(problem, logs)
    except LinAlgError:         # far out, where rounding leaves no covariance: turn back
        return np.inf, np.zeros_like(logs)


def _mode(problem: Problem, place: np.ndarray) -> Mode | None:
    """The mode at the end of a search; None where it is none."""
    try:
        ends = [[evidence_gradient(problem, place + side * _STEP * axis) for side in (1, -1)]
                for axis in np.eye(len(place))]
        slope, density = evidence_gradient(problem, place), log_evidence(problem, place)
    except LinAlgError:
        return None
    curvature = -np.array([(up - down) / (2 * _STEP) for up, down in ends])
    values, axes = np.linalg.eigh((curvature + curvature.T) / 2)
    if values.min() <= 0:
        return None
    root = np.linalg.cholesky((axes / values) @ axes.T)
    if np.linalg.norm(root.T @ slope) > _AT_REST:
        return None
    log_mass = (density - 0.5 * np.log(values).sum() + 0.5 * len(place) * np.log(2 * np.pi))
    return Mode(place, root, float(log_mass))


class JumpProposal:
    """Student's t about every mode, weighted by mass; a tenth of all is shared alike.

    Parameters
    ----------
    modes : list of Mode
        One or more.
    """

    def __init__(self, modes: list[Mode]):
        log_mass = np.array([mode.log_mass for mode in modes])
        share = (1 - _EQUAL) * np.exp(log_mass - logsumexp(log_mass)) + _EQUAL / len(modes)
        self.modes, self.share = modes, share / share.sum()

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """A draw of the logarithms (4,)."""
        mode = self.modes[rng.choice(len(self.modes), p=self.share)]
        white = rng.standard_normal(len(mode.place)) / np.sqrt(rng.chisquare(_FREEDOM) / _FREEDOM)
        return mode.place + mode.root @ white

    def log_density(self, logs: np.ndarray) -> float:
        """Log density of the logarithms (4,), in nats."""
        size = len(logs)
        constant = (gammaln((_FREEDOM + size) / 2) - gammaln(_FREEDOM / 2)
                    - 0.5 * size * np.log(_FREEDOM * np.pi))
        each = [constant - np.log(mode.root.diagonal()).sum()
                - 0.5 * (_FREEDOM + size) * np.log1p(np.sum(mode.white(logs)**2) / _FREEDOM)
                for mode in self.modes]
        return float(logsumexp(each, b=self.share))
