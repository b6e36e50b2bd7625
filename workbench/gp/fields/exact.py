"""A Gaussian process conditioned exactly on noisy linear functionals of itself.

y = A f + ε: then cov(f(x), A f) = k(x, X) Aᵀ and cov(A f, A f) = A K Aᵀ, and everything is a B x B
Gaussian conditioning. With bags of one individual it is ordinary GP regression.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from workbench.gp.kernels.grammar import Term
from workbench.gp.kernels.operators import AggregationOperator
from workbench.gp.numerics.linalg import (
    cholesky,
    gaussian_log_density,
    left,
    report_cancellation,
)
from workbench.gp.numerics.shapes import Inputs, PerBag

# With noise on its diagonal the matrix rarely needs jitter, which would bias the evidence.
_NAME, _JITTER = "covariance of the bags", 1e-14
# Entries of the covariance between new and training inputs that are computed at once.
_ENTRIES = 30_000_000


class ExactField(nn.Module):
    """q(f) = p(f | y) for Normal observations of bags.

    Parameters
    ----------
    terms : list of Term
        Additive terms of the kernel on standardised inputs.
    x : Tensor (N, D)
        Standardised inputs of the training individuals.
    operator : AggregationOperator
        Training bags.
    """

    def __init__(self, terms: list[Term], x: Inputs, operator: AggregationOperator):
        super().__init__()
        self.terms, self.x, self.operator = nn.ModuleList(terms), x, operator
        self.mean = nn.Parameter(torch.zeros(1).to(x))
        self._root = self._alpha = None

    def prior(self, x1: Inputs, x2: Inputs) -> Tensor:
        """Dense prior covariance between inputs, summed over terms."""
        return sum(term(x1, x2) for term in self.terms)

    def evidence(self, y: PerBag, noise_variance: Tensor) -> Tensor:
        """Log N(y; A mean, A K Aᵀ + noise), which is given as variances (B,) or as (B, B)."""
        residual = y - self.operator.constant(self.mean)
        gram = self.operator.gram(self.terms, self.x)
        return gaussian_log_density(residual, _plus(gram, noise_variance), _NAME, _JITTER)

    @torch.no_grad()
    def condition(self, y: PerBag, noise_variance: Tensor) -> None:
        """Keep the factors of the posterior at the present hyperparameters."""
        gram = self.operator.posterior_gram(list(self.terms), self.x)
        self._root = cholesky(_plus(gram, noise_variance), _NAME, _JITTER)
        residual = y - self.operator.constant(self.mean)
        self._alpha = torch.cholesky_solve(residual[:, None], self._root)[:, 0]
        report_cancellation(gram, self._alpha, "the posterior means of the areas")

    @torch.no_grad()
    def marginals(self, x: Inputs, effect: Tensor | float = 0.0, own: Tensor | None = None
                  ) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance of f, or of f plus an iid effect, at inputs (n,).

        Parameters
        ----------
        x : Tensor (n, D)
            Standardised inputs.
        effect : Tensor or float
            Prior variance of the effect.
        own : Tensor (n,) of int64, optional
            Training observation that has the same effect as each input; -1 for none.
        """
        means, variances = [], []
        for rows in slices(len(x), len(self.x)):
            part = x[rows]
            cross = self._cross(part, effect, None if own is None else own[rows])
            white = torch.linalg.solve_triangular(self._root, cross.mT, upper=False)
            prior = sum(term.diagonal(part) for term in self.terms) + effect
            means.append(self.mean + cross @ self._alpha)
            variances.append(left(prior, white.square().sum(0)))
        return torch.cat(means), torch.cat(variances)

    @torch.no_grad()
    def mean_at(self, x: Inputs) -> Tensor:
        """Posterior mean alone (n,), without the far more expensive variance."""
        return self.mean + torch.cat(
            [self.operator.cross(self.terms, x[rows], self.x) @ self._alpha
             for rows in slices(len(x), len(self.x))])

    @torch.no_grad()
    def joint(self, x: Inputs, effect: Tensor | float = 0.0, own: Tensor | None = None,
              members: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Posterior mean (n,) and covariance (n, n) of f plus effects.

        One effect is shared by all inputs, or, with ``members`` (n,), by those of each bag.
        """
        cross = self._cross(x, effect, own)
        white = torch.linalg.solve_triangular(self._root, cross.mT, upper=False)
        prior = self.operator.posterior_prior(list(self.terms), x, x, self.x)
        if members is not None:
            effect = effect * (members[:, None] == members).to(cross)
        return self.mean + cross @ self._alpha, prior + effect - white.mT @ white

    @torch.no_grad()
    def joint_of_bags(self, x: Inputs, operator: AggregationOperator) -> tuple[Tensor, Tensor]:
        """Posterior mean (B,) and covariance (B, B) of A f for other bags."""
        mean, covariance = self.joint(x)
        return operator(mean), operator.rows(operator.rows(covariance).mT)

    @torch.no_grad()
    def aggregate(self, x: Inputs, operator: AggregationOperator) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance of A f for other bags (B,)."""
        return self.functionals(
            operator.rows(self.operator.cross(self.terms, x, self.x)),
            self.operator.posterior_variances(list(self.terms), x, operator, self.x),
            operator(torch.ones(len(x)).to(x)))

    @torch.no_grad()
    def functionals(self, cross: Tensor, prior: Tensor, total: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and variance of linear functionals of f (n,).

        Parameters
        ----------
        cross : Tensor (n, B)
            Prior covariance with the observations.
        prior : Tensor (n,)
            Prior variance.
        total : Tensor (n,)
            The functional of a constant one.
        """
        white = torch.linalg.solve_triangular(self._root, cross.mT, upper=False)
        mean = self.mean * total + cross @ self._alpha
        return mean, left(prior, white.square().sum(0))

    @torch.no_grad()
    def coefficients(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Posterior mean and sd of the weights of linear and constant terms, by term.

        Slopes are per standardised input, in the order of the term's columns.
        """
        out = {}
        for term in self.terms:
            if term.finite_rank:        # f has weights root * v, v standard normal a priori
                root = term.kernel.outputscale.sqrt()
                cross = root * self.operator.rows(term.basis(self.x)).mT
                mean, variance = self.functionals(
                    cross, root.square().expand(len(cross)), torch.zeros(len(cross)).to(cross))
                out[term.name] = mean, variance.sqrt()
        return out

    def _cross(self, x: Inputs, effect: Tensor | float, own: Tensor | None) -> Tensor:
        cross = self.operator.cross(self.terms, x, self.x)
        if own is not None:
            rows = (own >= 0).nonzero().flatten()
            cross[rows, own[rows]] += effect
        return cross


def slices(new: int, known: int) -> Iterator[slice]:
    """Runs of ``new`` inputs whose covariance with ``known`` ones fits into memory, in order."""
    step = max(1, _ENTRIES // max(known, 1))
    for start in range(0, max(new, 1), step):
        yield slice(start, min(start + step, new))


def _plus(gram: Tensor, noise_variance: Tensor) -> Tensor:
    return gram + (noise_variance if noise_variance.dim() == 2 else torch.diag(noise_variance))
