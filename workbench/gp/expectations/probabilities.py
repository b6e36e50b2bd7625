"""Moments under the logit link: T = Σ w σ(v), a bag's probability, w summing to one."""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.gp.expectations.inside import quadratic
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.likelihoods import OddsMoments
from workbench.gp.numerics.special import logistic_centre, logistic_moments


def moment(view: ProjectedData, mean: Tensor, covariance: Tensor) -> OddsMoments:
    """T as logit-normal with its mean, and with its log-odds variance to first order.

    E T = Σ w E σ(v). To first order cov(σ(v_i), σ(v_j)) = d_i d_j S_ij with d = E σ'(v), so
    d̃ᵀ S d̃ with d̃ = w d is the variance of T in terms of a shift of f; divided by the square of
    E T(1 - T), the slope of T in its log-odds, it is the variance of logit T. E T(1 - T) =
    E T (1 - E T) - Var T, with Var T by the exact variance of each σ(v_i) and the correlations
    of v. Exact for one individual.
    """
    weight, residual = view.operator.coefficients(), view.residual
    m, s = view.projection.marginals(mean, covariance)
    value, slope, spread = logistic_moments(m, s)
    total = view.operator(value)
    # Where a variance is as small as rounding, the ratio of the two is the slope squared.
    wide = s.detach() > torch.finfo(s.dtype).eps ** 0.5
    ratio = torch.where(wide, spread / torch.where(wide, s, 1.0), slope.square())
    scale = ratio.clamp_min(torch.finfo(s.dtype).tiny).sqrt()
    variance = quadratic(view, covariance, weight * scale, residual)
    linear = quadratic(view, covariance, weight * slope, residual)
    odds = linear / (total * (1 - total) - variance).square()
    return OddsMoments(total, variance, logistic_centre(total, odds), odds)
