"""Lengthscales that are known, or known by draws or weighted values."""

from __future__ import annotations

import numpy as np

from workbench.checks import reject, require


def as_draws(lengthscale) -> tuple[np.ndarray, np.ndarray]:
    """Values (k,) and weights (k,), which sum to one, of a lengthscale or of a prior on it.

    Parameters
    ----------
    lengthscale : float, array (k,) or pair of arrays
        As of `workbench.granularity.advise_cells`.

    Returns
    -------
    values, weights : array (k,)
        Weights sum to one.

    Raises
    ------
    InputError
        On another shape, values that are not positive, or weights that are negative or all zero.
    """
    if isinstance(lengthscale, tuple):
        require(len(lengthscale) == 2, f"a pair (values, weights) has {len(lengthscale)} parts; "
                "give draws as an array or a list")
        values, weights = (np.asarray(part, dtype=float) for part in lengthscale)
    else:
        values = np.atleast_1d(np.asarray(lengthscale, dtype=float))
        weights = np.ones(values.shape)
    if values.ndim != 1 or values.shape != weights.shape or not values.size:
        raise reject("a number, draws (k,) or a pair of (k,) arrays",
                     f"shapes {values.shape} and {weights.shape}", "give one weight per value")
    require(bool((np.isfinite(values) & (values > 0)).all()), "lengthscales are not all positive "
            "and finite; leave the others out")
    require(bool((weights >= 0).all()) and 0 < weights.sum() < np.inf,
            "weights are negative or all zero; give non-negative numbers")
    return values, weights / weights.sum()


def lower_quantile(lengthscale, probability: float) -> float:
    """The largest given lengthscale that is exceeded or met with at least this probability.

    Parameters
    ----------
    lengthscale
        As of `as_draws`.
    probability : float
        Between 0 and 1.

    Returns
    -------
    float
        A lengthscale.
    """
    require(0 < probability <= 1, f"probability {probability} is outside 0 to 1; give e.g. 0.95")
    values, weights = as_draws(lengthscale)
    order = np.argsort(values)[::-1]
    reached = np.flatnonzero(np.cumsum(weights[order]) >= probability - 1e-12)
    return float(values[order][reached[0]])
