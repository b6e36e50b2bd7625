"""On which scale values that are no counts are modelled: their own, or the logarithm of the rate.

The areas' values per unit of weight are regressed on the areas' mean inputs, once as they are and
once as logarithms. The log-likelihoods of both, the second with the Jacobian of the logarithm, are
the Box-Cox profile at λ = 1 and λ = 0; a difference of `DECISIVE` nats and more for the logarithm
is taken as positive, skewed values, which a rate of exp(f) fits.

References
----------
Box and Cox 1964, An analysis of transformations, equation 8.
"""

from __future__ import annotations

import math

import numpy as np

from workbench.gp.data.bags import Source

DECISIVE = 2.0          # nats: half of what a likelihood-ratio test of 5 % asks for, and a little
_AREAS_PER_INPUT = 3    # fewer areas for each input than that: no regression, the mean alone
_FEWEST_AREAS = 5       # fewer have no shape
_RANK = 1e-9            # a column that differs by less, relative to its size, is constant


def log_scale_gain(source: Source) -> float:
    """Nats by which the logarithms of the areas' values are nearer to normal than the values.

    Parameters
    ----------
    source : Source
        Observed means or sums, which are divided by their total weight.

    Returns
    -------
    float
        Minus infinity where a value is zero or negative; zero where all are alike, or fewer than
        five.

    Examples
    --------
    >>> import numpy as np, workbench as wb
    >>> from workbench.labelled.source import to_source
    >>> ds = wb.load("swiss-roll", n_bags=30)
    >>> means = ds["value"].assign_attrs(kind="continuous", aggregation="mean")
    >>> log_scale_gain(to_source(ds.assign(value=means.copy(data=np.linspace(9, 11, 30))))) > 2
    False
    """
    rates = source.as_rates()
    y = rates.targets.value.cpu().numpy().astype(float)
    if y.min() <= 0:
        return -math.inf
    if y.size < _FEWEST_AREAS:
        return 0.0
    inputs = rates.bags.centres().x.cpu().numpy().astype(float)
    design = np.ones((y.size, 1))
    if y.size >= _AREAS_PER_INPUT * (inputs.shape[1] + 1):
        spread = np.ptp(inputs, axis=0)
        varying = spread > _RANK * np.abs(inputs).max(0)
        design = np.column_stack([design, ((inputs - inputs.mean(0)) / np.where(
            varying, spread, 1))[:, varying]])
    y = y / y.max()
    logarithms = np.log(y)
    raw, logged = _residual(y, design), _residual(logarithms, design)
    if min(raw, logged) <= np.finfo(float).eps:
        return 0.0          # nothing is left of either that would tell them apart
    return float(y.size * math.log(raw / logged) - logarithms.sum())


def _residual(y: np.ndarray, design: np.ndarray) -> float:
    """Root mean square of what a regression leaves."""
    fitted = design @ np.linalg.lstsq(design, y, rcond=_RANK)[0]
    return float(np.sqrt(np.mean((y - fitted)**2)))
