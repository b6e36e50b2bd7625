"""Quadrature over a Gaussian effect a on the logarithm of a Poisson rate.

The integrand Poisson(y | exp(g + a)) N(a; 0, v) is nearly Gaussian where v is small or y large:
Gauss-Hermite nodes around its mode, scaled by its curvature, need few nodes. Where v is large and y
small it falls like a Gaussian of variance v to the left and like exp(-eᵃ) to the right, which no
polynomial follows. There nodes are evenly spaced in x, the trapezoidal rule, with

    d = (q/2) log(1 + exp(x/q)),    a = log d + log(2q + d) - g,    q = v^(-1/2):

then q² + e^(g+a) = (q + d)², and da/dx is near (q + d)⁻¹, the posterior's own scale at a; in x the
integrand is nearly Gaussian, and the rule converges geometrically. Errors of the logarithm of the
integral are below 2e-8 up to v = 9, for y from 0 to 10⁶ (the test has them).

References
----------
Naylor and Smith 1982 (adaptive Gauss-Hermite); Trefethen and Weideman 2014 (trapezoidal rule).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

_LEAST_VARIANCE = 1e-10
_FEW = ((0.25, 12), (1.0, 20))      # largest variance that so many Gauss-Hermite nodes suffice for
_WIDE_NODES, _WIDE_STEP = 42, 0.37


def effect_mode(y: Tensor, log_rate: Tensor, effect_variance: Tensor) -> tuple[Tensor, Tensor]:
    """Mode and curvature of a given y ~ Poisson(exp(log_rate + a)), a ~ N(0, effect_variance).

    With v the variance, w = v exp(log_rate + a) solves w + log w = log v + log_rate + v y: one
    convex equation in log w, by Newton's method from above.
    """
    variance = effect_variance.clamp_min(_LEAST_VARIANCE)
    y, log_rate, variance = torch.broadcast_tensors(y, log_rate, variance)
    wanted = variance.log() + log_rate + variance * y
    u = torch.where(wanted > 1, wanted.clamp_min(1.0).log(), wanted)
    for _ in range(30):
        w = u.exp()
        step = (w + u - wanted) / (w + 1)
        u = u - step
        if float(step.abs().max()) < 1e-9:
            break
    a, prior = u - variance.log() - log_rate, 1 / variance
    rate = (log_rate + a).exp()
    a = a + (y - rate - prior * a) / (rate + prior)         # what rounding has left
    return a, (log_rate + a).exp() + prior


def poisson_lognormal(y: Tensor, log_rate: Tensor, effect_variance: Tensor) -> Tensor:
    """Log ∫ Poisson(y | exp(log_rate + a)) N(a; 0, effect_variance) da, elementwise.

    Nodes lie around the mode of the integrand, so that it is accurate for counts of zero and of
    millions alike. Differentiable in ``log_rate`` and ``effect_variance``.

    Parameters
    ----------
    y, log_rate, effect_variance : Tensor
        Of shapes that broadcast; y >= 0, fractional counts are allowed.
    """
    variance = effect_variance.clamp_min(_LEAST_VARIANCE)
    a, log_weights = _nodes(y, log_rate.detach(), variance.detach())
    constant = -torch.lgamma(y + 1) - 0.5 * (2 * np.pi * variance).log()
    return torch.logsumexp(_log_integrand(a, y, log_rate, variance) + log_weights, -1) + constant


@torch.no_grad()
def effect_posterior(y: Tensor, log_rate: Tensor, effect_variance: Tensor, sign: int = 1
                     ) -> tuple[Tensor, Tensor]:
    """Gaussian for sign * a given y ~ Poisson(exp(log_rate + a)), a ~ N(0, effect_variance).

    It has the posterior's variance, and its location is such that E exp(sign a) is the posterior's,
    by which maps multiply rates. (Mode and curvature overstate it: at y = 1, a rate of 7.4 and
    a variance of 2.25 by a fifth; and so does the posterior mean, by 3 %, for the posterior is
    skewed.) Central 95 % intervals of it cover 95.0 to 95.5 % of the posterior for variances up to
    2.25 and y from zero on.

    Returns
    -------
    location, variance : Tensor
        Of the broadcast shape.
    """
    variance = effect_variance.clamp_min(_LEAST_VARIANCE)
    a, log_weights = _nodes(y, log_rate, variance)
    shares = torch.softmax(_log_integrand(a, y, log_rate, variance) + log_weights, -1)
    mean = (shares * a).sum(-1)
    away = a - mean[..., None]
    spread = (shares * away.square()).sum(-1)
    centred = (shares * (sign * away).exp()).sum(-1).log()
    return sign * mean + centred - spread / 2, spread


def _log_integrand(a: Tensor, y: Tensor, log_rate: Tensor, variance: Tensor) -> Tensor:
    log_rate = log_rate[..., None] + a
    return y[..., None] * log_rate - log_rate.exp() - a.square() / (2 * variance[..., None])


def _nodes(y: Tensor, log_rate: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Nodes a (..., k), and logarithms of their weights in an integral over a."""
    mode, precision = effect_mode(y, log_rate, variance)
    largest = float(variance.max()) if variance.numel() else 0.0
    for most, count in _FEW:
        if largest <= most:
            points, weights = (torch.as_tensor(p).to(mode) for p in _hermite(count))
            scale = precision.rsqrt()[..., None]
            return mode[..., None] + scale * points, (
                weights.log() + 0.5 * points.square() + scale.log())
    return _wide(mode, log_rate, variance)


@cache
def _hermite(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.hermite_e.hermegauss(count)


def _wide(mode: Tensor, log_rate: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    # The substitution holds for any g; one that is bounded below keeps d from vanishing. In double
    # precision, as a is a difference.
    q = (variance.double().rsqrt() + torch.zeros_like(mode))[..., None]
    g, at = log_rate.double().clamp_min(-300.0)[..., None], mode.double()[..., None]
    rate = (g + at).exp()
    root = (rate + q.square()).sqrt()
    d = rate / (root + q)
    z = 2 * d / q
    centre = q * (z + (-torch.expm1(-z)).log())                 # of x at the mode
    slope = -torch.expm1(-z) / 2 * (1 / d + 1 / (2 * q + d))    # of a in x there
    step = _WIDE_STEP / (root * slope)
    x = centre + step * (torch.arange(_WIDE_NODES).to(step) - (_WIDE_NODES - 1) / 2)
    d = q / 2 * softplus(x / q, threshold=40)
    a = d.log() + (2 * q + d).log() - g
    log_slope = -softplus(-x / q, threshold=40) + (1 / d + 1 / (2 * q + d)).log() - np.log(2.0)
    return a.to(mode), (log_slope + step.log()).to(mode)
