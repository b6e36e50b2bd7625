"""Covariances of new inputs with bags by random Fourier features, where all pairs are too many.

A stationary kernel is the mean of cosines over its spectral law, so that k(x, X) Aᵀ is, to Monte
Carlo error, a product of cosines and sines at x with means of cosines and sines over the bags: its
cost grows with inputs plus individuals, not with their product.

References
----------
Rahimi and Recht 2007, Random features for large-scale kernel machines; Chau et al. 2021, section
5.2, who predict with them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.bag_gram import profile_of
from workbench.bags import Bags
from workbench.checks import InputError
from workbench.kernels import Term
from workbench.shapes import Inputs, PerIndividual

_ENTRIES = 4_000_000        # features that are held at once


@torch.no_grad()
def fourier_cross(terms: list[Term], new: Inputs, x: Inputs, bags: Bags,
                  coefficients: PerIndividual, count: int, seed: int = 0) -> Tensor:
    """K(new, x) Aᵀ (n, B), estimated; of linear and constant terms exact.

    Parameters
    ----------
    terms, new, x, bags, coefficients
        See `workbench.bag_gram.bag_cross`.
    count : int
        Frequencies of each term; the error of an entry is about the prior variance over √count.
    seed : int
        Seed of the frequencies: the same gives the same map.

    Raises
    ------
    InputError
        If a term is neither RBF nor Matérn: its spectral law is not known here.
    """
    total = torch.zeros(len(new), bags.count).to(x)
    generator = torch.Generator().manual_seed(seed)
    rows = max(1, _ENTRIES // count)
    for term in terms:
        if term.weights:
            basis = coefficients[:, None] * term.basis(x)
            means = torch.zeros(bags.count, basis.shape[1]).to(x).index_add_(
                0, bags.membership, basis)
            total += term.basis(new) @ means.mT
            continue
        profile = profile_of(term)
        if profile is None:
            raise InputError(f"random features are known of RBF and Matérn terms, not of "
                             f"{term.name!r}; leave features=0")
        variance, scaled, name = profile
        one, other = scaled(new, x), scaled(x, x)
        waves = frequencies(name, count, one.shape[1], generator).to(x)
        means = [torch.zeros(bags.count, count).to(x) for _ in range(2)]
        for start in range(0, len(x), rows):
            part = slice(start, start + rows)
            phase = other[part] @ waves.mT
            for mean, wave in zip(means, (torch.cos, torch.sin), strict=True):
                mean.index_add_(0, bags.membership[part], coefficients[part, None] * wave(phase))
        for start in range(0, len(new), rows):
            part = slice(start, start + rows)
            phase = one[part] @ waves.mT
            total[part] += variance / count * (
                phase.cos() @ means[0].mT + phase.sin() @ means[1].mT)
    return total


def frequencies(name: str, count: int, columns: int, generator: torch.Generator) -> Tensor:
    """Draws from the spectral law of a profile at lengthscale one (count, columns).

    Normal for RBF; of Matérn ν a multivariate t with 2ν degrees of freedom, one chi-square for
    each frequency.
    """
    normal = torch.randn(count, columns, generator=generator, dtype=torch.float64)
    if name == "rbf":
        return normal
    freedom = int(name[-2])                     # 2ν: matern12, matern32, matern52
    chi = torch.randn(count, freedom, generator=generator, dtype=torch.float64).square().sum(1)
    return normal * (freedom / chi).sqrt()[:, None]
