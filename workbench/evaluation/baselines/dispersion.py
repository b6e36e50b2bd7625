"""How much individuals vary about their expectation, inferred from how much totals do."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from workbench.checks import choose, require

DISPERSIONS = ("between", "individual", "area")


def log_sds(
    value: np.ndarray,
    expected: np.ndarray,
    membership: np.ndarray,
    parameters: float,
    dispersion: str,
    log_sd: float | None = None,
) -> tuple[float, float]:
    r"""Log standard deviations of individuals and of areas, from the residuals of totals.

    Counts are Poisson about :math:`m_i e^{\tau a_b + s e_i - (\tau^2 + s^2)/2}`. A total has

    .. math:: \mathrm{var}\,Y_b = M_b + (e^{\tau^2} - 1) M_b^2
              + e^{\tau^2} (e^{s^2} - 1) \sum_{i \in b} m_i^2

    Totals tell s and tau apart only by areas having more or fewer individuals, which is too
    little (least squares on the two parts ended at s = 0 for one map of Korea's districts). So s
    is a choice: estimates under the two extreme assumptions, or what lies between. Tau is then
    such that Pearson's statistic equals its degrees of freedom.

    Parameters
    ----------
    value : array (bag,)
        Totals.
    expected : array (individual,)
        m, expected counts.
    membership : array (individual,)
        Position of the area.
    parameters : float
        Effective number of parameters behind the expectations.
    dispersion : {"between", "individual", "area"}
        ``"individual"``: individuals vary independently and areas do not on top of it
        (:math:`\tau = 0`). Variation then averages out in totals, so that a little overdispersion
        of totals means much of individuals: the widest intervals. ``"area"``: areas vary as a
        whole, and the individuals within them as much again (:math:`s = \tau`): narrow.
        ``"between"``: s is the geometric mean of these two, as where neighbouring individuals vary
        alike, but not all in an area.
    log_sd : float, optional
        s if it is known.

    Returns
    -------
    s, tau : float
        Zero both where the totals vary no more than Poisson counts.
    """
    choose("dispersion", dispersion, DISPERSIONS)
    require(log_sd is None or log_sd >= 0, f"log_sd must be zero or more, got {log_sd}")
    total = np.bincount(membership, expected)
    squares = np.bincount(membership, expected**2)
    residual, degrees = (value - total) ** 2, max(value.size - parameters, 1.0)

    def solved(variance: Callable[[float], np.ndarray]) -> float:
        """Growth exp(s²) - 1 at which Pearson's statistic equals its degrees of freedom."""
        def excess(growth: float) -> float:
            return float(np.sum(residual / variance(growth)) - degrees)

        if excess(0.0) <= 0:
            return 0.0
        upper = 1e-3
        while excess(upper) > 0:
            upper *= 4
        return brentq(excess, 0.0, upper, xtol=1e-12)

    def both(area: float, own: float) -> np.ndarray:
        return total + area * total**2 + (1 + area) * own * squares

    if log_sd is None:
        wide = _log_sd(solved(lambda growth: both(0.0, growth)))
        if dispersion == "individual":
            return wide, 0.0
        narrow = _log_sd(solved(lambda growth: both(growth, growth)))
        if dispersion == "area":
            return narrow, narrow
        log_sd = float(np.sqrt(wide * narrow))
    own = np.expm1(log_sd**2)
    return float(log_sd), _log_sd(solved(lambda growth: both(growth, own)))


def _log_sd(growth: float) -> float:
    return float(np.sqrt(np.log1p(growth)))
