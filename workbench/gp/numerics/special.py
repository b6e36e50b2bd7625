"""Functions of Gaussian variables that torch lacks: E log v², E σ(v), and their derivatives.

All are elementwise, differentiable, and work in any floating point type on any device.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import scipy  # its parts are loaded on first use
import torch
from torch import Tensor

# Dawson's function and its integral: Taylor series around the nearest of a row of nodes, and the
# asymptotic series beyond the last one, where six terms leave less than 1e-13.
_FAR, _STEP, _ORDER, _TERMS = 20.0, 1 / 16, 12, 6
_NODES = 24
_POINTS, _WEIGHTS = np.polynomial.hermite_e.hermegauss(_NODES)
_WEIGHTS = _WEIGHTS / np.sqrt(2 * np.pi)
_CHUNK = 8192      # values whose quadrature nodes are held at once


def dawson(u: Tensor) -> Tensor:
    """Dawson's function D(u) = exp(-u²) ∫₀ᵘ exp(t²) dt."""
    return _Dawson.apply(u)


def dawson_integral(u: Tensor) -> Tensor:
    """∫₀ᵘ D(t) dt of Dawson's function."""
    return _DawsonIntegral.apply(u)


def expected_log_square(mean: Tensor, variance: Tensor) -> Tensor:
    """E log v² for v ~ N(mean, variance), elementwise.

    log(S/2) - C + 4 ∫₀ᵘ D(t) dt with u = |m|/√(2S), D Dawson's function and C Euler's constant;
    log m² minus a series in S/m² where S is small beside m². The variance must be positive.

    References
    ----------
    Law et al. 2018, appendix E.2 (Lemma 1 for the square link); Lloyd et al. 2015, eq. (12), give
    the same through the confluent hypergeometric function.
    """
    far = mean.detach().square() > 2 * _FAR**2 * variance.detach()
    # Each branch sees harmless numbers where the other one holds: no NaN in its gradient.
    s, m = torch.where(far, 1.0, variance), torch.where(far, 0.0, mean)
    near = (s / 2).log() - np.euler_gamma + 4 * dawson_integral(m.abs() / (2 * s).sqrt())
    squared = torch.where(far, mean, 1.0).square()
    ratio = torch.where(far, 2 * variance, 1e-3) / squared
    return torch.where(far, squared.log() + 4 * _tail(ratio), near)


