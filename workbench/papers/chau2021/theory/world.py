"""A world in which the deconditional mean operator, its risk and its minimiser are known.

X and Y are uniform on G midpoints of [0, 1], where c_0 = 1 and c_s = √2 cos(πs·) are orthonormal.
X is Y plus noise reflected at both ends, with p(x | y) = (1/G) Σ_{s<K} ρ_s c_s(x) c_s(y) and
Fejér's weights ρ_s = 1 - s/K, for which it is not negative. The kernels are
ℓ = Σ_{s<d} ω_s c_s c_s, of finite rank, and k = Σ_{s<G} κ_s c_s c_s, of full rank and so
characteristic on the midpoints.

In the orthonormal bases √ω_s c_s of H_ℓ and √κ_s c_s of H_k all operators are matrices, and those
of the population diagonal: C = diag(ρ_s √(κ_s/ω_s)) and, where ρ_s > 0, D_P = diag(√(ω_s/κ_s)/ρ_s).
The d - K cosines that conditioning destroys cannot be had back: E_d(D_P) = Σ_{K≤s<d} ω_s. To the
regression they are noise.

A sample is its counts on the G² pairs, a multinomial draw: samples of any size cost the same, and
nothing is approximated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.checks import require
from workbench.papers.chau2021.theory.reconstruction import ReconstructionRisk

_DECAY = 2.0      # of the spectrum of k, in the number of the cosine


@dataclass(frozen=True)
class CosineWorld:
    """The world of the module.

    Parameters
    ----------
    kept, lost : int
        K and d - K: cosines of ℓ that conditioning keeps and destroys.
    grid : int
        G, midpoints for x and for y; at least d.
    eigenvalue : float
        The least eigenvalue κ_s ρ_s² that is not zero of the covariance E[μ_Y ⊗ μ_Y] of embeddings:
        it sets the scale of k. Rates are asymptotic in ε over it.
    """

    kept: int = 3
    lost: int = 2
    grid: int = 32
    eigenvalue: float = 1.0

    def __post_init__(self) -> None:
        require(self.kept >= 1 and self.lost >= 0 and self.grid >= self.rank,
                f"kept = {self.kept}, lost = {self.lost}, grid = {self.grid} is not a valid world; "
                "keep at least one cosine, and a grid of at least kept + lost")
        require(self.eigenvalue > 0, f"eigenvalue {self.eigenvalue} is not positive; give e.g. 1")

    @property
    def rank(self) -> int:
        """d, the dimension of H_ℓ."""
        return self.kept + self.lost

    @cached_property
    def places(self) -> np.ndarray:
        """The midpoints (G,), for x and for y."""
        return (np.arange(self.grid) + 0.5) / self.grid

    @cached_property
    def reach(self) -> np.ndarray:
        """ρ (G,): correlation of c_s(X) and c_s(Y)."""
        return np.maximum(1 - np.arange(self.grid) / self.kept, 0)

    @cached_property
    def outer_spectrum(self) -> np.ndarray:
        """ω (d,), of ℓ: all ones."""
        return np.ones(self.rank)

    @cached_property
    def inner_spectrum(self) -> np.ndarray:
        """κ (G,), of k."""
        shape = (1.0 + np.arange(self.grid)) ** -_DECAY
        return shape * self.eigenvalue / (shape * self.reach**2)[: self.kept].min()

    @cached_property
    def cosines(self) -> np.ndarray:
        """c_s (G, G) at the midpoints, one column per s."""
        waves = np.sqrt(2) * np.cos(np.pi * self.places[:, None] * np.arange(self.grid))
        waves[:, 0] = 1
        return waves

    @cached_property
    def outer_features(self) -> np.ndarray:
        """Features (G, d) of ℓ at the midpoints."""
        return self.cosines[:, : self.rank] * np.sqrt(self.outer_spectrum)

    @cached_property
    def inner_features(self) -> np.ndarray:
        """Features (G, G) of k at the midpoints."""
        return self.cosines * np.sqrt(self.inner_spectrum)

    @cached_property
    def joint(self) -> np.ndarray:
        """Probabilities (G, G) of the pairs (x, y), rows for x."""
        mass = (self.cosines * self.reach) @ self.cosines.T / self.grid**2
        return np.maximum(mass, 0) / np.maximum(mass, 0).sum()    # rounding may fall below zero

    @cached_property
    def conditional(self) -> np.ndarray:
        """C (G, d), the true conditional mean operator."""
        matrix = np.zeros((self.grid, self.rank))
        scale = np.sqrt(self.inner_spectrum[: self.rank] / self.outer_spectrum)
        np.fill_diagonal(matrix, self.reach[: self.rank] * scale)
        return matrix

    @cached_property
    def minimiser(self) -> np.ndarray:
        """D_P (d, G), the minimiser of the expected risk, of least norm."""
        matrix = np.zeros((self.rank, self.grid))
        scale = np.sqrt(self.outer_spectrum / self.inner_spectrum[: self.rank])[: self.kept]
        np.fill_diagonal(matrix[: self.kept], scale / self.reach[: self.kept])
        return matrix

    @property
    def least_risk(self) -> float:
        """E_d(D_P)."""
        return float(self.outer_spectrum[self.kept:].sum())

    def expected_risk(self) -> ReconstructionRisk:
        """E_d for operators as matrices (d, G) in the two bases, by quadrature over y.

        The midpoint rule is exact: Y lives on the midpoints. (For Y uniform on [0, 1] it would be
        exact for products of cosines with s + s' < 2 G.)
        """
        return ReconstructionRisk(
            np.eye(self.rank), self.outer_features, np.eye(self.grid),
            self.conditional @ self.outer_features.T, (self.outer_features**2).sum(1),
            np.full(self.grid, 1 / self.grid))

    def excess(self, operator: np.ndarray) -> float:
        """E_d(D) - E_d(D_P) = E |(D - D_P) μ_Y|², without the cancellation of a difference.

        The mixed term vanishes: what D_P leaves of ℓ_Y is uncorrelated with μ_Y.
        """
        spread = self.conditional * np.sqrt(self.outer_spectrum)
        return float((((operator - self.minimiser) @ spread) ** 2).sum())

    def draw(self, points: int, places: int,
             rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Counts (G, G) of ``points`` pairs (x, y), and (G,) of ``places`` independent ỹ."""
        pairs = rng.multinomial(points, self.joint.ravel()).reshape(self.joint.shape)
        return pairs, rng.multinomial(places, np.full(self.grid, 1 / self.grid))

    def first_stage(self, pairs: np.ndarray, ridge: float) -> np.ndarray:
        """Ĉ (G, d) from frequencies (G, G) of pairs; ``ridge`` is λ. Counts will do.

        Equation (1) in the bases: Ĉ = C_XY (C_YY + λ)⁻¹.
        """
        share = pairs / pairs.sum()
        second = (self.outer_features.T * share.sum(0)) @ self.outer_features
        both = self.inner_features.T @ share @ self.outer_features
        return np.linalg.solve(second + ridge * np.eye(self.rank), both.T).T

    def second_stage(self, conditional: np.ndarray, places: np.ndarray, ridge: float) -> np.ndarray:
        """D̂ (d, G) from Ĉ (G, d) and frequencies (G,) of ỹ; ``ridge`` is ε.

        With S the mean of ℓ_ỹ ⊗ ℓ_ỹ, D̂ = S Ĉᵀ (Ĉ S Ĉᵀ + ε)⁻¹ = S (ĈᵀĈ S + ε)⁻¹ Ĉᵀ.
        """
        share = places / places.sum()
        second = (self.outer_features.T * share) @ self.outer_features
        system = conditional.T @ conditional @ second + ridge * np.eye(self.rank)
        return second @ np.linalg.solve(system, conditional.T)

    def estimate(self, points: int, places: int, first: float, second: float,
                 rng: np.random.Generator) -> np.ndarray:
        """D̂ (d, G) from fresh samples of N points and M places, with ridges λ and ε."""
        pairs, others = self.draw(points, places, rng)
        return self.second_stage(self.first_stage(pairs, first), others, second)

    def limit(self, first: float, second: float) -> np.ndarray:
        """D (d, G) of infinite samples at ridges λ and ε: what the ridges alone do."""
        return self.second_stage(self.first_stage(self.joint, first), np.ones(self.grid), second)
