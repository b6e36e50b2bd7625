"""Moments from reparameterised draws of f: unbiased, and the reference for all other forms.

Draws are scrambled Sobol points, the same at every call (common random numbers): the objective is a
smooth deterministic function of q and of the hyperparameters, and gradients flow to both.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from workbench.gp.expectations.inside import effect_variance, nugget_variance
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.kernels.operators import blocks
from workbench.gp.likelihoods import SampledMoments, SampledOdds
from workbench.gp.numerics.linalg import FactorisationError, factor, report_jitter

# Draws: a power of two, never less than four for each inducing feature, or a q fitted to them would
# place its uncertainty where none of them looks.
DRAWS, _PER_FEATURE, _SEED = 256, 4, 20180


def exponentials(view: ProjectedData, mean: Tensor, covariance: Tensor) -> SampledMoments:
    """Draws of log Σ p e^f; the nugget's part is integrated out to first order given f."""
    log_weight = view.operator.coefficients().log()[:, None]
    parts = log_weight + draw(view, mean, covariance) + view.own_nugget.reshape(-1, 1) / 2
    log_total = _logsumexp(view, parts)
    return _sampled(view, log_total, (parts - log_total[view.operator.bags.membership]).exp())


def squares(view: ProjectedData, mean: Tensor, covariance: Tensor) -> SampledMoments:
    """Draws of log Σ p f²; effects act on it to first order given f."""
    weight = view.operator.coefficients()[:, None]
    f = draw(view, mean, covariance)
    total = view.sum(weight * (f.square() + view.own_nugget.reshape(-1, 1)))
    return _sampled(view, total.log(), 2 * weight * f / total[view.operator.bags.membership])


def probabilities(view: ProjectedData, mean: Tensor, covariance: Tensor,
                  log_psi: Callable[[Tensor], Tensor] = logsigmoid) -> SampledOdds:
    """Draws of the log-odds of Σ w ψ(f), ψ with ψ(-f) = 1 - ψ(f)."""
    log_weight = view.operator.coefficients().log()[:, None]
    f = draw(view, mean, covariance)
    return SampledOdds(_logsumexp(view, log_weight + log_psi(f))
                       - _logsumexp(view, log_weight + log_psi(-f)))


def draw(view: ProjectedData, mean: Tensor, covariance: Tensor) -> Tensor:
    """Draws of f at the individuals (N, S), the residual inside bags included.

    Raises
    ------
    FactorisationError
        If a covariance is not positive definite.
    """
    features = view.projection.features
    count = 2 ** (max(DRAWS, _PER_FEATURE * features.shape[1]) - 1).bit_length()
    root = factor(covariance, "variational covariance")
    v = mean[:, None] + root @ _normal(len(mean), count, 0).to(features)
    return view.projection.offset[:, None] + features @ v + _residual(view, count)


@lru_cache(maxsize=4)
def _normal(rows: int, count: int, part: int) -> Tensor:
    """Standard normal draws (rows, count): scrambled Sobol points, independent between parts."""
    generator = torch.Generator().manual_seed(_SEED + part)
    blocks, most = [], torch.quasirandom.SobolEngine.MAXDIM
    for start in range(0, rows, most):
        engine = torch.quasirandom.SobolEngine(
            min(most, rows - start), scramble=True, seed=_SEED + part + start)
        points = engine.draw(count, dtype=torch.float64).clamp(1e-12, 1 - 1e-12)
        # Blocks share their sequence: in another order the points of one know nothing of another.
        order = torch.randperm(count, generator=generator)
        blocks.append(torch.special.ndtri(points[order].mT))
    return torch.cat(blocks)


def _residual(view: ProjectedData, count: int) -> Tensor:
    """Draws of what the features leave unexplained (N, S)."""
    residual, like = view.residual, view.projection.features
    noise = _normal(len(like), count, 1).to(like)
    if residual.pairs is None:
        return _root(residual.diagonal)[:, None] * noise
    if residual.clusters is None:
        prior = residual.diagonal + like.square().sum(1)
        return _inside(residual.bags, residual.pairs, float(prior.detach().mean()), noise)
    clusters = residual.clusters
    inner = _normal(len(clusters.bags.x), count, 2).to(like)
    common = _inside(clusters.bags, residual.pairs, 1.0, inner)
    own = _root(residual.diagonal * (1 - residual.shared))[:, None] * noise
    return _root(residual.diagonal * residual.shared)[:, None] * common[clusters.of] + own


def _inside(bags, pairs: list[Tensor], scale: float, noise: Tensor) -> Tensor:
    """Noise (n, S) times a root of the covariance inside each bag."""
    out = torch.zeros_like(noise)
    for (index, mask), pair in zip(blocks(bags), pairs, strict=True):
        both = mask[:, :, None] * mask[:, None, :]
        # Padding gets a variance of its own, so that each matrix can be factorised.
        root = _cholesky(pair * both + torch.diag_embed((1 - mask) * scale), scale)
        drawn = (root @ (noise[index] * mask[:, :, None])) * mask[:, :, None]
        out = out.index_add(0, index.reshape(-1), drawn.reshape(-1, noise.shape[1]))
    return out


def _cholesky(matrices: Tensor, scale: float) -> Tensor:
    """Roots of a batch, with jitter from 1e-9 of the prior variance: residuals are singular."""
    matrices = (matrices + matrices.mT) / 2
    ones = torch.eye(matrices.shape[1]).to(matrices)
    jitter = max(1e-9, 4 * torch.finfo(matrices.dtype).eps)
    while jitter < 2e-4:
        roots, info = torch.linalg.cholesky_ex(matrices + jitter * scale * ones)
        if not bool(info.any()):
            report_jitter(jitter, "residual covariance inside a bag")
            return roots
        jitter *= 10
    raise FactorisationError("a residual covariance inside a bag is indefinite even with jitter "
                             "1e-4: use fewer inducing inputs, or another bound")


def _root(variance: Tensor) -> Tensor:
    """Square root with a finite gradient at zero."""
    return variance.clamp_min(1e-30).sqrt()


def _logsumexp(view: ProjectedData, values: Tensor) -> Tensor:
    """Log of the sum of exponentials over each bag, for each draw (B, S)."""
    members = view.operator.bags.membership
    top = torch.full((view.operator.bags.count, values.shape[1]), -torch.inf).to(values)
    top = top.scatter_reduce(0, members[:, None].expand_as(values), values.detach(), "amax")
    return view.sum((values - top[members]).exp()).log() + top


def _sampled(view: ProjectedData, log_total: Tensor, share: Tensor) -> SampledMoments:
    centre = log_total - nugget_variance(view, share) / 2
    return SampledMoments(log_total, centre, effect_variance(view, share))
