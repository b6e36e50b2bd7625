"""A sparse Gaussian process whose q is at its optimum in closed form, given linear functionals.

y = A f + ε with Normal noise: with G = A Φ the functionals of the whitened features,
R = A (K - ΦΦᵀ) Aᵀ what these leave unexplained and Λ the noise, the bound at the best q is

    log N(y; A mean, G Gᵀ + Λ) - tr(Λ⁻¹ R) / 2.

References
----------
Titsias 2009; Chau et al. 2021, appendix B and E.2.2, whose ELBO this is at its maximum over q.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from workbench.gp.fields.exact import slices
from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.bag_gram import bag_basis
from workbench.gp.kernels.operators import AggregationOperator
from workbench.gp.numerics.linalg import cholesky, factor, gaussian_log_density
from workbench.gp.numerics.shapes import Inputs, PerBag

_NAME, _JITTER = "covariance of the targets through inducing inputs", 1e-14


class CollapsedField(nn.Module):
    """q(f) for Normal observations of conditional means; the calls of `ExactField`.

    Parameters
    ----------
    inducing : InducingField
        Terms, inducing inputs, mean and q.
    x : Tensor (N, D)
        Standardised inputs of the training individuals.
    operator : ConditionalMeanOperator
        From individuals to targets.
    """

    def __init__(self, inducing: InducingField, x: Inputs, operator):
        super().__init__()
        self.inducing, self.x, self.operator = inducing, x, operator

    @property
    def terms(self):
        """Additive terms of the kernel."""
        return self.inducing.terms

    @property
    def mean(self) -> nn.Parameter:
        """The prior mean."""
        return self.inducing.mean

    def prior(self, x1: Inputs, x2: Inputs) -> Tensor:
        """Dense prior covariance between inputs."""
        return self.inducing.prior(x1, x2)

    def evidence(self, y: PerBag, noise: Tensor) -> Tensor:
        """The bound at the best q; noise as variances (M,) or as a matrix (M, M)."""
        bags = self.bag_features()
        rows = self.operator.weights.mT @ bags
        matrix = noise if noise.dim() == 2 else torch.diag(noise)
        value = gaussian_log_density(self._gap(y), rows @ rows.mT + matrix, _NAME, _JITTER)
        return value + self._correction(rows, bags, noise)

    def _correction(self, rows: Tensor, bags: Tensor, noise: Tensor) -> Tensor:
        """-tr(Λ⁻¹ R) / 2, from features of targets (M, m) and of bags (B, m)."""
        unexplained, w = self._unexplained(bags), self.operator.weights
        if noise.dim() == 1:
            return -0.5 * ((w * (unexplained @ w)).sum(0) / noise).sum()
        rest = w.mT @ unexplained @ w
        return -0.5 * torch.cholesky_solve(rest, cholesky(noise, "noise")).trace()

    @torch.no_grad()
    def condition(self, y: PerBag, noise: Tensor) -> None:
        """Keep the best q at the present hyperparameters."""
        rows = self.operator.weights.mT @ self.bag_features()
        scaled = (rows / noise[:, None] if noise.dim() == 1
                  else torch.cholesky_solve(rows, cholesky(noise, "noise")))
        root = root_of_precision(rows.mT @ scaled)
        mean = torch.cholesky_solve((scaled.mT @ self._gap(y))[:, None], root)[:, 0]
        self.inducing.set_q(mean, torch.cholesky_inverse(root))

    def marginals(self, x: Inputs, effect: float = 0.0, own: Tensor | None = None
                  ) -> tuple[Tensor, Tensor]:
        """Mean and variance of f at standardised inputs (n,)."""
        parts = [self.inducing.marginals(x[rows]) for rows in slices(len(x), len(self.x))]
        mean, variance = (torch.cat(part) for part in zip(*parts, strict=True))
        return mean, variance

    @torch.no_grad()
    def joint(self, x: Inputs) -> tuple[Tensor, Tensor]:
        """Mean (n,) and covariance (n, n) of f at standardised inputs."""
        q, seen = self.inducing, self.inducing.project(x)
        explained = seen.features @ q.q_covariance @ seen.features.mT
        covariance = q.unexplained(x, seen.features) + explained
        return seen.offset + seen.features @ q.q_mean, covariance

    @torch.no_grad()
    def joint_of_bags(self, x: Inputs, operator: AggregationOperator) -> tuple[Tensor, Tensor]:
        """Mean (B,) and covariance (B, B) of A f for other bags."""
        q, seen = self.inducing, self.inducing.project(x)
        rows = operator.rows(seen.features)
        inexact = [term for term in self.terms if not term.finite_rank]
        covariance = rows @ q.q_covariance @ rows.mT + operator.gram(inexact, x)
        for term, (start, stop) in zip(self.terms, q.blocks().values(), strict=True):
            if not term.finite_rank:
                covariance = covariance - rows[:, start:stop] @ rows[:, start:stop].mT
        return operator(seen.offset) + rows @ q.q_mean, covariance

    def aggregate(self, x: Inputs, operator: AggregationOperator) -> tuple[Tensor, Tensor]:
        """Mean and variance of A f for other bags (B,)."""
        mean, variance = self.inducing.aggregate(x, operator)
        return mean, variance.clamp_min(0)

    @torch.no_grad()
    def conditional_means(self, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance (n,) of means of f with weights of bags (B, n)."""
        bags, q = self.bag_features(), self.inducing
        rows = weights.mT @ bags
        prior = (weights * (self._unexplained(bags) @ weights)).sum(0)
        return (self.operator.total(weights) * q.mean + rows @ q.q_mean,
                (prior + ((rows @ q.q_covariance) * rows).sum(1)).clamp_min(0))

    def _gap(self, y: PerBag) -> PerBag:
        return y - self.operator.constant(self.mean)

    def bag_features(self) -> Tensor:
        """Means of the whitened features over bags (B, m): aggregate, then project."""
        base, parts = self.operator.base, []
        for term, z in zip(self.terms, self.inducing.inducing, strict=True):
            if z is None:
                parts.append(base.rows(term.basis(self.x)))
                continue
            if term.has_basis:
                basis = bag_basis(term, self.x, base.bags, base.coefficients().to(self.x))
                cross = basis @ term.basis(z).mT
            else:
                cross = (base.rows(term(self.x, z)) if torch.is_grad_enabled()
                         else base.cross([term], z, self.x).mT)
            root = cholesky(term(z, z), f"inducing covariance of {term.name}")
            parts.append(torch.linalg.solve_triangular(root, cross.mT, upper=False).mT)
        return torch.cat(parts, 1)

    def _unexplained(self, bags: Tensor) -> Tensor:
        """K̄ - Φ̄Φ̄ᵀ (B, B); terms that their weights explain exactly are left out."""
        inexact = [term for term in self.terms if not term.finite_rank]
        total = self.operator.bag_gram(inexact, self.x) if inexact else torch.zeros(()).to(bags)
        for term, (start, stop) in zip(self.terms, self.inducing.blocks().values(), strict=True):
            if not term.finite_rank:
                part = bags[:, start:stop]
                total = total - part @ part.mT
        return total


def root_of_precision(square: Tensor) -> Tensor:
    """Cholesky root of I + ``square``, the precision of q (m, m).

    Raises
    ------
    FactorisationError
        If it is not positive definite.
    """
    return factor(torch.eye(len(square)).to(square) + square, "precision of q")
