"""The joint posterior of f and four hyperparameters given points and aggregates that share noise.

    y₁ = f(x) + ε₁,   y₂ = A y₁ + ε₂,   f ~ GP(0, k),   k(x, x') = variance exp(-|x - x'|²/2ℓ²)

The aggregates are of the *noisy* points: y₂ depends on f through y₁ alone. Three likelihoods:

- ``dependent``, p(y₁|f) p(y₂|y₁), the true one (51): given y₁, the aggregates say nothing of f
  and of its noise; the aggregate noise is learnt from y₂ - A y₁ alone;
- ``product``, p(y₁|f) p(y₂|f), takes the two as independent given f (56): each observation is
  counted twice, the posterior is too narrow;
- ``composite``, p(y₁|f)^φ₁ p(y₂|f)^φ₂, weighs the factors of the product (57).

Deviation: the paper's kernel (53) is A exp(-|x - x'|²/l), that is variance = A and ℓ = √(l/2). It
states no prior of hyperparameters; ours are log-normal (`Priors`), densities of logarithms.

References
----------
Hamelijnck et al. 2019, Multi-resolution multi-task Gaussian processes, App. B.1 to B.3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy.linalg
from scipy.spatial.distance import cdist

from workbench.checks import choose, require

NAMES = ("variance", "lengthscale", "point_noise", "aggregate_noise")
LIKELIHOODS = ("dependent", "product", "composite")
JITTER = 1e-8           # of the variance, white: SE covariances of close points are singular


@dataclass(frozen=True)
class Priors:
    """Independent log-normal priors, log θ ~ N(log median, sigma²), weak by default.

    Parameters
    ----------
    median : tuple of float (4,)
        Medians of the kernel's variance (values²), its lengthscale (units of x), the noise of
        points and that of aggregates (standard deviations, values). The defaults suit values and
        inputs of order one to ten: state your own elsewhere.
    sigma : tuple of float (4,)
        Standard deviations of the logarithms; 1.5: 95 % within a factor of 19 of the median.

    Raises
    ------
    InputError
        If there are not four of each, positive and finite.
    """

    median: tuple[float, ...] = (10.0, 1.0, 0.5, 0.5)
    sigma: tuple[float, ...] = (1.5, 1.0, 1.5, 1.5)

    def __post_init__(self) -> None:
        for name in ("median", "sigma"):
            values = np.asarray(getattr(self, name), dtype=float)
            require(values.shape == (len(NAMES),) and bool(np.all(np.isfinite(values)))
                    and bool(np.all(values > 0)),
                    f"expected {name} of the priors as four positive numbers, in the order "
                    f"{', '.join(NAMES)}; got {getattr(self, name)}")

    def log_density(self, logs, xp=np):
        """Log density of the logarithms (4,), in nats; ``xp`` is numpy or a module like it."""
        sigma = np.asarray(self.sigma)
        z = (logs - np.log(self.median)) / sigma
        return xp.sum(-0.5 * z**2 - np.log(sigma * np.sqrt(2 * np.pi)))

    def gradient(self, logs: np.ndarray) -> np.ndarray:
        """Gradient of the log density (4,)."""
        return (np.log(self.median) - logs) / np.square(self.sigma)

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """A draw of the logarithms (4,)."""
        return rng.normal(np.log(self.median), self.sigma)


@dataclass(frozen=True)
class Problem:
    """Points, aggregates, and the likelihood assumed for them.

    Hyperparameters travel as the vector ``logs`` (4,) of the logarithms of `NAMES`.

    Parameters
    ----------
    x : array (N,) or (N, D)
        Inputs of the points.
    points : array (N,)
        y₁, one value per input.
    aggregates : array (B,)
        y₂, one value per bag.
    operator : array (B, N)
        A: each row the weights of a bag's points; for means they sum to one.
    likelihood : {"dependent", "product", "composite"}
        What is assumed about the two sources.
    weights : float or pair of float
        φ of the composite likelihood, one for both or one per source; one otherwise.
    priors : Priors
        Of the hyperparameters.

    Raises
    ------
    InputError
        If shapes disagree, a number is not finite, a bag is empty, the likelihood is unknown, or
        weights are not positive or are given to a likelihood that has none.
    """

    x: np.ndarray
    points: np.ndarray
    aggregates: np.ndarray
    operator: np.ndarray
    likelihood: str = "dependent"
    weights: float | tuple[float, float] = 1.0
    priors: Priors = field(default_factory=Priors)

    def __post_init__(self) -> None:
        for name in ("x", "points", "aggregates", "operator"):
            values = np.array(getattr(self, name), dtype=float)
            require(bool(np.all(np.isfinite(values))), f"expected finite {name}; got nan or "
                    "infinite values: leave those observations out")
            object.__setattr__(self, name, values)
        require(self.x.ndim in (1, 2) and len(self.x) > 0,
                f"expected x of shape (N,) or (N, D), got {self.x.shape}")
        count = len(self.x)
        require(self.points.shape == (count,), f"expected one value of points per input, "
                f"({count},), got {self.points.shape}: every input needs its point")
        require(self.aggregates.ndim == 1 and len(self.aggregates) > 0,
                f"expected aggregates of shape (B,), B ≥ 1, got {self.aggregates.shape}")
        require(self.operator.shape == (len(self.aggregates), count),
                f"expected operator of shape {(len(self.aggregates), count)}, a row per aggregate "
                f"and a column per input, got {self.operator.shape}")
        require(bool(np.all(np.any(self.operator != 0, axis=1))),
                "expected a point in every bag; a row of the operator is zero: leave it out")
        choose("likelihood", self.likelihood, LIKELIHOODS)
        require(np.shape(self.weights) in ((), (2,)), "expected weights as one number or one per "
                f"source (points, aggregates), got {self.weights!r}")
        both = np.broadcast_to(np.asarray(self.weights, dtype=float), (2,))
        require(bool(np.all(np.isfinite(both)) and np.all(both > 0)),
                f"expected positive, finite weights, got {self.weights!r}")
        require(self.likelihood == "composite" or bool(np.all(both == 1)),
                f"the {self.likelihood} likelihood has no weights; use likelihood='composite'")
        object.__setattr__(self, "weights", (float(both[0]), float(both[1])))

    @property
    def count(self) -> int:
        """Number of inputs N."""
        return len(self.x)

    @property
    def counts(self) -> np.ndarray:
        """Numbers of points and of aggregates (2,)."""
        return np.array([len(self.points), len(self.aggregates)])

    @cached_property
    def squared_distances(self) -> np.ndarray:
        """Squared distances of the inputs (N, N)."""
        x = self.x.reshape(self.count, -1)
        return cdist(x, x, "sqeuclidean")

    @cached_property
    def step(self) -> np.ndarray:
        """y₂ - A y₁ (B,): all that the true likelihood knows of the aggregate noise."""
        return self.aggregates - self.operator @ self.points

    def kernel(self, logs, xp=np):
        """Covariance of f at the inputs (N, N), in values²; ``xp`` is numpy or a module like it."""
        smooth = xp.exp(-0.5 * self.squared_distances * xp.exp(-2 * logs[1]))
        return xp.exp(logs[0]) * (smooth + JITTER * np.eye(self.count))

    def cholesky(self, logs: np.ndarray) -> np.ndarray:
        """Lower factor of the covariance (N, N)."""
        return scipy.linalg.cholesky(self.kernel(logs), lower=True, check_finite=False)

    def misfits(self, f: np.ndarray) -> np.ndarray:
        """Sums of squared residuals of both sources (2,), as the likelihood takes their means."""
        points = self.points - f
        linked = self.step if self.dependent else self.aggregates - self.operator @ f
        return np.array([points @ points, linked @ linked])

    @cached_property
    def observations(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows C (n, N), values y (n,) and sources 0 or 1 (n,) of the observations of f."""
        if self.dependent:
            return np.eye(self.count), self.points, np.zeros(self.count, dtype=int)
        return (np.vstack([np.eye(self.count), self.operator]),
                np.concatenate([self.points, self.aggregates]), np.repeat([0, 1], self.counts))

    @property
    def dependent(self) -> bool:
        """Whether the aggregates are known to be of the noisy points."""
        return self.likelihood == "dependent"

    def log_likelihood(self, misfits: np.ndarray, logs: np.ndarray) -> float:
        """Weighted log likelihood of f with these `misfits`, in nats."""
        noise = logs[2:]
        per_value = 0.5 * np.log(2 * np.pi) + noise
        terms = -self.counts * per_value - 0.5 * misfits * np.exp(-2 * noise)
        return float(np.dot(self.weights, terms))

    def log_density(self, f: np.ndarray, logs: np.ndarray) -> float:
        """Log joint density of y, f (N,) and the logarithms (4,), in nats."""
        factor = self.cholesky(logs)
        white = scipy.linalg.solve_triangular(factor, f, lower=True, check_finite=False)
        prior = (-0.5 * white @ white - np.log(factor.diagonal()).sum()
                 - 0.5 * self.count * np.log(2 * np.pi))
        return float(prior + self.log_likelihood(self.misfits(f), logs)
                     + self.priors.log_density(logs))

    def gradient(self, f: np.ndarray, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient of `log_density` in f (N,) and in the logarithms (4,)."""
        factor = (self.cholesky(logs), True)
        alpha = scipy.linalg.cho_solve(factor, f)
        inverse = scipy.linalg.cho_solve(factor, np.eye(self.count))
        slope = kernel_slope(self, logs)
        precision = np.array(self.weights) * np.exp(-2 * logs[2:])
        by_f = precision[0] * (self.points - f) - alpha
        if not self.dependent:
            by_f += precision[1] * self.operator.T @ (self.aggregates - self.operator @ f)
        by_kernel = [0.5 * (f @ alpha - self.count),
                     0.5 * (alpha @ slope @ alpha - np.sum(inverse * slope))]
        by_noise = precision * self.misfits(f) - np.array(self.weights) * self.counts
        return by_f, np.concatenate([by_kernel, by_noise]) + self.priors.gradient(logs)


def kernel_slope(problem: Problem, logs: np.ndarray) -> np.ndarray:
    """Derivative of the kernel by the logarithm of the lengthscale (N, N)."""
    scaled = problem.squared_distances * np.exp(-2 * logs[1])
    return np.exp(logs[0]) * np.exp(-0.5 * scaled) * scaled
