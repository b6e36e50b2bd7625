"""Whether chains have converged: rank-normalised split R̂ and the effective number of draws.

Computed by arviz-stats.

References
----------
Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021, Rank-normalization, folding, and
localization: an improved R̂ for assessing convergence of MCMC, eqs. (4), (10) and section 4.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.checks import require


def rhat(draws: np.ndarray) -> np.ndarray:
    """Rank-normalised split R̂ of every entry, the worse of bulk and tail; near one if converged.

    Parameters
    ----------
    draws : array (C, S, ...)
        C ≥ 2 chains of S ≥ 4 draws.

    Raises
    ------
    InputError
        If there are too few chains or draws.
    """
    require(np.shape(draws)[0] >= 2, f"expected two chains or more, got {np.shape(draws)[0]}: "
            "a single chain cannot show that it depends on its start")
    return _each(lambda statistics, one: statistics.rhat(one, chain_axis=0, draw_axis=1), draws)


def effective_size(draws: np.ndarray, method: str = "bulk") -> np.ndarray:
    """Effective number of draws of every entry, of all chains together.

    Parameters
    ----------
    draws : array (C, S, ...)
        Chains of S ≥ 4 draws.
    method : {"bulk", "tail", "mean", "sd"}
        Of what: the rank-normalised bulk, the 5 % and 95 % quantiles, the mean, the spread.

    Raises
    ------
    InputError
        If there are too few draws.
    """
    options = {"prob": (0.05, 0.95)} if method == "tail" else {}
    return _each(lambda statistics, one: statistics.ess(one, chain_axis=0, draw_axis=1,
                                                        method=method, **options), draws)


def _each(measure: Callable, draws: np.ndarray) -> np.ndarray:
    """The measure of every entry (...) of draws (C, S, ...)."""
    draws = np.asarray(draws, dtype=float)
    require(draws.ndim >= 2 and draws.shape[1] >= 4, "expected draws (chains, steps, ...) of four "
            f"steps or more, got shape {draws.shape}")
    # A tenth of a second, which not every import of the package should pay.
    from arviz_stats.base import array_stats

    flat = draws.reshape(*draws.shape[:2], -1)
    values = [float(measure(array_stats, flat[..., i])) for i in range(flat.shape[-1])]
    return np.array(values).reshape(draws.shape[2:])
