"""Standard normal draws that are the same for every bag, whatever it is predicted with.

Each variable has the same ``samples`` values, the normal quantiles of the midpoints of equal
probabilities scaled to variance one, in an order of its own: the first orders come from a scrambled
Sobol sequence, further ones are random permutations. Averages over the draws of a function of one
variable are those of a quadrature rule, and they depend on nothing but the seed.
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.stats import norm, qmc
from torch import Tensor

_SOBOL = 8      # beyond some dimensions few points of a Sobol sequence lie no better than at random


class Draws:
    """Standard normals of the individuals of a bag, for each GP that is sampled.

    Parameters
    ----------
    samples : int
        Number of draws S, a power of two.
    seed : int
        Seed of the orders.
    stride : int
        Number of GPs that are sampled.
    rows : slice
        Which of the draws.
    """

    def __init__(self, samples: int, seed: int, stride: int, rows: slice = slice(None)):
        self.samples, self.seed, self.stride, self.rows = samples, seed, max(1, stride), rows
        scores = norm.ppf((np.arange(samples) + 0.5) / samples)
        self._scores = scores / scores.std()
        sobol = qmc.Sobol(_SOBOL, scramble=True, rng=np.random.default_rng(seed)).random(samples)
        self.orders = dict(enumerate(np.floor(sobol * samples).astype(int).T))

    @property
    def count(self) -> int:
        """How many draws."""
        return len(range(*self.rows.indices(self.samples)))

    def part(self, rows: slice) -> Draws:
        """Some of the draws."""
        out = object.__new__(Draws)
        out.__dict__.update(self.__dict__, rows=rows)
        return out

    def learnt(self) -> np.ndarray:
        """The orders so far (variables, S), which another version of SciPy may make otherwise."""
        return np.stack([self._order(column) for column in range(max(self.orders) + 1)])

    def __call__(self, variable: int, size: int, like: Tensor) -> Tensor:
        """Draws of the sampled GP at position ``variable`` for ``size`` individuals (S, size)."""
        last = variable + self.stride * (size - 1)
        values = np.stack([self._scores[self._order(column)]
                           for column in range(variable, last + 1, self.stride)], 1)
        return torch.as_tensor(values).to(like)[self.rows]

    def _order(self, column: int) -> np.ndarray:
        """The order of a variable, whichever thread asks for it first."""
        if column not in self.orders:
            generator = np.random.default_rng([self.seed, column])
            self.orders[column] = generator.permutation(self.samples)
        return self.orders[column]
