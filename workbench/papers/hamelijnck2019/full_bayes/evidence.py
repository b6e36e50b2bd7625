"""f integrated out of the posterior, and f given hyperparameters: both exact.

Every factor is Gaussian in f, and a Gaussian to the power φ is one of variance σ²/φ times a
constant. With C the rows of the observations (the identity, and A unless the likelihood is
``dependent``) and n_a observations of noise σ_a and weight φ_a,

    log ∫ N(f; 0, K) Π_a N(y_a; C_a f, σ_a²)^φ_a df
        = log N(y; 0, C K Cᵀ + diag(σ_a²/φ_a)) + Σ_a [(1 - φ_a) n_a/2 log 2πσ_a² - n_a/2 log φ_a].

Under the true likelihood only the points are observations of f; log N(y₂; A y₁, σ₂²) is added.

References
----------
Hamelijnck et al. 2019, eqs. (55), (57); the identity is ours.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from workbench.papers.hamelijnck2019.full_bayes.problem import Problem, kernel_slope


def log_evidence(problem: Problem, logs, xp=np, linalg=scipy.linalg):
    """Log density of y and the logarithms, f integrated out, in nats.

    Parameters
    ----------
    logs : array (4,)
        Logarithms of the hyperparameters.
    xp, linalg : module
        numpy and scipy.linalg, or modules like them (jax.numpy, jax.scipy.linalg).
    """
    rows, values, source = problem.observations
    weights, noise = np.asarray(problem.weights), logs[2:]
    covariance = (rows @ problem.kernel(logs, xp) @ rows.T
                  + xp.diag(xp.exp(2 * noise[source]) / weights[source]))
    factor = linalg.cholesky(covariance, lower=True, check_finite=False)
    white = linalg.solve_triangular(factor, values, lower=True, check_finite=False)
    gaussian = (-0.5 * xp.sum(white**2) - xp.sum(xp.log(xp.diag(factor)))
                - 0.5 * len(values) * np.log(2 * np.pi))
    normalised = (0.5 * (1 - weights[source]) * (np.log(2 * np.pi) + 2 * noise[source])
                  - 0.5 * np.log(weights[source]))
    total = gaussian + xp.sum(normalised) + problem.priors.log_density(logs, xp)
    if problem.dependent:
        z = problem.step * xp.exp(-noise[1])
        total += xp.sum(-0.5 * z**2 - noise[1] - 0.5 * np.log(2 * np.pi))
    return total


def evidence_gradient(problem: Problem, logs: np.ndarray) -> np.ndarray:
    """Gradient of `log_evidence` in the logarithms (4,)."""
    rows, values, source = problem.observations
    weights = np.asarray(problem.weights)
    kernel, noise = problem.kernel(logs), np.exp(2 * logs[2:][source]) / weights[source]
    signal = rows @ kernel @ rows.T
    inverse = np.linalg.inv(signal + np.diag(noise))
    alpha = inverse @ values
    sensitivity = np.outer(alpha, alpha) - inverse           # twice d log N / d covariance
    slope = rows @ kernel_slope(problem, logs) @ rows.T
    by_noise = noise * sensitivity.diagonal() + 1 - weights[source]
    gradient = np.array([0.5 * np.sum(sensitivity * signal), 0.5 * np.sum(sensitivity * slope),
                         by_noise[source == 0].sum(), by_noise[source == 1].sum()])
    if problem.dependent:
        gradient[3] += problem.step @ problem.step * np.exp(-2 * logs[3]) - len(problem.step)
    return gradient + problem.priors.gradient(logs)


def conditional(problem: Problem, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (N,) and covariance (N, N) of f at the inputs given y and hyperparameters.

    The composite posterior is that of noise σ²/φ; under the true likelihood it is that of the
    points alone.
    """
    rows, values, source = problem.observations
    kernel = problem.kernel(logs)
    noise = np.exp(2 * logs[2:][source]) / np.asarray(problem.weights)[source]
    cross = rows @ kernel
    factor = scipy.linalg.cholesky(cross @ rows.T + np.diag(noise), lower=True)
    half = scipy.linalg.solve_triangular(factor, cross, lower=True)
    mean = half.T @ scipy.linalg.solve_triangular(factor, values, lower=True)
    return mean, kernel - half.T @ half


def draw_latent(problem: Problem, logs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A draw of f (N,) at the inputs given y and hyperparameters.

    A draw of the prior is conditioned, so no root of the posterior covariance is taken, which has
    eigenvalues near zero (Matheron's rule; Wilson et al. 2020, Efficiently sampling functions from
    Gaussian process posteriors, eq. 8).
    """
    rows, values, source = problem.observations
    factor = problem.cholesky(logs)
    noise = np.exp(2 * logs[2:][source]) / np.asarray(problem.weights)[source]
    white, spread = rng.standard_normal(problem.count), rows @ factor
    seen = spread @ white + np.sqrt(noise) * rng.standard_normal(len(values))
    inner = scipy.linalg.cho_factor(spread @ spread.T + np.diag(noise), lower=True,
                                    check_finite=False)
    return factor @ (white + spread.T @ scipy.linalg.cho_solve(inner, values - seen,
                                                               check_finite=False))
