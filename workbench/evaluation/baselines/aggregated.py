"""The likelihood of totals under a log-linear rate, and its penalised maximum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import xlogy


@dataclass(frozen=True)
class Totals:
    """Totals of areas, and the individuals that they are sums over.

    Parameters
    ----------
    x : array (individual, covariate)
        Standardised covariates.
    weight : array (individual,)
        Exposures.
    membership : array (individual,)
        Position of the area, sorted.
    value : array (bag,)
        Totals of counts.
    """

    x: np.ndarray
    weight: np.ndarray
    membership: np.ndarray
    value: np.ndarray

    def part(self, areas: np.ndarray) -> Totals:
        """Some areas alone, in the order given."""
        place = np.full(self.value.size, -1)
        place[areas] = np.arange(areas.size)
        chosen = np.flatnonzero(place[self.membership] >= 0)
        order = chosen[np.argsort(place[self.membership[chosen]], kind="stable")]
        return Totals(self.x[order], self.weight[order], place[self.membership[order]],
                      self.value[areas])

    def expected(self, beta: np.ndarray) -> np.ndarray:
        """Expected counts (individual,) at coefficients (1 + covariate,)."""
        return self.weight * np.exp(beta[0] + self.x @ beta[1:])

    def totals(self, beta: np.ndarray) -> np.ndarray:
        """Expected totals (bag,)."""
        return np.bincount(self.membership, self.expected(beta), self.value.size)

    def jacobian(self, beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Expected totals (bag,) and their derivatives (bag, 1 + covariate)."""
        expected = self.expected(beta)
        starts = np.flatnonzero(np.diff(self.membership, prepend=-1))
        total = np.add.reduceat(expected, starts)
        slopes = np.add.reduceat(expected[:, None] * self.x, starts, axis=0)
        return total, np.column_stack([total, slopes])


def solve(
    totals: Totals, ridge: float, start: np.ndarray | None = None
) -> tuple[np.ndarray, float]:
    r"""Coefficients of the penalised quasi-likelihood, and their effective number.

    Minimises :math:`\sum_b (M_b - Y_b \log M_b) / \sum_b Y_b + \frac{\alpha}{2} |\beta|^2` with
    :math:`M_b = \sum_i w_i e^{\beta_0 + x_i'\beta}` by a trust region with the Fisher information
    as Hessian; it is not convex, hence the start at the flat rate or nearby.

    Parameters
    ----------
    totals : Totals
        The data.
    ridge : float
        Alpha.
    start : array (1 + covariate,), optional
        Where to begin.

    Returns
    -------
    beta : array (1 + covariate,)
        Intercept and slopes.
    parameters : float
        Trace of the penalised inverse information times the information.
    """
    count = totals.value.sum()
    penalty = np.full(totals.x.shape[1] + 1, ridge)
    penalty[0] = 0.0
    if start is None:
        start = np.zeros(penalty.size)
        start[0] = np.log(count / totals.weight.sum())

    def objective(beta: np.ndarray) -> float:
        with np.errstate(over="ignore", invalid="ignore"):      # a step too far is taken back
            expected = totals.totals(beta)
            loss = (expected - xlogy(totals.value, expected)).sum() / count
        loss += 0.5 * np.sum(penalty * beta**2)
        return float(loss) if np.isfinite(loss) else np.inf

    last: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}

    def jacobian(beta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        key = beta.tobytes()        # gradient and information are asked for at the same place
        if key not in last:
            last.clear()
            last[key] = totals.jacobian(beta)
        return last[key]

    def gradient(beta: np.ndarray) -> np.ndarray:
        expected, slopes = jacobian(beta)
        return slopes.T @ (1 - totals.value / expected) / count + penalty * beta

    def information(beta: np.ndarray) -> np.ndarray:
        expected, slopes = jacobian(beta)
        return (slopes / expected[:, None]).T @ slopes / count + np.diag(penalty)

    found = minimize(objective, start, jac=gradient, hess=information, method="trust-exact",
                     options={"gtol": 1e-8, "maxiter": 500})
    penalised = information(found.x)
    free = penalised - np.diag(penalty)
    return found.x, float(np.trace(np.linalg.pinv(penalised) @ free))
