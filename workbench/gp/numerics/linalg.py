"""Cholesky that reports its jitter, the divergence from the standard normal, quadratic forms."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from workbench.checks import ApproximationWarning, InputError, warn

JITTER = 1e-8          # of each entry of a diagonal: what every covariance gets
TOLD = 1e-5            # of each entry: more than that is said
JITTERED = "needed jitter"


class FactorisationError(InputError):
    """A covariance matrix stayed indefinite at the largest jitter that is tried."""


class JitterWarning(ApproximationWarning):
    """A covariance matrix needed more than the usual jitter to be factorised."""


@dataclass
class Jitter:
    """The largest jitter beyond `TOLD` that was needed while it was watched; zero without one."""

    largest: float = 0.0
    told: str = ""


_watched: ContextVar[Jitter | None] = ContextVar("jitter", default=None)


@contextlib.contextmanager
def watched_jitter() -> Iterator[Jitter]:
    """Within it the largest jitter beyond `TOLD` is remembered, with what was said of it.

    Who watches around it sees the same.
    """
    around = _watched.get()
    token = _watched.set(found := Jitter())
    try:
        yield found
    finally:
        _watched.reset(token)
        if around is not None and found.largest > around.largest:
            around.largest, around.told = found.largest, found.told


def report_jitter(relative: float, name: str) -> None:
    """Warn of a jitter beyond `TOLD`, with the likely cause and what to do.

    Parameters
    ----------
    relative : float
        Share of the diagonal by which it grew.
    name : str
        What was factorised.

    Warns
    -----
    JitterWarning
        If the jitter is beyond `TOLD`.
    """
    if relative <= 1.001 * TOLD:
        return
    told = (f"the {name} {JITTERED} {relative:.0e} of its diagonal to be factorised: "
            "some of its rows are nearly alike, likely as inputs lie at one place or the "
            "lengthscale is far longer than their distances; use fewer inducing inputs, "
            "dtype='float64', or a prior on the lengthscale")
    found = _watched.get()
    if found is not None and relative > found.largest:
        found.largest, found.told = relative, told
    warn(told, JitterWarning)


def cholesky(
    matrix: Float[Tensor, "M M"], name: str = "covariance", relative_jitter: float | None = None
) -> Float[Tensor, "M M"]:
    """Lower Cholesky root of a matrix with jitter on its diagonal, as little as will do.

    Every entry of the diagonal grows by a share of itself, so that the units of a row (or the
    weight of an area) make no difference: ``relative_jitter`` (by default `JITTER`) at first, then
    tenfold up to 1e-3. Growth beyond 1e-5 is reported by a `JitterWarning`. Entries below 1e-12 of
    the mean grow as if they were so large.

    Raises
    ------
    FactorisationError
        If the matrix holds NaN or stays indefinite; the message names the matrix.
    """
    if not torch.isfinite(matrix).all():
        raise FactorisationError(f"the {name} holds NaN or infinity: check the hyperparameters")
    diagonal = matrix.diagonal().detach()
    least_entry = (1e-12 * diagonal.mean()).clamp_min(torch.finfo(matrix.dtype).tiny)
    scale = diagonal.clamp_min(least_entry)
    least = JITTER if relative_jitter is None else relative_jitter
    relative = max(least, 4 * torch.finfo(matrix.dtype).eps)
    while relative <= 1.001e-3:
        jittered = matrix.clone()
        jittered.diagonal().add_(scale, alpha=relative)
        root, info = torch.linalg.cholesky_ex(jittered)
        if not info:
            report_jitter(relative, name)
            return root
        relative *= 10
    raise FactorisationError(
        f"the {name} ({len(matrix)} x {len(matrix)}) is indefinite even with jitter 1e-3: "
        "use fewer inducing inputs, a shorter lengthscale, or more noise"
    )


def factor(matrix: Float[Tensor, "M M"], name: str) -> Float[Tensor, "M M"]:
    """Lower Cholesky root of a matrix as it is, without jitter.

    Raises
    ------
    FactorisationError
        If it is not positive definite; the message names the matrix.
    """
    root, info = torch.linalg.cholesky_ex(matrix)
    if info:
        raise FactorisationError(f"the {name} is not positive definite")
    return root


class NegativeVarianceWarning(ApproximationWarning):
    """More variance was explained than there was, beyond rounding; zero was put for the rest."""


def left(prior: Float[Tensor, " n"], explained: Float[Tensor, " n"]) -> Float[Tensor, " n"]:
    """Variance that is left (n,): rounding below zero is zero, and more than that is reported."""
    return floored(prior - explained, prior)


#: What to do about negative variances of a Gaussian process given observations with noise.
_OF_NOISE = ("the covariance of the observations and that with them do not belong together, or "
             "their noise is too small; fix a larger noise.variance, or use dtype='float64'")


def floored(variance: Float[Tensor, " n"], prior: Float[Tensor, " n"], least: float = 0.0,
            remedy: str = _OF_NOISE) -> Float[Tensor, " n"]:
    """Variances (n,), those that rounding took below ``least`` at it; see `left`.

    Parameters
    ----------
    variance : Tensor (n,)
        As computed.
    prior : Tensor (n,)
        Size of the terms that it is a difference of.
    least : float
        Zero, or so little that only a logarithm or a division needs it.
    remedy : str
        Likely cause, and what to do.

    Warns
    -----
    NegativeVarianceWarning
        Of variances that are negative by more than rounding.
    """
    beyond = variance < -math.sqrt(torch.finfo(variance.dtype).eps) * prior.abs()
    if bool(beyond.any()):
        worst = float((variance / (prior.abs() + torch.finfo(prior.dtype).tiny))[beyond].min())
        warn(
            f"{int(beyond.sum())} of {len(variance)} posterior variances are negative, the worst "
            f"{worst:.1e} of the terms that it is a difference of, and set to zero: {remedy}",
            NegativeVarianceWarning)
    return variance.clamp_min(least)


class RoundingWarning(ApproximationWarning):
    """A result is a small difference of large numbers, of which rounding left little."""


def report_cancellation(
    covariance: Float[Tensor, "M M"], coefficients: Float[Tensor, " M"], name: str
) -> None:
    """Warn where ``covariance @ coefficients`` loses more than 0.1 % of a prior sd by rounding.

    Parameters
    ----------
    covariance : Tensor (M, M)
        Prior covariance of what is computed.
    coefficients : Tensor (M,)
        Of the covariances in its mean.
    name : str
        What is computed, in the plural.

    Warns
    -----
    RoundingWarning
        By how much, and what to do.
    """
    eps = torch.finfo(covariance.dtype).eps
    spread = covariance.diagonal().clamp_min(torch.finfo(covariance.dtype).tiny).sqrt()
    lost = float((eps * (covariance.abs() @ coefficients.abs()) / spread).max())
    if lost > 1e-3:
        single = covariance.dtype == torch.float32
        warn(f"{name} are differences of numbers so large that rounding may shift them by "
             f"{min(lost, 99):.1g} of their prior standard deviation: the observations contradict "
             "each other under this kernel, or the noise is far too small; "
             + ("use dtype='float64', or " if single else "") + "fix a larger noise.variance",
             RoundingWarning)


def gaussian_log_density(
    residual: Float[Tensor, " M"], covariance: Float[Tensor, "M M"], name: str = "covariance",
    relative_jitter: float | None = None,
) -> Float[Tensor, ""]:
    """Log N(residual; 0, covariance), with the closed gradient (α αᵀ - C⁻¹)/2 in the covariance.

    The derivative of a Cholesky root, which it does without, costs several times as much.

    Raises
    ------
    FactorisationError
        See `cholesky`.
    """
    return _GaussianLogDensity.apply(residual, covariance, name, relative_jitter)


class _GaussianLogDensity(torch.autograd.Function):
    @staticmethod
    def forward(ctx, residual, covariance, name, relative_jitter):
        root = cholesky(covariance, name, relative_jitter)
        alpha = torch.cholesky_solve(residual[:, None], root)[:, 0]
        ctx.save_for_backward(root, alpha)
        return -0.5 * (residual @ alpha + len(residual) * math.log(2 * math.pi)) - (
            root.diagonal().log().sum())

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient):
        root, alpha = ctx.saved_tensors
        of_covariance = None
        if ctx.needs_input_grad[1]:
            of_covariance = torch.outer(alpha, alpha) - torch.cholesky_inverse(root)
            of_covariance *= 0.5 * gradient
        return -gradient * alpha, of_covariance, None, None


def standard_normal_kl(
    mean: Float[Tensor, " M"], covariance: Float[Tensor, "M M"]
) -> Float[Tensor, ""]:
    """KL( N(mean, covariance) || N(0, I) ), the whitened form of Law et al. 2018, App. E.3."""
    root = factor(covariance, "variational covariance")
    log_determinant = 2 * root.diagonal().log().sum()
    return 0.5 * (covariance.diagonal().sum() + mean @ mean - len(mean) - log_determinant)


def quadratic_forms(vectors: Float[Tensor, "B N"], matrices: Float[Tensor, "B N N"]
                    ) -> Float[Tensor, " B"]:
    """aᵀ K a of each row a of ``vectors`` and its matrix K.

    An einsum of three operands takes ten times as long on small bags, for the order it seeks.
    """
    return (products(matrices, vectors) * vectors).sum(-1)


def products(matrices: Float[Tensor, "B N N"], vectors: Float[Tensor, "B N"]
             ) -> Float[Tensor, "B N"]:
    """K a of each row a of ``vectors`` and its matrix K.

    As aᵀKᵀ: a matrix times a single column takes up to six times as long on large bags.
    """
    return torch.bmm(vectors[:, None, :], matrices.mT)[:, 0]
