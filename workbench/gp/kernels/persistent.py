"""Effects that areas keep over periods, as one more term of the kernel.

Of what areas and individuals have of their own, some stays from period to period: u of an area, and
the nugget e of each individual. A total sees of these U = u + Σ s e, with the individuals' shares s
of the area, which is one variable for each area, of variance σ² + ν² Σ s². It is a Gaussian process
over areas, with that variance between individuals of the same area and no covariance with others;
its inducing variables are the areas' own U. What individual i has beside it, e_i - Σ s e with the
variance ν² (1 - 2 s_i + Σ s²), adds up to nothing in the area, in no period. It is independent of U
for individuals of equal weight, and taken to be so of others; under links that are not the identity
the shares of weight stand for those of the total. Of an area that is not known U is u,
and its individuals have all of their nugget.

References
----------
Knorr-Held 2000, Bayesian modelling of inseparable space-time variation in disease risk: the main
effect of an area beside its interaction with time.
"""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.kernels.grammar import Term, positive
from workbench.gp.kernels.parts import SameArea, Scaled, dense
from workbench.gp.numerics.shapes import Inputs, PerIndividual

#: Name of the term, and of its hyperparameter.
PERSISTENT = "persistent"
VARIANCE = f"{PERSISTENT}.variance"


class PersistentTerm(Term):
    """The term.

    Parameters
    ----------
    column : int
        Of the inputs: the one with numbers of areas, which is no input of another term.
    std : float
        Standard deviation that effects start with.
    concentration : Tensor (areas,)
        Sum of squared shares of each area's individuals, by the area's number.
    """

    def __init__(self, column: int, std: float, concentration: Tensor):
        kernel = Scaled(SameArea(active_dims=(column,)), outputscale_constraint=positive())
        kernel.outputscale = std**2
        super().__init__(PERSISTENT, kernel.to(concentration), ())
        self.column, self.concentration = column, concentration
        #: ``nugget.std``, a hyperparameter of the model; None without one.
        self.nugget = None

    def forward(self, x1: Inputs, x2: Inputs) -> Tensor:
        """As of `Term`."""
        return self._variance(x1)[..., None] * dense(self.kernel.base_kernel, x1, x2)

    def between(self, x1: Inputs, x2: Inputs) -> Tensor:
        """As of `Term`."""
        return self._variance(x1) * self.kernel.base_kernel(x1, x2, diag=True)

    def kept(self, number: Tensor) -> PerIndividual:
        """Variance of the nugget's part in U of areas by their numbers (...,); of others zero."""
        if self.nugget is None or not len(self.concentration):
            return torch.zeros(number.shape).to(self.concentration)
        known = (number >= 0) & (number < len(self.concentration))
        found = self.concentration[torch.where(known, number, 0)]
        return torch.where(known, found, 0.0) * self.nugget.natural.reshape(()).square()

    def loads(self, x: Inputs, z: Inputs) -> tuple[Tensor, PerIndividual]:
        """Whitened features at inputs, of which at most one is not zero: which, and its value.

        Parameters
        ----------
        x : Tensor (N, D)
            Inputs.
        z : Tensor (A, D)
            Those of the areas that are known, as of `areas_as_inputs`: in the order of numbers.

        Returns
        -------
        Tensor (N,) of int64, Tensor (N,)
            Rows of z, and values, which are zero of individuals in other areas.
        """
        known, number = self.numbers(z), self.numbers(x)
        if not len(known):
            return torch.zeros_like(number), self._variance(x) * 0
        row = torch.searchsorted(known, number).clamp_max(len(known) - 1)
        value = self._variance(x).sqrt()
        return row, torch.where(known[row] == number, value, torch.zeros_like(value))

    def numbers(self, x: Inputs) -> Tensor:
        """Numbers of areas among inputs (...,)."""
        # Those of clusters are means of equal ones, which rounding may leave a little away.
        return x[..., self.column].round().long()

    def _variance(self, x: Inputs) -> Tensor:
        return self.kernel.outputscale + self.kept(self.numbers(x))


def concentrations(bags: Bags) -> Tensor:
    """Sum of squared shares of weight in each known area (areas,), on average over periods."""
    if bags.recurring is None or not bool((bags.recurring >= 0).any()):
        return bags.weight.new_zeros(0)
    known = bags.recurring >= 0
    area, weight = bags.recurring[known], bags.weight[known]
    own = torch.as_tensor(bags.unaveraged).to(weight).expand(len(bags.x))[known]
    pairs, of = torch.stack([area, bags.membership[known]]).unique(dim=1, return_inverse=True)

    def added(values: Tensor, to: Tensor, count: int) -> Tensor:
        return torch.zeros(count).to(weight).index_add(0, to, values)

    share = weight / added(weight, of, pairs.shape[1])[of]
    squares, count = added(share.square() * own, of, pairs.shape[1]), int(area.max()) + 1
    times = added(torch.ones_like(squares), pairs[0], count)
    return added(squares, pairs[0], count) / torch.where(times > 0, times, 1.0)


def areas_as_inputs(bags: Bags, x: Inputs) -> Inputs:
    """One input for each area that is known (A, D), whose last column is its number."""
    known = bags.recurring[bags.recurring >= 0].unique().to(x)
    return torch.cat([x.new_zeros(len(known), x.shape[1] - 1), known[:, None]], 1)
