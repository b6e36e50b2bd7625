"""A kernel replaced by random Fourier features, for maps where all pairs are too many.

A stationary kernel is the mean of cosines over its spectral distribution, so that k(x, x') is, to
Monte Carlo error, a product of cosines and sines at x with those at x', and k(x, X) Aᵀ one with
their means over bags: its cost grows with inputs plus individuals, not with their product.

That product is itself a kernel k̂, of a Gaussian process with finitely many weights. A posterior
must be conditioned by k̂ throughout: with k̂(x, X) Aᵀ beside the exact A K Aᵀ, prior less explained
variance is the difference of two unrelated estimates, often below zero, and errors of k̂ are
multiplied by weights that were made for k.

References
----------
Rahimi and Recht 2007, Random features for large-scale kernel machines; Chau et al. 2021, section
5.2, who predict with them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.checks import InputError
from workbench.gp.data.bags import Bags
from workbench.gp.kernels.bag_gram import profile_of
from workbench.gp.kernels.grammar import Term
from workbench.gp.numerics.shapes import Inputs, PerIndividual

_ENTRIES = 4_000_000        # features that are held at once


class FourierTerm(Term):
    """k̂ in place of a term's kernel, with the term's own hyperparameters and gradients in them.

    Parameters
    ----------
    term : Term
        RBF or Matérn.
    columns : int
        Of the inputs.
    count : int
        Frequencies.
    generator : torch.Generator
        Of the frequencies, which stay as they are.

    Raises
    ------
    InputError
        If the term is neither: its spectral distribution is not known here.
    """

    has_basis = True

    def __init__(self, term: Term, columns: int, count: int, generator: torch.Generator):
        super().__init__(term.name, None, term.columns)
        profile = profile_of(term)
        if profile is None:
            raise InputError(f"random features are known of RBF and Matérn terms, not of "
                             f"{term.name!r}; leave features=0")
        variance, scaled, name = profile
        self.term, self.centre = term, torch.zeros(1, columns).to(variance)
        width = scaled(self.centre, self.centre).shape[1]
        self.waves = frequencies(name, count, width, generator).to(variance)

    def basis(self, x: Inputs) -> Tensor:
        """Cosines and sines (n, 2 count), whose products are k̂."""
        variance, scaled, _ = profile_of(self.term)
        phase = scaled(x, self.centre) @ self.waves.mT
        return (variance / len(self.waves)).sqrt() * torch.cat([phase.cos(), phase.sin()], 1)

    def forward(self, x1: Inputs, x2: Inputs) -> Tensor:
        """k̂ between inputs (n, m)."""
        return self.basis(x1) @ self.basis(x2).mT

    def between(self, x1: Inputs, x2: Inputs) -> Tensor:
        """k̂ of each input with its partner (n,)."""
        return (self.basis(x1) * self.basis(x2)).sum(1)


def fourier_terms(terms: list[Term], x: Inputs, count: int) -> list[Term]:
    """The terms with k̂ in place of their kernels; those of finite rank are their own.

    Parameters
    ----------
    terms : list of Term
        Which keep their hyperparameters, shared with the result.
    x : Tensor (n, D)
        Any inputs.
    count : int
        Frequencies of each term; the error of an entry is about the prior variance over √count.

    Raises
    ------
    InputError
        If a term is neither RBF, Matérn nor of finite rank.
    """
    generator = torch.Generator().manual_seed(0)        # the same every time
    return [term if term.finite_rank else FourierTerm(term, x.shape[1], count, generator)
            for term in terms]


class FourierBags:
    """k̂ of terms as they are now, with means of its features over bags: made once for all inputs.

    Parameters
    ----------
    terms, x, bags, coefficients
        See `workbench.gp.kernels.bag_gram.bag_cross`.
    count : int
        See `fourier_terms`.

    Raises
    ------
    InputError
        See `fourier_terms`.
    """

    @torch.no_grad()
    def __init__(self, terms: list[Term], x: Inputs, bags: Bags, coefficients: PerIndividual,
                 count: int):
        self._rows = max(1, _ENTRIES // count)
        self._features = [term.basis for term in fourier_terms(terms, x, count)]
        self._means = self._over(x, bags, coefficients)

    @torch.no_grad()
    def gram(self) -> Tensor:
        """A K̂ Aᵀ (B, B)."""
        return sum(means @ means.mT for means in self._means)

    @torch.no_grad()
    def cross(self, new: Inputs) -> Tensor:
        """K̂(new, x) Aᵀ (n, B); of linear and constant terms exact."""
        total = torch.zeros(len(new), len(self._means[0])).to(new)
        for features, means in zip(self._features, self._means, strict=True):
            for start in range(0, len(new), self._rows):
                part = slice(start, start + self._rows)
                total[part] += features(new[part]) @ means.mT
        return total

    @torch.no_grad()
    def prior(self, one: Inputs, other: Inputs) -> Tensor:
        """K̂ between inputs (n, m); its diagonal is that of the kernel itself."""
        return sum(features(one) @ features(other).mT for features in self._features)

    @torch.no_grad()
    def variances(self, new: Inputs, bags: Bags, coefficients: PerIndividual) -> Tensor:
        """diag(A K̂ Aᵀ) of other bags (B,)."""
        return sum(means.square().sum(1) for means in self._over(new, bags, coefficients))

    def _over(self, x: Inputs, bags: Bags, coefficients: PerIndividual) -> list[Tensor]:
        """Features summed over bags with these coefficients, of each term (B, features)."""
        found = []
        for features in self._features:
            out = torch.zeros(bags.count, features(x[:1]).shape[1]).to(x)
            for start in range(0, len(x), self._rows):
                part = slice(start, start + self._rows)
                out.index_add_(0, bags.membership[part],
                               coefficients[part, None] * features(x[part]))
            found.append(out)
        return found


def frequencies(name: str, count: int, columns: int, generator: torch.Generator) -> Tensor:
    """Draws from the spectral distribution of a profile at lengthscale one (count, columns).

    Normal for RBF; of Matérn ν a multivariate t with 2ν degrees of freedom, one chi-square for
    each frequency.
    """
    normal = torch.randn(count, columns, generator=generator, dtype=torch.float64)
    if name == "rbf":
        return normal
    freedom = int(name[-2])                     # 2ν: matern12, matern32, matern52
    chi = torch.randn(count, freedom, generator=generator, dtype=torch.float64).square().sum(1)
    return normal * (freedom / chi).sqrt()[:, None]
