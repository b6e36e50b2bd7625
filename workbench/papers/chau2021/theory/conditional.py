"""Conditional mean operators estimated from bags, over Gram matrices.

N points x in B bags of sizes n_j, bag j with the covariate y_j; P (N, B) says which bag a point is
in, D = diag(n_j), L_bb = ℓ(y_j, y_j'). The estimate sends ℓ_y to Σ_i A_i(y) k(x_i, ·).

``naive``
    covariates replicated for every point: A = (P L_bb Pᵀ + Nλ I)⁻¹ P ℓ(y_b, y), an N x N solve;
``identity``
    the same operator. As y is constant in a bag, A = P D⁻¹ W with W = (L_bb + Nλ D⁻¹)⁻¹ ℓ(y_b, y):
    multiply by P L_bb Pᵀ + Nλ I and use PᵀP = D to get P (L_bb + Nλ D⁻¹) W = P ℓ(y_b, y). A
    B x B solve and averages over bags are all that is needed;
``shrinkage``
    each bag by its empirical mean embedding, all bags alike: A = P D⁻¹ W with
    W = (L_bb + Bλ I)⁻¹ ℓ(y_b, y).

The last two differ in the ridge alone, Nλ/n_j against Bλ, and agree for bags of one size.

References
----------
Chau et al. 2021, equation (1), section 3.3, equation (9), appendix C.1. The identity is ours.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from workbench.checks import choose, reject, require

ESTIMATORS = ("naive", "identity", "shrinkage")


class GramEstimator:
    """An estimate of the conditional mean operator of X given Y, from Gram matrices.

    `workbench.labelled.ConditionalMean` is the same operator for bagged datasets, with kernels by
    name in natural units.

    Parameters
    ----------
    gram : np.ndarray (B, B)
        L_bb, kernel ℓ between the covariates of the bags.
    membership : np.ndarray (N,)
        Position of each point's bag, from zero; points of a bag need not be neighbours.
    ridge : float
        λ, positive.
    estimator : {"identity", "naive", "shrinkage"}
        See the module.
    scaled : bool
        Whether λ is multiplied by N (naive and identity) or B (shrinkage), as in the paper's
        equations. Without it λ itself is the ridge of the matrix solved: then naive and shrinkage
        differ for bags of one size as well, by λ/n against λ.

    Raises
    ------
    InputError
        On shapes that do not fit, an empty bag, a ridge that is not positive or an unknown
        estimator.
    """

    def __init__(self, gram, membership, ridge: float, estimator: str = "identity", *,
                 scaled: bool = True) -> None:
        gram, membership = np.asarray(gram), np.asarray(membership)
        choose("estimator", estimator, ESTIMATORS)
        require(np.isfinite(ridge) and ridge > 0, f"ridge {ridge} is not positive; give e.g. 0.1")
        if gram.ndim != 2 or gram.shape[0] != gram.shape[1]:
            raise reject("a square Gram matrix of the bags' covariates", f"shape {gram.shape}",
                         "give one row and one column per bag")
        require(membership.ndim == 1 and np.issubdtype(membership.dtype, np.integer)
                and membership.size > 0 and membership.min() >= 0,
                "membership must hold one position of a bag per point, from zero")
        self.sizes = np.bincount(membership, minlength=len(gram))
        require(len(self.sizes) == len(gram) and bool((self.sizes > 0).all()),
                f"{len(gram)} bags of covariates do not fit the membership, which has "
                f"{np.unique(membership).size} bags with points, up to number {membership.max()}")
        self.membership, self.ridge, self.estimator = membership, float(ridge), estimator
        points, bags = len(membership), len(gram)
        if estimator == "naive":
            # transposed: the memory order of LAPACK, to be factored in place, as it may be huge
            matrix = gram[np.ix_(membership, membership)].T
            added = points * ridge if scaled else ridge
        else:
            matrix = gram.copy()
            each = (points if scaled else 1) / self.sizes
            added = ridge * (each if estimator == "identity" else bags if scaled else 1)
        matrix[np.diag_indices_from(matrix)] += np.asarray(added, dtype=matrix.dtype)
        self._root = cho_factor(matrix, lower=True, overwrite_a=True)

    def bag_weights(self, cross) -> np.ndarray:
        """W (B, M): how much of each bag's mean embedding is in the estimate at each y.

        Parameters
        ----------
        cross : np.ndarray (B, M)
            ℓ(y_b, y) from the bags to M places.
        """
        cross = self._checked(cross)
        if self.estimator != "naive":
            return cho_solve(self._root, cross)
        weights = np.zeros(cross.shape, dtype=cross.dtype)
        np.add.at(weights, self.membership, self.point_weights(cross))
        return weights

    def point_weights(self, cross) -> np.ndarray:
        """A (N, M): the weight of each point in the estimate at each y; ``cross`` (B, M)."""
        cross = self._checked(cross)
        if self.estimator == "naive":
            return cho_solve(self._root, cross[self.membership], overwrite_b=True)
        return (self.bag_weights(cross) / self.sizes[:, None])[self.membership]

    def embedding(self, at, cross) -> np.ndarray:
        """The estimate's embedding of X given Y = y, evaluated at x: k(x, X) A, (T, M).

        Parameters
        ----------
        at : np.ndarray (T, N)
            k(x, X) from T places to the points.
        cross : np.ndarray (B, M)
            ℓ(y_b, y) from the bags to M places.
        """
        if self.estimator == "naive":
            return np.asarray(at) @ self.point_weights(cross)
        return bag_means(np.asarray(at), self.membership) @ self.bag_weights(cross)

    def covariance(self, gram, cross) -> np.ndarray:
        """q̂(y, y') = Aᵀ K A, the prior covariance of conditional means, (M, M).

        Parameters
        ----------
        gram : np.ndarray (N, N)
            K, kernel k between the points; or (B, B), its means over pairs of bags. With as many
            bags as points, points are meant.
        cross : np.ndarray (B, M)
            ℓ from the bags to the places y.
        """
        gram, bags = np.asarray(gram), len(self.sizes)
        if gram.shape != (bags, bags) or bags == len(self.membership):
            gram = bag_means(bag_means(gram, self.membership).T, self.membership)
        left = self.bag_weights(cross)
        return left.T @ gram @ left

    def _checked(self, cross) -> np.ndarray:
        cross = np.asarray(cross)
        if cross.ndim != 2 or len(cross) != len(self.sizes):
            raise reject(f"ℓ from {len(self.sizes)} bags, one row each", f"shape {cross.shape}",
                         "give a matrix, with one column per place")
        return cross


def bag_means(at: np.ndarray, membership: np.ndarray) -> np.ndarray:
    """Means (T, B) over the points of each bag of the columns of an array (T, N)."""
    sizes = np.bincount(membership)
    if (np.diff(membership) >= 0).all():        # sorted by bag: no copy of all columns is needed
        return np.add.reduceat(at, np.r_[0, np.cumsum(sizes)[:-1]], axis=1) / sizes.astype(at.dtype)
    return bag_means(at[:, np.argsort(membership, kind="stable")], np.sort(membership))
