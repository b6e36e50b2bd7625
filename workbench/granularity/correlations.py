"""Stationary correlation functions by name, as functions of the scaled distance |x - x'| / ℓ."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.checks import choose, reject, require
from workbench.granularity.points import as_points

Correlation = Callable[[np.ndarray], np.ndarray]


def matern12(distance: np.ndarray) -> np.ndarray:
    """exp(-r): Matérn 1/2, the Laplacian kernel of Shikuri 2025."""
    return np.exp(-distance)


def matern32(distance: np.ndarray) -> np.ndarray:
    """(1 + √3 r) exp(-√3 r): Matérn 3/2."""
    r = np.sqrt(3) * distance
    return (1 + r) * np.exp(-r)


def matern52(distance: np.ndarray) -> np.ndarray:
    """(1 + √5 r + 5r²/3) exp(-√5 r): Matérn 5/2."""
    r = np.sqrt(5) * distance
    return (1 + r + r**2 / 3) * np.exp(-r)


def rbf(distance: np.ndarray) -> np.ndarray:
    """exp(-r²/2): the Gaussian kernel of Shikuri 2025."""
    return np.exp(-(distance**2) / 2)


def rq(distance: np.ndarray, alpha: float = 1.0) -> np.ndarray:
    """(1 + r²/(2α))^(-α): rational quadratic; by name α is one, else pass a partial of this."""
    return (1 + distance**2 / (2 * alpha)) ** -alpha


CORRELATIONS: dict[str, Correlation] = {
    "matern12": matern12, "matern32": matern32, "matern52": matern52, "rbf": rbf, "rq": rq,
}
ALIASES = {"laplacian": "matern12", "gaussian": "rbf"}


def correlation(kernel: str | Correlation) -> Correlation:
    """The correlation function that a name stands for, or the callable itself.

    Parameters
    ----------
    kernel : str or callable
        A name or alias (``laplacian`` is matern12, ``gaussian`` is rbf), or a function of an array
        of scaled distances that is one at zero.

    Returns
    -------
    callable
        Correlations at an array of scaled distances.

    Raises
    ------
    InputError
        On an unknown name (the nearest is suggested), or a function that is not one at zero.
    """
    if callable(kernel):
        at_zero = np.asarray(kernel(np.zeros(2)))
        if at_zero.shape != (2,) or not np.allclose(at_zero, 1):
            raise reject("a correlation function that is 1 at distance 0 and keeps its input's "
                         "shape", f"{at_zero} at two zeros",
                         "divide by its value at zero and give that as the variance")
        return kernel
    return CORRELATIONS[ALIASES.get(kernel, choose("kernel", kernel, (*CORRELATIONS, *ALIASES)))]


def gram(a: np.ndarray, b: np.ndarray, kernel: str | Correlation, lengthscale=1.0,
         variance: float = 1.0) -> np.ndarray:
    """Covariances (n, m) between two sets of points, shapes (n, d) and (m, d).

    Parameters
    ----------
    a, b : array-like (n, d) and (m, d), or (n,) and (m,) on a line
        Points, in the unit of the lengthscale.
    kernel : str or callable
        See `correlation`.
    lengthscale : float or array (d,)
        Lengthscale, one or one per dimension.
    variance : float
        Prior variance.

    Returns
    -------
    array (n, m)
        Covariances.
    """
    from scipy.spatial.distance import cdist  # here: it would double the time of the import

    a, b = as_points(a, "first points"), as_points(b, "second points")
    if a.shape[1] != b.shape[1]:
        raise reject("points of one dimension", f"{a.shape[1]} and {b.shape[1]} columns",
                     "give both sets the same columns")
    scale = as_lengthscale(lengthscale, a.shape[1])
    check_variance(variance)
    return variance * np.asarray(correlation(kernel)(cdist(a / scale, b / scale)))


def check_variance(variance: float) -> None:
    """Raise `InputError` unless a prior variance is one positive number."""
    require(np.ndim(variance) == 0 and np.isfinite(variance) and variance > 0,
            f"variance {variance} is not a positive number; give the prior variance")


def as_lengthscale(lengthscale, dimension: int) -> np.ndarray:
    """Lengthscales as an array that divides points (n, dimension).

    Raises
    ------
    InputError
        Unless there is one, or one per dimension, and all are positive and finite.
    """
    scale = np.asarray(lengthscale, dtype=float)
    if scale.shape not in ((), (1,), (dimension,)):
        raise reject(f"one lengthscale or {dimension}", f"shape {scale.shape}",
                     "give a number, or one number per dimension")
    require(bool(np.all(np.isfinite(scale) & (scale > 0))),
            f"lengthscale {lengthscale} is not positive and finite; give it in the unit of the "
            "points")
    return scale
