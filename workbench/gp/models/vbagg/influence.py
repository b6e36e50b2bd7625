"""What each area's total does to the posterior mean of f at a place.

Where q is at its optimum its mean is the sum of pulls of the areas: m = Σ_b g_b with
g_b = ∂ E_q log p(y_b | η_b) / ∂m, so that E f(x) = mean(x) + Σ_b φ(x)ᵀ g_b exactly. Weighing the
likelihood of area b by 1 - ε moves E f(x) by -ε φ(x)ᵀ C g_b, with q's covariance C held: Hessian
and C⁻¹ are equal there (Price's theorem). Of all areas at once it is the derivative of their terms
along one direction. Without area b the covariance is (C⁻¹ - H_b)⁻¹, H_b the Hessian of its term:
where that is of rank one, as an area sees f by one number, a Newton step to the mean without it is
φ(x)ᵀ C g_b / (1 - h_b), with the leverage h_b = tr(C H_b) = -2 ∂E_b/∂log C, again by Price's
theorem. For Normal values under the identity link that is what leaving the area out does.

References
----------
Giordano et al. 2019, A Swiss Army infinitesimal jackknife; Opper and Archambeau 2009; Cook 1977
(leverage).
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.data.recurring import unknown
from workbench.gp.models.vbagg.summed_out import aside

_MOST = 0.95        # leverage under links other than the identity


def influence(fit, bags: Bags, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Contribution and influence of every training bag on f at some individuals (n, B) each.

    Parameters
    ----------
    fit : VariationalFit
        A fit; of a mixture the numbers are averaged by weight.
    bags : Bags
        That hold the individuals.
    rows : Tensor (n,) of int64
        Which individuals.

    Returns
    -------
    contribution : Tensor (n, B)
        φ(x)ᵀ g_b; the sum over bags, plus the prior mean, is the mean of f.
    influence : Tensor (n, B)
        φ(x)ᵀ C g_b / (1 - h_b): what leaving b out takes off the mean of f, by one Newton step;
        h_b up to 0.95, and under the identity link up to what rounding leaves of it.
    """
    members = getattr(fit, "members", None)
    if members is not None:
        parts = [influence(one, bags, rows) for one in members]
        weights = fit.weights.to(parts[0][0])
        return tuple(sum(w * part[k] for w, part in zip(weights, parts, strict=True))
                     for k in (0, 1))
    state = aside(fit.state)
    field = state.field
    seen = state.trained_data
    with torch.no_grad():
        if seen is None:
            seen = state.project() if state.fits else state.project(state.learning)
        seen = seen.detach()
        x = state.transform.of(unknown(replace(bags, x=bags.x.to(state.x))))
        places = field.project(x[rows]).features

    eps = torch.finfo(field.q_mean.dtype).eps
    step = eps ** (1 / 3)       # of central differences, in prior sds of the mean

    @torch.no_grad()
    def expected(mean: Tensor, covariance: Tensor = field.q_covariance) -> Tensor:
        moments = state.bound.moments(seen, mean, covariance)
        return state.source.trust * state.likelihood.expected_log_prob(
            state.source.targets.value, moments)

    def along(directions: Tensor) -> Tensor:
        """Derivatives of all bags' terms along each direction, by central differences."""
        steps = step / directions.norm(dim=1).clamp_min(
            torch.finfo(directions.dtype).tiny)
        return torch.stack([
            (expected(field.q_mean + h * one) - expected(field.q_mean - h * one)) / (2 * h)
            for one, h in zip(directions, steps, strict=True)])

    with torch.no_grad():
        spread = field.q_covariance
        less, more = (expected(field.q_mean, (1 + sign * step) * spread) for sign in (-1, 1))
        leverage = ((less - more) / step).clamp_min(0)
        # Of the identity link it is exact but for rounding; elsewhere an area may see f by more
        # than one number.
        rounding = (eps / step) * less.abs() + eps ** 0.5
        most = 1 - 10 * rounding if state.link.linear else torch.full_like(less, _MOST)
        rest = 1 - leverage.minimum(most.clamp_min(_MOST))
    return along(places), along(places @ spread) / rest
