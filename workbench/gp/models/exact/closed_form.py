"""Exact conditioning on covariances that are known: what a slider moves is answered at once.

The models condition through kernels, hyperparameters and bags, in torch. Where covariances are
known already, because distances are kept, one factorisation of them gives the same posterior; in
numpy, so that a page can be drawn before torch is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, lapack, solve_triangular

from workbench.checks import ApproximationWarning, ConvergenceWarning, warn

_JITTER, _MOST = 1e-14, 1e-8        # of each entry of the diagonal: at first, and at most
_ROUNDING = 1e-7                    # of a prior variance: what may be missing
_NEWTON_STEPS, _TOLERANCE, _LEAP, _RANGE = 200, 1e-8, 2.0, 20.0


@dataclass(frozen=True, eq=False)
class Posterior:
    """A zero-mean Gaussian process given observations that are, or are taken for, Normal.

    Parameters
    ----------
    root : array (B, B)
        Lower Cholesky factor of the covariance of the observations.
    coefficients : array (B,)
        Inverse of that covariance times the residual.
    residual : array (B,)
        Observations less their prior mean.
    """

    root: np.ndarray
    coefficients: np.ndarray
    residual: np.ndarray

    def mean(self, cross: np.ndarray) -> np.ndarray:
        """Posterior mean (n,), from the prior covariance with the observations (n, B)."""
        return cross @ self.coefficients

    def std(self, cross: np.ndarray, prior: np.ndarray | float) -> np.ndarray:
        """Posterior standard deviation (n,).

        Parameters
        ----------
        cross : array (n, B)
            Prior covariance with the observations.
        prior : array (n,) or float
            Prior variance.
        """
        white = solve_triangular(self.root, cross.T, lower=True, check_finite=False)
        return posterior_std(prior, np.einsum("ij,ij->j", white, white))

    def through(self, weights: np.ndarray, cross: np.ndarray, prior: np.ndarray
                ) -> tuple[np.ndarray, np.ndarray]:
        """Posterior mean and standard deviation (n,) where observations are sums over bags.

        Parameters
        ----------
        weights : array (A, B)
            Weights of the bags in each observation.
        cross : array (n, A)
            Prior covariance with the means over bags.
        prior : array (n,)
            Prior variance.
        """
        # Few columns are solved for, not one for every place.
        white = cross @ solve_triangular(self.root, weights.T, lower=True, check_finite=False).T
        return (cross @ (weights @ self.coefficients),
                posterior_std(prior, np.einsum("ij,ij->i", white, white)))


@dataclass(frozen=True, eq=False)
class NormalPosterior(Posterior):
    """A zero-mean Gaussian process given Normal observations, whose density is known."""

    @property
    def evidence(self) -> float:
        """Log density of the observations."""
        return float(-0.5 * (self.residual @ self.coefficients
                             + self.residual.size * np.log(2 * np.pi))
                     - np.log(np.diagonal(self.root)).sum())


def condition(covariance: np.ndarray, residual: np.ndarray) -> NormalPosterior:
    """Condition a zero-mean Gaussian process on Normal observations.

    Parameters
    ----------
    covariance : array (B, B)
        Of the observations, their noise included.
    residual : array (B,)
        Observations less their prior mean.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the covariance is indefinite.

    Examples
    --------
    >>> import numpy as np
    >>> from workbench.gp.models.exact.closed_form import condition
    >>> found = condition(np.array([[1.25]]), np.array([1.0]))
    >>> found.mean(np.array([[1.0]])), found.std(np.array([[1.0]]), 1.0).round(3)
    (array([0.8]), array([0.447]))
    """
    scale, jitter = np.diagonal(covariance), _JITTER
    while jitter <= _MOST:
        # The transpose is the same matrix in LAPACK's own order.
        jittered = covariance.T.copy(order="F")
        jittered.flat[:: len(jittered) + 1] += jitter * scale
        root, failed = lapack.dpotrf(jittered, lower=1, clean=1, overwrite_a=1)
        if not failed:
            coefficients = cho_solve((root, True), residual, check_finite=False)
            return NormalPosterior(root, coefficients, residual)
        jitter *= 10
    raise np.linalg.LinAlgError("the covariance of the observations is indefinite; add noise")


def condition_on_counts(gram: np.ndarray, counts: np.ndarray, constant: float) -> Posterior:
    """Laplace's approximation at the mode of a Gaussian log rate, given Poisson counts.

    At the mode f, the posterior is that of values ``f + (y - exp f) / exp f`` with variances
    ``exp(-f)``; Newton's method finds it by conditioning on them again and again.

    Parameters
    ----------
    gram : array (n, n)
        Prior covariance of the log rate at the counts.
    counts : array (n,)
    constant : float
        Prior mean of the log rate.

    Returns
    -------
    Posterior
        Conditioned at the mode. It has no evidence: the density of the values that stand for the
        counts is not that of the counts, nor Laplace's approximation of it.

    Warns
    -----
    ConvergenceWarning
        If the mode was not found; the posterior is then that at the last step.
    """
    f = np.full(counts.shape, constant)
    for _ in range(_NEWTON_STEPS):
        found = _condition_at(f, gram, counts, constant)
        step = constant + found.mean(gram) - f
        largest = np.abs(step).max()
        if largest < _TOLERANCE:
            return found
        f = f + step * min(1.0, _LEAP / largest)            # no leaps: exp would overflow
    warn(f"the mode of the log rate was not found in {_NEWTON_STEPS} Newton steps (the last moved "
         f"it by up to {largest:.2g}). Likely a count is far from all others, or the lengthscale "
         "is too short: look for such counts, or fix a longer lengthscale", ConvergenceWarning)
    return _condition_at(f, gram, counts, constant)


def _condition_at(f: np.ndarray, gram: np.ndarray, counts: np.ndarray, constant: float
                  ) -> Posterior:
    """The posterior given the Normal values that stand for the counts about the log rate f."""
    rate = np.exp(np.clip(f, -_RANGE, _RANGE))
    found = condition(gram + np.diag(1 / rate), f + (counts - rate) / rate - constant)
    return Posterior(found.root, found.coefficients, found.residual)


def condition_alone(cross: np.ndarray, own: np.ndarray, prior: np.ndarray, residual: np.ndarray,
                    noise: float, bag: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean and standard deviation (n,), and the evidence, where bags are independent a priori.

    Parameters
    ----------
    cross : array (n, B)
        Prior covariance with the means over bags.
    own : array (B,)
        Prior variance of these.
    prior : array (n,)
        Prior variance of the places.
    residual : array (B,)
        Observations less their prior mean.
    noise : float
        Variance of the noise.
    bag : array of int (n,)
        Bag of each place; one of no bag, -1, keeps its prior.
    """
    total, inside = own + noise, bag >= 0
    mine = np.where(inside, np.take_along_axis(cross, np.maximum(bag, 0)[:, None], 1)[:, 0], 0.0)
    evidence = -0.5 * (residual**2 / total + np.log(2 * np.pi * total)).sum()
    return (mine * (residual / total)[bag], posterior_std(prior, mine**2 / total[bag]),
            float(evidence))


def posterior_std(prior: np.ndarray | float, explained: np.ndarray) -> np.ndarray:
    """Square root of what is left of the prior variance; rounding below zero is zero.

    Warns
    -----
    ApproximationWarning
        If more is explained than there is, beyond rounding.
    """
    variance = prior - explained
    beyond = variance < -_ROUNDING * np.abs(prior)
    if np.any(beyond):
        warn(f"{np.sum(beyond)} of {np.size(variance)} posterior variances are negative and set "
             "to zero: the covariance of the observations and that with them do not belong "
             "together, or their noise is too small; fix a larger noise", ApproximationWarning)
    return np.sqrt(np.maximum(variance, 0.0))
