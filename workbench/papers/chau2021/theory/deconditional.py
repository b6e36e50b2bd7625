"""The deconditional mean operator as the solution of a ridge regression with values in H_ℓ.

Given an estimate Ĉ of the conditional mean operator and places ỹ (M), with Q = q̂(ỹ, ỹ) = Aᵀ K A,

    D̂ = Ψ_ỹ (Q + Mε I)⁻¹ Aᵀ Φᵀ

maps H_k to H_ℓ, minimises the reconstruction risk (10) over all Hilbert-Schmidt operators, and
applied to observations z̃ gives f̂(x) = k(x, X) A (Q + Mε I)⁻¹ z̃: the posterior mean (7) of a
process with zero mean when Mε = σ².

References
----------
Chau et al. 2021, equations (2), (7), (10), proposition 4.1 and its proof, (41)-(52).
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from workbench.checks import reject, require
from workbench.papers.chau2021.theory.reconstruction import ReconstructionRisk


class DeconditionalMean:
    """The empirical deconditional mean operator.

    Parameters
    ----------
    covariance : np.ndarray (M, M)
        Q, from `GramEstimator.covariance`.
    ridge : float
        ε, positive; Mε acts as the noise variance of z̃, in their unit squared.

    Raises
    ------
    InputError
        On a matrix that is not square or a ridge that is not positive.
    """

    def __init__(self, covariance, ridge: float) -> None:
        covariance = np.asarray(covariance, dtype=float)
        if covariance.ndim != 2 or covariance.shape[0] != covariance.shape[1]:
            raise reject("a square covariance of conditional means", f"shape {covariance.shape}",
                         "give q̂ between all places")
        require(np.isfinite(ridge) and ridge > 0, f"ridge {ridge} is not positive; give e.g. 0.01")
        self.covariance, self.ridge = covariance, float(ridge)
        self.places = len(covariance)
        self._root = cho_factor(covariance + self.places * ridge * np.eye(self.places), lower=True)

    @property
    def coefficients(self) -> np.ndarray:
        """(Q + Mε I)⁻¹ (M, M): D̂ = Σ_ij coefficients_ij ℓ_ỹi ⊗ Ĉℓ_ỹj."""
        return cho_solve(self._root, np.eye(self.places))

    def embedding(self, at, cross) -> np.ndarray:
        """The deconditional mean embedding of X = x, evaluated at y, (S, T).

        Parameters
        ----------
        at : np.ndarray (T, M)
            k(x, X) A, from `GramEstimator.embedding` with ℓ(y_b, ỹ).
        cross : np.ndarray (S, M)
            ℓ(y, ỹ) from S places y.
        """
        return np.asarray(cross) @ cho_solve(self._root, np.asarray(at).T)

    def estimate(self, at, z) -> np.ndarray:
        """f̂(x) (T,) of equation (2) from aggregate observations z (M,); ``at`` (T, M) as above."""
        return np.asarray(at) @ cho_solve(self._root, np.asarray(z, dtype=float))

    def risk(self, gram) -> ReconstructionRisk:
        """Ê_d of equation (10) on the span of ℓ_ỹ and Ĉℓ_ỹ; ``gram`` (M, M) is ℓ(ỹ, ỹ).

        The span holds the minimiser; its matrix there is `coefficients`.
        """
        gram = np.asarray(gram, dtype=float)
        return ReconstructionRisk(gram, gram, self.covariance, self.covariance, np.diag(gram),
                                  np.full(self.places, 1 / self.places), self.ridge)

    def least_risk(self, gram) -> float:
        """Ê_d(D̂) = ε tr ℓ(ỹ, ỹ) (Q + Mε I)⁻¹, the least there is."""
        return float(self.ridge * np.trace(cho_solve(self._root, np.asarray(gram, dtype=float))))
