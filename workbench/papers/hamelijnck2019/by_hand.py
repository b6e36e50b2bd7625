"""What the notebooks check models against: quadrature and bare matrices, without their code."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.integrate import quad

from workbench.bagging import bag_boxes

#: Stationary kernels of unit variance and lengthscale, by distance.
KERNELS = {"rbf": lambda d: np.exp(-0.5 * d**2),
           "matern32": lambda d: (1 + np.sqrt(3) * d) * np.exp(-np.sqrt(3) * d)}


def mean_variance(kernel: str, length: float) -> float:
    """Prior variance of the mean of f over an interval, by adaptive quadrature.

    Parameters
    ----------
    kernel : {"rbf", "matern32"}
        With variance and lengthscale one.
    length : float
        Of the interval, in lengthscales.

    Examples
    --------
    >>> round(mean_variance("rbf", 1.0), 3)
    0.924
    """
    return quad(lambda d: 2 * (length - d) * KERNELS[kernel](d), 0, length)[0] / length**2


def rule_error(kernel: str, length: float, rule: str, nodes: int) -> float:
    """Relative error of that variance with the nodes that `workbench.bag_boxes` takes.

    Parameters
    ----------
    kernel, length : str, float
        As of `mean_variance`.
    rule : {"midpoint", "gauss-legendre"}
        Where the nodes lie.
    nodes : int
        How many there are.

    Examples
    --------
    >>> f"{rule_error('rbf', 4.0, 'gauss-legendre', 5):.0e}"
    '2e-05'
    """
    table = pd.DataFrame({"from": [0.0], "to": [length], "y": [0.0]})
    ds = bag_boxes(table, "y", {"t": ("from", "to")}, nodes=nodes, rule=rule)
    x, w = ds["covariates"].values[:, 0], ds["weight"].values / ds["weight"].values.sum()
    return abs(w @ KERNELS[kernel](np.abs(x[:, None] - x)) @ w / mean_variance(kernel, length) - 1)


def composite_variance(x: np.ndarray, at: np.ndarray, power: float, aggregate_noise: float, *,
                       point_noise: float = 0.25, size: int = 3, variance: float = 14.3,
                       lengthscale: float = 1.09) -> float:
    """Mean posterior variance of f given points and means of the same points, to a power.

    Parameters
    ----------
    x : array (N,)
        Places of the points, an RBF kernel's inputs.
    at : array (T,)
        Where f is wanted.
    power : float
        Of both likelihoods; noise variances are divided by it.
    aggregate_noise, point_noise : float
        Noise variances of a mean and of a point.
    size : int
        Points in each mean; those left over at the end are in none.
    variance, lengthscale : float
        Of the kernel; by default those of the points of `dependent-sources` with seed 0.

    Returns
    -------
    float
        In squared units of f.

    References
    ----------
    Hamelijnck et al. 2019, figure 2 (left).

    Examples
    --------
    >>> x = np.arange(6.0)
    >>> once = composite_variance(x, x, 1.0, 0.25 / 3)
    >>> composite_variance(x, x, 0.5, 0.25 / 3) > once
    True
    """
    def k(a, b):
        return variance * np.exp(-0.5 * ((a[:, None] - b) / lengthscale) ** 2)

    count = len(x) // size
    means = np.kron(np.eye(count), np.full((1, size), 1 / size)) @ np.eye(count * size, len(x))
    rows = np.vstack([np.eye(len(x)), means])
    noise = np.r_[np.full(len(x), point_noise), np.full(count, aggregate_noise)] / power
    cross = k(at, x) @ rows.T
    known = np.linalg.solve(rows @ k(x, x) @ rows.T + np.diag(noise), cross.T)
    return float((variance - (cross * known.T).sum(1)).mean())
