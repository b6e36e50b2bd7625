"""Noise of targets that are conditional means: of each target, and of individuals behind it."""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Bags, Targets
from workbench.gp.fields.mediated import ConditionalMeanOperator
from workbench.gp.models import assembly
from workbench.gp.models.conditional_mean.cmp_options import CMPOptions
from workbench.gp.numerics.shapes import PerBag
from workbench.gp.optimisation.hyperparameters import Hyperparameter


class TargetNoise:
    """σ² of the targets, constant or known, and ς² of white noise of individuals.

    Parameters
    ----------
    options : CMPOptions
        ``noise`` and ``nugget``.
    targets : Targets
        The targets; known variances are theirs.
    scale : float
        Spread of the values, for starts and priors.

    Raises
    ------
    InputError
        If ``known`` but the targets give no variances, or not all are positive.
    """

    def __init__(self, options: CMPOptions, targets: Targets, scale: float):
        self.items: list[Hyperparameter] = []
        self._variance = None
        self._known, self._like = targets.noise_variance, targets.value
        if options.noise == "known":
            require(self._known is not None, "noise='known' needs a noise_variance for every "
                    "target; these have none")
            bad = (~(self._known > 0)).nonzero()[:, 0].tolist()
            require(not bad, f"noise='known' needs a positive noise_variance for every target; of "
                    f"{len(self._like)} {len(bad)} have none (first: number "
                    f"{(bad or [0])[0]}, counted from 0)")
        else:
            self._variance = assembly.scalar_hyperparameter(
                "noise.variance", 0.1 * scale**2, "value²", None, self._like)
            self.items.append(self._variance)
        self._nugget = assembly.nugget_hyperparameter(options.nugget, scale, "value", self._like)
        self.items += [] if self._nugget is None else [self._nugget]

    @property
    def white(self) -> Tensor:
        """ς² ()."""
        return assembly.variance_of(self._nugget, self._like)

    @property
    def variance(self) -> PerBag:
        """σ² of each target (M,)."""
        if self._variance is None:
            return self._known
        return self._variance.natural.reshape(1).expand(len(self._like))

    def __call__(self, operator: ConditionalMeanOperator) -> Tensor:
        """σ² (M,); with noise of individuals σ² I + ς² Aᵀ A (M, M).

        References
        ----------
        Chau et al. 2021, eq. (106).
        """
        if self._nugget is None:
            return self.variance
        return torch.diag(self.variance) + self.white * operator.noise()

    def std(self, bags: Bags) -> PerBag:
        """Standard deviation of an observation of each given bag about its mean (B,).

        Raises
        ------
        InputError
            If the variances are known ones: those of other bags are not.
        """
        require(self._variance is not None, "noise='known' gives no noise variance for other "
                "bags; predict the parameter with over() instead of observations")
        return self._variance.natural.detach().reshape(1).expand(bags.count).sqrt()
