"""The conditional mean operator: what bags say of E[f(X) | Y = y] at any covariates y of a bag.

The estimator regresses the individuals on the covariates y of their bags by kernel ridge
regression. Covariates are the same for all individuals of a bag, so that its N x N system is one of
B equations: with P the indicator of bags and D their sizes,

    A = (L_yy + N λ I)⁻¹ L_yỹ = P D⁻¹ W,    W = (L_bb + N λ D⁻¹)⁻¹ L_bỹ,

and the shrinkage estimator is the same with B λ for N λ D⁻¹: bags of one size know no difference.

References
----------
Chau et al. 2021, eq. (1) and (9). The identity is not in the paper, which puts the cost of its
eq. (1) at O((Σ n_j)³).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from workbench.gp.data.bags import Bags
from workbench.gp.kernels.fourier import FourierBags
from workbench.gp.kernels.grammar import Term
from workbench.gp.kernels.operators import AggregationOperator, SegmentMean
from workbench.gp.numerics.linalg import cholesky
from workbench.gp.numerics.shapes import Inputs, PerBag

RIDGES = ("per-point", "shrinkage")
MEANS = ("known", "estimated")
_NAME, _JITTER = "Gram matrix of the mediators plus its ridge", 1e-12


class BagWeights(nn.Module):
    """W, the weights of bags in conditional means, at the present hyperparameters of ℓ and λ.

    Parameters
    ----------
    terms : list of Term
        Additive terms of ℓ on standardised mediators.
    bags, targets : Tensor (B, E), (M, E)
        Standardised mediators of the bags and of the targets.
    totals : Tensor (B,)
        Total weight of each bag; its size where weights are one.
    ridge : {"per-point", "shrinkage"}
        Whether a bag's ridge is N λ / n_j, or B λ for all bags.
    scale : callable
        Gives λ.

    Attributes
    ----------
    shares : Tensor (B,)
        What each bag counts for in the squared loss of which W is the minimiser: n_j / N where the
        ridge is per point, 1 / B in the shrinkage form. The ridge of a bag is λ over its share.
    """

    def __init__(self, terms: list[Term], bags: Inputs, targets: Inputs, totals: PerBag,
                 ridge: str, scale):
        super().__init__()
        self.terms, self.bags, self.targets = nn.ModuleList(terms), bags, targets
        self.scale = scale
        even = torch.full_like(totals, 1 / len(totals))
        self.shares = totals / totals.sum() if ridge == "per-point" else even
        self.ridges = 1 / self.shares

    def kernel(self, one: Inputs, other: Inputs) -> Tensor:
        """ℓ between mediators."""
        return sum(term(one, other) for term in self.terms)

    def system(self) -> Tensor:
        """L_bb plus the ridge of each bag (B, B)."""
        return self.kernel(self.bags, self.bags) + torch.diag(self.scale() * self.ridges)

    def weights(self, at: Inputs | None = None) -> Tensor:
        """W (B, M) for the targets, or for other standardised mediators."""
        root = cholesky(self.system(), _NAME, _JITTER)
        return torch.cholesky_solve(self.kernel(self.bags, self.targets if at is None else at),
                                    root)


class ConditionalMeanOperator(AggregationOperator):
    """Aᵀ of a conditional mean: from values of N individuals to conditional means at M targets.

    `refresh` must be called whenever hyperparameters of ℓ or the ridge have moved.

    Parameters
    ----------
    bags : Bags
        The bags whose covariates are known.
    mean : BagWeights
        Their weights in the targets.
    estimated : bool
        Whether a constant's conditional mean is estimated, too (after eq. (3)); its weights sum
        to less than one, by the ridge. By default it is known: the constant.
    features : int
        Random frequencies of the kernel that the posterior is conditioned by; 0 for the kernel
        itself. The evidence is always the kernel's own. After a change condition again.
    """

    def __init__(self, bags: Bags, mean: BagWeights, estimated: bool = False,
                 features: int = 0):
        self.bags, self.mean, self.base = bags, mean, SegmentMean(bags)
        self.estimated, self.features = estimated, features
        self.squares = squares(bags)
        self._kept: tuple | None = None
        self._waves: tuple | None = None
        self.refresh()

    def refresh(self) -> None:
        """Compute W at the present hyperparameters."""
        self.weights = self.mean.weights()

    def coefficients(self) -> Tensor:
        """There is no single entry per individual: use the operator of the bags, ``base``."""
        raise TypeError("a conditional mean weighs every individual in every target")

    def __call__(self, values: Tensor) -> Tensor:
        """Conditional means of the last axis (..., M)."""
        return self.base(values) @ self.weights

    def constant(self, value: Tensor) -> Tensor:
        """Conditional means of a constant (M,)."""
        return self.total(self.weights) * value

    def total(self, weights: Tensor) -> Tensor:
        """Conditional means of one (n,), for weights of bags (B, n)."""
        return weights.sum(0) if self.estimated else torch.ones(weights.shape[1]).to(weights)

    def expectation(self, means: PerBag, weights: Tensor) -> PerBag:
        """Conditional means (n,) of a function with these means over bags, by weights (B, n).

        Whether that of its overall mean is known or estimated is that of a constant.
        """
        centre = self.centre(means)
        return (means - centre) @ weights + self.total(weights) * centre

    def centre(self, means: PerBag) -> Tensor:
        """Mean over all individuals of a function with these means over bags ()."""
        return self.bags.totals @ means / self.bags.totals.sum()

    def rows(self, values: Tensor) -> Tensor:
        """Conditional means of rows (M, ...)."""
        return self.weights.mT @ self.base.rows(values)

    def dense(self) -> Tensor:
        """Aᵀ as a dense matrix (M, N); for tests and small data."""
        return self.weights.mT @ self.base.dense()

    def gram(self, terms: list[Term], x: Inputs) -> Tensor:
        """Aᵀ K A = Wᵀ K̄ W, with K̄ the means of the kernel over pairs of bags."""
        return self.weights.mT @ self.bag_gram(terms, x) @ self.weights

    def bag_gram(self, terms: list[Term], x: Inputs) -> Tensor:
        """K̄ (B, B); without gradients it is kept while the kernel stays as it is."""
        if torch.is_grad_enabled():
            return self.base.gram(terms, x)
        if self._kept is None or not _as_they_were(terms, self._kept[0]):
            self.cache_gram(terms, self.base.gram(terms, x))
        return self._kept[1]

    def _fourier(self, terms: list[Term], x: Inputs) -> FourierBags:
        """Kept while the kernel stays as it is: maps are made in parts."""
        if self._waves is None or self._waves[0] != self.features or not _as_they_were(
                terms, self._waves[1]):
            self._waves = self.features, _values(terms), FourierBags(
                terms, x, self.bags, self.base.coefficients(), self.features)
        return self._waves[2]

    def cache_gram(self, terms: list[Term], gram: Tensor) -> None:
        """Keep K̄ (B, B) of these terms as they are now, known from elsewhere."""
        self._kept = _values(terms), gram

    def share_cache(self, other: ConditionalMeanOperator) -> None:
        """Take over what another operator on the same bags has computed."""
        self._kept = other._kept

    def cross(self, terms: list[Term], new: Inputs, x: Inputs) -> Tensor:
        """K(new, x) A (n, M)."""
        if self.features:
            return self._fourier(terms, x).cross(new) @ self.weights
        return self.base.cross(terms, new, x) @ self.weights

    def posterior_bag_gram(self, terms: list[Term], x: Inputs) -> Tensor:
        """K̄ (B, B) of the kernel that `cross` is of."""
        return self._fourier(terms, x).gram() if self.features else self.bag_gram(terms, x)

    def posterior_gram(self, terms: list[Term], x: Inputs) -> Tensor:
        """Wᵀ K̄ W of the kernel that `cross` is of."""
        return self.weights.mT @ self.posterior_bag_gram(terms, x) @ self.weights

    def posterior_prior(self, terms: list[Term], one: Inputs, other: Inputs, x: Inputs) -> Tensor:
        """K between inputs, of the kernel that `cross` is of."""
        if self.features:
            return self._fourier(terms, x).prior(one, other)
        return super().posterior_prior(terms, one, other, x)

    def posterior_variances(self, terms: list[Term], new: Inputs, operator: AggregationOperator,
                            x: Inputs) -> Tensor:
        """diag(A K Aᵀ) for other bags, of the kernel that `cross` is of."""
        if self.features:
            return self._fourier(terms, x).variances(new, operator.bags, operator.coefficients())
        return super().posterior_variances(terms, new, operator, x)

    def noise(self) -> Tensor:
        """Aᵀ A (M, M), by which white noise of individuals enters the targets (eq. 100)."""
        return self.weights.mT @ (self.squares[:, None] * self.weights)


def _values(terms: list[Term]) -> list[Tensor]:
    return [p.detach().clone() for term in terms for p in term.parameters()]


def _as_they_were(terms: list[Term], values: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(_values(terms), values, strict=True))


def squares(bags: Bags) -> PerBag:
    """Σ a² over each bag: white noise of individuals that is left in its weighted mean (B,)."""
    a = SegmentMean(bags).coefficients()
    return torch.zeros(bags.count).to(a).index_add(
        0, bags.membership, a.square() * bags.unaveraged)


def spacing(y: Inputs, columns: tuple[int, ...]) -> float:
    """Median distance of a bag's mediators to the nearest other ones."""
    points = torch.unique(y[:, list(columns)], dim=0)
    if len(points) < 2:
        return 1.0
    distances = torch.cdist(points, points)
    distances.diagonal().fill_(torch.inf)
    return float(distances.amin(1).median())
