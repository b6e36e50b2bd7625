"""What each area's total does to the posterior mean of f at a place.

Where q is at its optimum its mean is the sum of pulls of the areas: m = Σ_b g_b with
g_b = ∂ E_q log p(y_b | η_b) / ∂m, so that E f(x) = mean(x) + Σ_b φ(x)ᵀ g_b exactly. Weighing the
likelihood of area b by 1 - ε moves E f(x) by -ε φ(x)ᵀ C g_b, with q's covariance C held: Hessian
and C⁻¹ are equal there (Price's theorem), and for Normal values that is the whole derivative.
Of all areas at once it is the derivative of their terms along one direction.

References
----------
Giordano et al. 2019, A Swiss Army infinitesimal jackknife; Opper and Archambeau 2009.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.data.recurring import unknown

_STEP = 1e-4        # of q's mean, in prior standard deviations


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
        φ(x)ᵀ C g_b: what leaving b out takes off the mean of f, to first order.
    """
    members = getattr(fit, "members", None)
    if members is not None:
        parts = [influence(one, bags, rows) for one in members]
        weights = fit.weights.to(parts[0][0])
        return tuple(sum(w * part[k] for w, part in zip(weights, parts, strict=True))
                     for k in (0, 1))
    state, field = fit.state, fit.state.field
    seen = state.trained_data
    with torch.no_grad():
        if seen is None:
            seen = state.project() if state.fits else state.project(state.learning)
        seen = seen.detach()
        x = state.transform.of(unknown(replace(bags, x=bags.x.to(state.x))))
        places = field.project(x[rows]).features

    @torch.no_grad()
    def expected(mean: Tensor) -> Tensor:
        moments = state.bound.moments(seen, mean, field.q_covariance)
        return state.source.trust * state.likelihood.expected_log_prob(
            state.source.targets.value, moments)

    def along(directions: Tensor) -> Tensor:
        """Derivatives of all bags' terms along each direction, by central differences."""
        steps = _STEP / directions.norm(dim=1).clamp_min(1e-300)
        return torch.stack([
            (expected(field.q_mean + h * one) - expected(field.q_mean - h * one)) / (2 * h)
            for one, h in zip(directions, steps, strict=True)])

    return along(places), along(places @ field.q_covariance)
