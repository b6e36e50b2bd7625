"""What a point predictor says of observations: their density and draws around one expected value.

The distributions are those of `workbench.likelihoods` where q has no spread, from
`torch.distributions`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from workbench.bags import Source
from workbench.checks import InputError, require
from workbench.likelihoods import require_counts
from workbench.models.options import Options


def likelihood_of(options: Options, source: Source) -> str:
    """``poisson`` or ``normal``, by the option and the kind of the source.

    Raises
    ------
    InputError
        If a Poisson likelihood meets means, or values that cannot be counts; or if the values are
        positives out of trials.
    """
    require(source.bags.trials is None, "the values are positives out of trials, for which the "
            "baselines have no likelihood; use vbagg, centre-point or constant, or drop the "
            "variable 'trials' and say by attributes what the values are")
    name = options.likelihood
    if name == "auto":
        name = "poisson" if source.kind == "count" else "normal"
    if name == "poisson":
        if source.aggregation != "sum":
            raise InputError(
                "the poisson likelihood needs bag totals, but the values are means; multiply them "
                "by the bags' weights, or use likelihood='normal'"
            )
        require_counts(source.targets.value)
    return name


def log_prob(y: Tensor, parameter: Tensor, std: Tensor | None) -> Tensor:
    """Log density of observations, elementwise.

    Parameters
    ----------
    y : Tensor (B,)
        Observations; fractional counts may stand for weighted ones.
    parameter : Tensor (B,)
        Their expected values.
    std : Tensor (B,) or None
        Standard deviations of Normal observations; None for Poisson counts.
    """
    if std is None:
        return torch.distributions.Poisson(parameter, validate_args=False).log_prob(y)
    return torch.distributions.Normal(parameter, std, validate_args=False).log_prob(y)


def draw(parameter: Tensor, std: Tensor | None, samples: int, seed: int) -> Tensor:
    """Observations around their expected values, (samples, B); arguments as of `log_prob`."""
    generator, size = np.random.default_rng(seed), (samples, len(parameter))
    if std is None:
        return torch.as_tensor(generator.poisson(parameter.cpu().numpy(), size)).to(parameter)
    return parameter + std * torch.as_tensor(generator.standard_normal(size)).to(parameter)