def logistic_moments(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """E σ(v), E σ'(v) and Var σ(v) for v ~ N(mean, variance), σ the logistic function.

    Gauss-Hermite quadrature with 24 nodes: relative errors of E σ are below 1e-7 up
    to a standard deviation of 1.5, 1e-5 up to 2 and 1e-3 up to 3, for small probabilities too
    (MacKay's σ(m/√(1 + πS/8)) errs by a factor of two at m = -7, S = 1).
    """
    return _LogisticMoments.apply(mean, variance)


def logistic_centre(probability: Tensor, variance: Tensor) -> Tensor:
    """The m for which E σ(v) = probability, v ~ N(m, variance), elementwise."""
    wanted, s = torch.logit(probability), variance
    with torch.no_grad():
        m, std = wanted.clone(), s.clamp_min(0).sqrt()
        for _ in range(60):
            value, slope = _logistic_mean(m, std)
            step = (wanted - torch.logit(value)) * value * (1 - value) / slope
            m = m + step
            # Each step squares the error: the one below leaves none beside a step of 1e-7.
            if float(step.abs().max()) < 1e-7 * (1 + float(m.abs().max())):
                break
    # One more Newton step, with gradients: by the implicit function theorem they are exact.
    value, slope, _ = logistic_moments(m, s)
    return m + (wanted - torch.logit(value)) * (value * (1 - value) / slope).detach()


def gamma_log_bias(relative_variance: Tensor) -> Tensor:
    """E log X - log E X = ψ(k) - log k of a Gamma variable, k = 1 / relative variance (positive).

    By its asymptotic series for k > 100, where the difference would lose its digits.
    """
    v = relative_variance
    small = v.detach() < 0.01
    w, k = torch.where(small, v, 0.01), torch.where(small, 100.0, v).reciprocal()
    series = -w / 2 - w.square() / 12 + w.pow(4) / 120 - w.pow(6) / 252
    return torch.where(small, series, torch.digamma(k) - k.log())


def _double_factorials() -> np.ndarray:
    """(2k - 1)!! for k = 1, 2, ..."""
    return np.cumprod(2.0 * np.arange(1, _TERMS + 1) - 1)


def _tail(w: Tensor) -> Tensor:
    """∫₀ᵘ D minus its logarithmic growth ½ log 2u + C/4, for large u, by w = 1/u²."""
    k = np.arange(1, _TERMS + 1)
    out = torch.zeros_like(w)
    for c in (-_double_factorials() / 2.0 ** (k + 2) / k)[::-1]:
        out = (out + float(c)) * w
    return out


@lru_cache
def _taylor(dtype: torch.dtype, device: torch.device) -> Tensor:
    """Taylor coefficients (order + 1, nodes) of ∫D at the nodes: D' = 1 - 2uD, and so on."""
    u = _STEP * np.arange(round(_FAR / _STEP) + 1)
    points, weights = np.polynomial.legendre.leggauss(12)
    inner = u[:-1, None] + _STEP * (points + 1) / 2
    steps = scipy.special.dawsn(inner) @ weights * _STEP / 2
    rows = [np.r_[0.0, steps.cumsum()], scipy.special.dawsn(u)]
    rows.append(1 - 2 * u * rows[1])
    for n in range(1, _ORDER - 1):
        rows.append(-2 * u * rows[-1] - 2 * n * rows[-2])
    table = np.stack(rows) / scipy.special.factorial(np.arange(_ORDER + 1))[:, None]
    return torch.as_tensor(table).to(device=device, dtype=dtype)


def _near(u: Tensor, derivative: bool) -> Tensor:
    """∫D or D itself at 0 <= u <= the last node."""
    table = _taylor(u.dtype, u.device)
    node = (u / _STEP).round().long()
    offset, out = u - _STEP * node, torch.zeros_like(u)
    for n in range(_ORDER, int(derivative) - 1, -1):
        out = out * offset + table[n][node] * (n if derivative else 1)
    return out


class _Dawson(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u: Tensor) -> Tensor:
        ctx.save_for_backward(u)
        size = u.abs()
        near, w = _near(size.clamp_max(_FAR), True), size.clamp_min(_FAR).square().reciprocal()
        far = torch.zeros_like(u)
        for k in range(_TERMS, 0, -1):
            far = (far + float(_double_factorials()[k - 1]) / 2**k) * w
        far = (1 + far) / (2 * size.clamp_min(_FAR))
        return torch.where(size > _FAR, far, near) * u.sign()

    @staticmethod
    def backward(ctx, slope: Tensor) -> Tensor:
        u, = ctx.saved_tensors
        return slope * (1 - 2 * u * dawson(u))


class _DawsonIntegral(torch.autograd.Function):
    @staticmethod
    def forward(ctx, u: Tensor) -> Tensor:
        ctx.save_for_backward(u)
        size = u.abs()
        far = size.clamp_min(_FAR)
        grown = (2 * far).log() / 2 + np.euler_gamma / 4 + _tail(far.square().reciprocal())
        return torch.where(size > _FAR, grown, _near(size.clamp_max(_FAR), False))

    @staticmethod
    def backward(ctx, slope: Tensor) -> Tensor:
        u, = ctx.saved_tensors
        return slope * dawson(u)


class _LogisticMoments(torch.autograd.Function):
    """A function of its own, so that memory does not grow with the number of nodes."""

    @staticmethod
    def forward(ctx, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        std = variance.clamp_min(0).sqrt()
        parts = [_logistic_expectations(*pair) for pair in zip(
            mean.reshape(-1).split(_CHUNK), std.reshape(-1).split(_CHUNK), strict=True)]
        rows = torch.cat(parts, 1).reshape(-1, *mean.shape)
        ctx.save_for_backward(*rows[1:2], *rows[3:])
        return rows[0], rows[1], rows[2]

    @staticmethod
    def backward(ctx, of_value: Tensor, of_slope: Tensor, of_spread: Tensor):
        slope, bend, third, with_slope, with_bend, squared = ctx.saved_tensors
        # ∂/∂S of a Gaussian expectation is half that of the second derivative.
        by_mean = of_value * slope + of_slope * bend + 2 * of_spread * with_slope
        by_variance = (of_value * bend / 2 + of_slope * third / 2
                       + of_spread * (squared + with_bend))
        return by_mean, by_variance


def _logistic_mean(mean: Tensor, std: Tensor) -> tuple[Tensor, Tensor]:
    """E σ and E σ' alone, elementwise."""
    parts = []
    for one, spread in zip(mean.reshape(-1).split(_CHUNK), std.reshape(-1).split(_CHUNK),
                           strict=True):
        s = torch.sigmoid(one + torch.as_tensor(_POINTS).to(one)[:, None] * spread)
        weights = torch.as_tensor(_WEIGHTS).to(one)
        parts.append(torch.stack([weights @ s, weights @ (s * (1 - s))]))
    value, slope = torch.cat(parts, 1).reshape(2, *mean.shape)
    return value, slope


def _logistic_expectations(mean: Tensor, std: Tensor) -> Tensor:
    """Eight rows (8, n): E σ, its slope, Var σ, second and third slopes, and three covariances."""
    weights = torch.as_tensor(_WEIGHTS).to(mean)
    s = torch.sigmoid(mean + torch.as_tensor(_POINTS).to(mean)[:, None] * std)
    first = s * (1 - s)
    second = first * (1 - 2 * s)
    third = second * (1 - 2 * s) - 2 * first.square()
    # Deviations from σ(m): moments about E σ then keep their digits at small variances.
    origin = torch.sigmoid(mean)
    off = s - origin
    shift, slope, bend = weights @ off, weights @ first, weights @ second
    spread = (weights @ off.square() - shift.square()).clamp_min(0)
    return torch.stack([
        origin + shift, slope, spread, bend, weights @ third,
        weights @ (off * first) - shift * slope, weights @ (off * second) - shift * bend,
        weights @ first.square()])
