"""Risks of operators that are to map conditional mean embeddings back to ℓ_y."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class ReconstructionRisk:
    """Σ_i w_i |ℓ_yi - D μ_i|² + ε |D|² of D = Σ_pr Θ_pr u_p ⊗ v_r, with u in H_ℓ and v in H_k.

    With w = 1/M, y = ỹ and μ_i = Ĉℓ_ỹi it is the empirical risk (10); with ε = 0, the nodes and
    weights of a quadrature over P_Y, and the true conditional mean embeddings, the expected one.

    Parameters
    ----------
    outer : np.ndarray (P, P)
        Inner products of the u_p.
    cross : np.ndarray (I, P)
        ⟨ℓ_yi, u_p⟩.
    inner : np.ndarray (R, R)
        Inner products of the v_r.
    images : np.ndarray (R, I)
        ⟨v_r, μ_i⟩.
    diagonal : np.ndarray (I,)
        ℓ(y_i, y_i).
    weights : np.ndarray (I,)
        w.
    ridge : float
        ε.

    References
    ----------
    Chau et al. 2021, section 4 and equation (10). The paper writes the expected risk with the
    empirical Ĉ; its minimiser D_P and the theorem need the true operator, which is meant here.
    """

    outer: np.ndarray
    cross: np.ndarray
    inner: np.ndarray
    images: np.ndarray
    diagonal: np.ndarray
    weights: np.ndarray
    ridge: float = 0.0

    def value(self, theta) -> float:
        """The risk of the operator with the matrix Θ (P, R)."""
        theta = np.asarray(theta)
        fitted = theta @ self.images
        errors = (self.diagonal - 2 * (self.cross.T * fitted).sum(0)
                  + (fitted * (self.outer @ fitted)).sum(0))
        norm = float((theta * (self.outer @ theta @ self.inner)).sum())
        return float(self.weights @ errors) + self.ridge * norm

    def gradient(self, theta) -> np.ndarray:
        """Derivatives (P, R) of the risk in Θ."""
        theta = np.asarray(theta)
        residual = self.outer @ theta @ self.images - self.cross.T
        return 2 * ((residual * self.weights) @ self.images.T
                    + self.ridge * self.outer @ theta @ self.inner)
