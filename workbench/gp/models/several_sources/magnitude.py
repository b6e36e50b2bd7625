"""The magnitude correction: weights of likelihoods from their curvature and their scores.

With H minus the Hessian of the log-likelihood in p parameters and J the variance of its gradient,

    Ribatet: φ = p / tr(H⁻¹ J),     Lyddon: φ = tr(H J⁻¹ H) / tr(H).

Of several sources H = Σ_a H_a. Each is taken to be right on its own, J_aa = H_a, so that the
dependence alone is corrected for:

    J = Σ_a H_a + Σ_{a≠b} H_a^½ R_ab H_b^½,

with R_ab the correlation of the scores of a and b, whitened by their own variability. A source that
is there twice has R_ab = I, and both weights are one half, exactly.

References
----------
Hamelijnck et al. 2019, sections 3.2 and B.4, with H and J as in B.4 (section 3.2 swaps them);
Ribatet et al. 2012; Lyddon et al. 2019.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from torch import Tensor, empty

from workbench.checks import ApproximationWarning, warn

_CONDITION = 1e6        # beyond which the curvature is called unreliable
_ABOVE = 1.25           # beyond which a common weight is worth a word


class CompositeWarning(ApproximationWarning):
    """The estimate of composite weights is unreliable."""


@dataclass(frozen=True)
class Weights:
    """Composite weights and what they were made of.

    Parameters
    ----------
    weights : Tensor (A,)
        One for each source.
    ribatet, lyddon : float
        Both estimates of the common weight; NaN where none was made.
    per_source : dict
        ``ribatet`` and ``lyddon`` of each source, (A,).
    condition : float
        Condition number of the curvature.
    notes : list of str
        What to say to the user.
    residuals : list of array (B,)
        Of fits to each source alone, in units of its noise; empty where none were made.
    """

    weights: Tensor
    ribatet: float = float("nan")
    lyddon: float = float("nan")
    per_source: dict = field(default_factory=dict)
    condition: float = float("nan")
    notes: list[str] = field(default_factory=list)
    residuals: list[np.ndarray] = field(default_factory=list)


def magnitudes(curvature: list[np.ndarray], scores: list[np.ndarray]) -> Weights:
    """Weights from curvature and scores of each source.

    Parameters
    ----------
    curvature : list of A arrays (p, p)
        Minus the Hessian of each source's log-likelihood.
    scores : list of A arrays (b, p)
        Gradient of each block of it; the blocks of one row lie together.

    Returns
    -------
    Weights
        Without ``weights``, which the caller chooses; with a `CompositeWarning` where the
        curvature is ill-conditioned, of which the well-determined directions are then used.
    """
    total = sum(curvature)
    values, vectors = np.linalg.eigh((total + total.T) / 2)
    top = max(float(values.max()), np.finfo(float).tiny)
    condition = float(top / values.min()) if values.min() > 0 else float("inf")
    kept = vectors[:, values > top / _CONDITION]
    notes = []
    if kept.shape[1] < len(values):
        notes.append(f"the curvature of the composite likelihood has condition number "
                     f"{condition:.1e}: its weights are unreliable and use {kept.shape[1]} of "
                     f"{len(values)} directions; fix hyperparameters that the data do not tell")
    h = [kept.T @ one @ kept for one in curvature]
    g = [one @ kept for one in scores]
    roots = [_root(one) for one in h]
    white = [one @ _inverse_root(one.T @ one) for one in g]
    count, p = len(h), kept.shape[1]
    few = len(scores[0]) < 3 * p
    if few:
        notes.append(f"{len(scores[0])} blocks of scores for {p} shared hyperparameters: the "
                     "composite weights are unreliable, as there are too few areas for them; fix "
                     "hyperparameters, use composite='none', or give weights by trust")
    cross = [[h[a] if a == b else roots[a] @ white[a].T @ white[b] @ roots[b]
              for b in range(count)] for a in range(count)]
    everything = sum(cross[a][b] for a in range(count) for b in range(count))
    rows = [sum((cross[a][b] + cross[b][a]) / 2 for b in range(count)) for a in range(count)]
    per_source = {
        "ribatet": np.array([_ribatet(h[a], rows[a]) for a in range(count)]),
        "lyddon": np.array([_lyddon(h[a], rows[a]) for a in range(count)])}
    common = {"ribatet": _ribatet(sum(h), everything), "lyddon": _lyddon(sum(h), everything)}
    notes += [f"the {name} weight is {value:.3g}, above one: scores of the sources oppose each "
              "other, by chance where there are few blocks of them; use composite='none' if "
              "the sources are independent, or give weights by trust"
              for name, value in common.items() if value > _ABOVE]
    for note in notes:
        warn(note, CompositeWarning)
    return Weights(empty(0), common["ribatet"], common["lyddon"], per_source, condition, notes)


def one_per_source(found: Weights, name: str) -> np.ndarray:
    """Weights of single sources (A,), the common one where a source's own cannot be right.

    A source that is there A times weighs 1/A, an independent one 1. A source that says little of
    the shared parameters has an estimate of its own far outside of that, or a negative one; a
    `CompositeWarning` and a note say so.
    """
    own, common = found.per_source[name], getattr(found, name)
    wild = ~((own > 0.5 / len(own)) & (own < 1.5))
    if wild.any():
        which = ", ".join(str(int(a)) for a in np.flatnonzero(wild))
        found.notes.append(f"{name} weights of single sources are unreliable at positions {which} "
                           f"({np.array2string(own[wild], precision=2)}), and the common one is "
                           "taken there: these sources likely say little of the shared "
                           "hyperparameters; give their weights by trust if they are known")
        warn(found.notes[-1], CompositeWarning)
    return np.where(wild, common, own)


def _ribatet(h: np.ndarray, j: np.ndarray) -> float:
    return len(h) / np.trace(np.linalg.pinv(h) @ j)


def _lyddon(h: np.ndarray, j: np.ndarray) -> float:
    return float(np.trace(h @ np.linalg.pinv(j) @ h) / np.trace(h))


def _root(matrix: np.ndarray) -> np.ndarray:
    """Symmetric root; directions of negative curvature (away from a maximum) carry nothing."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.sqrt(values.clip(0))) @ vectors.T


def _inverse_root(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    small = values <= 1e-12 * max(values.max(), np.finfo(float).tiny)
    inverse = np.where(small, 0.0, 1 / np.sqrt(np.where(small, 1.0, values)))
    return (vectors * inverse) @ vectors.T
