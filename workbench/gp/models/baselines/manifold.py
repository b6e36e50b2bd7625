"""The manifold penalty: f should differ little between individuals that are alike.

R = fᵀ(D - K)f = ½ Σ_ij k(x_i, x_j) (f_i - f_j)², D the row sums of K: the graph Laplacian of the
similarities k. With random Fourier features K ≈ ΦΦᵀ, and

    R = (Φᵀ1)·(Φᵀf²) - |Φᵀf|²,

which costs O(N F) for F features and never holds K.

References
----------
Law et al. 2018, appendix B; Belkin, Niyogi and Sindhwani 2006, Manifold regularization; Rahimi and
Recht 2007, Random features for large-scale kernel machines.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from workbench.gp.data.bags import Columns
from workbench.gp.kernels.grammar import build
from workbench.gp.numerics.shapes import Inputs

# The authors' own: the penalty is the same one for every initialisation of a model.
FEATURE_SEED = 23
FEATURES, MOST = 500, 20_000
_KEPT = 32_000_000      # entries of the features that are kept between steps (256 MB)


class RandomFeatures:
    """Random Fourier features φ of the rbf kernel: φ(x)ᵀφ(x') has mean k(x, x') over the seeds.

    Parameters
    ----------
    columns : Columns
        What the columns of ``x`` are.
    x : Tensor (N, D)
        Standardised training inputs, whose median distance is the lengthscale.
    count : int
        Number of features.
    seed : int
        Seed of the frequencies.
    """

    def __init__(self, columns: Columns, x: Inputs, count: int = FEATURES,
                 seed: int = FEATURE_SEED):
        generator = np.random.default_rng(seed)
        term, = build("rbf", columns, x)
        lengthscale = term.kernel.base_kernel.lengthscale.detach().cpu().double()
        self.columns = list(term.columns)
        self.scale = math.sqrt(2 * float(term.kernel.outputscale.detach()) / count)
        self.phase = torch.as_tensor(generator.uniform(0, 2 * math.pi, count)).to(x)
        # Draws from the spectral density.
        draws = torch.as_tensor(generator.standard_normal((count, len(self.columns))))
        self.frequencies = (draws / lengthscale).to(x)

    def __len__(self) -> int:
        return len(self.phase)

    def __call__(self, x: Inputs) -> Float[Tensor, "N F"]:
        """Features of standardised inputs (N, F)."""
        return self.scale * torch.cos(x[:, self.columns] @ self.frequencies.mT + self.phase)


class ManifoldPenalty:
    """R / n² of n training individuals: the average over pairs, ½ mean k(x_i, x_j) (f_i - f_j)².

    Features are kept where they are few.

    Parameters
    ----------
    features : RandomFeatures
        Of the similarity of individuals.
    x : Tensor (N, D)
        Standardised training inputs, sorted by bag.
    most : int
        Of more individuals the average is taken over about as many, evenly spread.
    """

    def __init__(self, features: RandomFeatures, x: Inputs, most: int = MOST):
        self.features, self.x, self.most = features, x, most
        self._kept = features(x) if len(x) * len(features) <= _KEPT else None

    def __call__(self, rows: Tensor, f: Float[Tensor, " n"]) -> Tensor:
        """R / n² of the individuals in ``rows`` at their values of f, differentiable in f."""
        step = math.ceil(len(rows) / self.most)
        rows, f = rows[::step], f[::step]
        if self._kept is None:
            features = self.features(self.x[rows])
        else:
            features = self._kept if len(rows) == len(self.x) else self._kept[rows]
        return laplacian_penalty(features, f) / len(f)**2


def laplacian_penalty(features: Float[Tensor, "n F"], f: Float[Tensor, " n"]) -> Tensor:
    """R = fᵀ(D - ΦΦᵀ)f of the rows of Φ, differentiable in f.

    ΦΦᵀ has entries a little below zero between individuals far apart, so that R can be slightly
    negative where the exact one is near zero.
    """
    # R looks at differences alone; without a common level they keep their digits.
    f = f - f.mean().detach()
    powers = torch.stack([torch.ones_like(f), f, f.square()], 1)
    ones, first, second = (features.mT @ powers).unbind(1)
    return ones @ second - first.square().sum()
