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


class FourierBags:
    """Features of terms as they are now, with their means over bags: made once for all new inputs.

    Parameters
    ----------
    terms, x, bags, coefficients
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

    @torch.no_grad()
    def __init__(self, terms: list[Term], x: Inputs, bags: Bags, coefficients: PerIndividual,
                 count: int, seed: int = 0):
        self.count, self._rows, self._parts = bags.count, max(1, _ENTRIES // count), []
        generator = torch.Generator().manual_seed(seed)

        def means(values, width: int) -> Tensor:
            out = torch.zeros(bags.count, width).to(x)
            for start in range(0, len(x), self._rows):
                part = slice(start, start + self._rows)
                out.index_add_(0, bags.membership[part], coefficients[part, None] * values(part))
            return out

        for term in terms:
            if term.weights:
                basis = term.basis(x)
                self._parts.append((term.basis, means(lambda part, b=basis: b[part],
                                                      basis.shape[1])))
                continue
            profile = profile_of(term)
            if profile is None:
                raise InputError(f"random features are known of RBF and Matérn terms, not of "
                                 f"{term.name!r}; leave features=0")
            variance, scaled, name = profile
            other = scaled(x, x)
            waves = frequencies(name, count, other.shape[1], generator).to(x)

            def features(new: Inputs, scaled=scaled, waves=waves) -> Tensor:
                return _waving(scaled(new, x) @ waves.mT)

            known = means(lambda part, o=other, w=waves: _waving(o[part] @ w.mT), 2 * count)
            self._parts.append((features, known * (variance / count)))

    @torch.no_grad()
    def cross(self, new: Inputs) -> Tensor:
        """K(new, x) Aᵀ (n, B), estimated; of linear and constant terms exact."""
        total = torch.zeros(len(new), self.count).to(new)
        for features, means in self._parts:
            for start in range(0, len(new), self._rows):
                part = slice(start, start + self._rows)
                total[part] += features(new[part]) @ means.mT
        return total


def _waving(phase: Tensor) -> Tensor:
    return torch.cat([phase.cos(), phase.sin()], 1)


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
