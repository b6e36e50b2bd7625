"""Kernels of the grammar and priors of hyperparameters, as functions that jax differentiates.

Raw values of the grammar's kernels are logarithms: everything is a function of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import ModuleType

import gpytorch
import numpy as np

from workbench.checks import InputError, package
from workbench.gp.kernels.grammar import Term
from workbench.gp.optimisation.priors import LogNormal, Multiple, PCLengthscale, PCStd


def covariance(terms: list[Term], x: np.ndarray) -> Callable:
    """Prior covariance between inputs, as a function of raw values.

    Parameters
    ----------
    terms : list of Term
        Of the grammar, without ``periodic``.
    x : array (N, D)
        Standardised inputs.

    Returns
    -------
    callable
        ``k(value)`` (N, N), where ``value(parameter)`` gives the raw value of a torch parameter.

    Raises
    ------
    InputError
        On a kernel that is not known here.
    ImportError
        If the extra ``sampling`` is not installed.
    """
    jnp = package("jax.numpy", extra="sampling")
    parts = [_part(term.kernel, x, jnp) for term in terms]
    return lambda value: sum(part(value) for part in parts)


def _part(kernel, x: np.ndarray, jnp: ModuleType) -> Callable:
    if isinstance(kernel, gpytorch.kernels.ScaleKernel):
        inner = _part(kernel.base_kernel, x, jnp)
        return lambda value: jnp.exp(value(kernel.raw_outputscale)) * inner(value)
    if isinstance(kernel, gpytorch.kernels.ProductKernel):
        factors = [_part(one, x, jnp) for one in kernel.kernels]
        return lambda value: math.prod(one(value) for one in factors)
    if isinstance(kernel, gpytorch.kernels.ConstantKernel):
        return lambda value: jnp.ones((len(x), len(x)))
    columns = list(range(x.shape[1])) if kernel.active_dims is None else kernel.active_dims.tolist()
    own = x[:, columns]
    if isinstance(kernel, gpytorch.kernels.LinearKernel):
        return lambda value: jnp.asarray(own @ own.T)
    shape = _shape(kernel, jnp)
    gaps = np.square(own[:, None] - own[None])

    def stationary(value):
        scale = jnp.exp(-2 * value(kernel.raw_lengthscale)).reshape(-1)
        return shape((gaps * scale).sum(-1), value)

    return stationary


def _shape(kernel, jnp: ModuleType) -> Callable:
    """Correlation as a function of the squared distance in lengthscales."""
    if isinstance(kernel, gpytorch.kernels.RBFKernel):
        return lambda square, value: jnp.exp(-0.5 * square)
    if isinstance(kernel, gpytorch.kernels.RQKernel):
        def rational(square, value):
            alpha = jnp.exp(value(kernel.raw_alpha)).reshape(())
            return (1 + square / (2 * alpha)) ** -alpha
        return rational
    if isinstance(kernel, gpytorch.kernels.MaternKernel):
        factors = {0.5: lambda r: 1.0, 1.5: lambda r: 1 + r, 2.5: lambda r: 1 + r + r**2 / 3}
        factor, root = factors[kernel.nu], math.sqrt(2 * kernel.nu)

        def matern(square, value):
            # At distance zero the root has no derivative, and none is needed.
            r = root * jnp.sqrt(jnp.where(square > 0, square, 1.0)) * (square > 0)
            return factor(r) * jnp.exp(-r)
        return matern
    raise InputError(f"the sampler knows no {type(kernel).__name__}; use kernels of constant, "
                     "linear, rbf, matern12, matern32, matern52 and rq")


def log_prior(prior, jnp: ModuleType) -> Callable:
    """Log density of the logarithm of a positive hyperparameter, up to a constant, by its value.

    Parameters
    ----------
    prior : Prior or None
        None is flat.
    jnp : module
        ``jax.numpy``.

    Raises
    ------
    InputError
        On a prior of the user's own.
    """
    if prior is None:
        return lambda value: 0.0
    if isinstance(prior, LogNormal):
        middle = np.log(np.asarray(prior.median, dtype=float))
        return lambda value: (-0.5 * jnp.square((jnp.log(value) - middle) / prior.sigma)).sum()
    if isinstance(prior, Multiple):
        return lambda value, *others: (-0.5 * jnp.square(jnp.log(
            value / (prior.factor * prior.together(*others))) / prior.sigma)).sum()
    if isinstance(prior, PCLengthscale):
        half = prior.dimension / 2
        rate = -math.log(prior.probability) * prior.shortest**half
        return lambda value: (-half * jnp.log(value) - rate * value**-half).sum()
    if isinstance(prior, PCStd):
        rate = -math.log(prior.probability) / prior.largest

        def density(value):
            std = jnp.sqrt(value) if prior.of_variance else value
            return (jnp.log(std) - rate * std).sum()
        return density
    raise InputError(f"the sampler knows no prior {type(prior).__name__}; write it as text, none, "
                     "lognormal:MEDIAN:SIGMA or pc:VALUE:PROBABILITY")
