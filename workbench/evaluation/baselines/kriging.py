"""Area-to-point Poisson kriging: rates from the totals and places of areas, no covariates."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans

from workbench.checks import ApproximationWarning, InputError, require, warn, whole
from workbench.evaluation.baselines.fit import BaselineFit
from workbench.evaluation.baselines.method import Baseline
from workbench.schema import BAG

_FEWEST = 5
_FLOOR = 1e-3       # of the overall rate: kriged rates may be negative, expectations may not


class PoissonKriging(Baseline):
    r"""Area-to-point Poisson kriging of rates (Goovaerts 2006).

    Rates of points have a common mean and the covariance :math:`\sigma^2 e^{-d/\ell}`; an area's
    observed rate is the weighted mean over its points plus Poisson noise of variance m / weight.
    The weights of areas solve the ordinary kriging system with covariances averaged over areas by
    weight, so that predicted rates of an area average to its smoothed rate. Sill and range are
    those of the highest Gaussian restricted likelihood of the areas' rates, which deconvolves the
    variogram. No neighbourhoods: all areas are used, which must be five at least, with coordinates.

    Parameters
    ----------
    support : int
        Points that stand for an area in averages, by k-means of its individuals.
    dispersion, log_sd
        As in `TotalsGLM`. The kriging variance, which is that of a Normal rate, is not used.
    seed : int
        Seed of k-means.

    References
    ----------
    Goovaerts 2006, Geostatistical analysis of disease data: accounting for spatial support and
    population density in the isopleth mapping of cancer mortality risk, Int. J. Health Geographics
    5:52.
    """

    def __init__(self, support: int = 25, dispersion: str = "between",
                 log_sd: float | None = None, seed: int = 0) -> None:
        super().__init__(dispersion, log_sd)
        self.support, self.seed = whole("support", support, least=1), seed

    def _fit(self, ds: xr.Dataset) -> BaselineFit:
        places = _places(ds)
        require(ds.sizes[BAG] >= _FEWEST, f"kriging needs at least {_FEWEST} areas to estimate a "
                                          f"variogram, got {ds.sizes[BAG]}")
        weight, membership = ds["weight"].values.astype(float), ds["membership"].values
        points, averaging = self._support(places, weight, membership)
        exposure, value = np.bincount(membership, weight), ds["value"].values
        overall = value.sum() / exposure.sum()
        relative, noise = value / exposure / overall, 1 / (overall * exposure)
        distance = cdist(points, points)

        def blocks(reach: float) -> np.ndarray:
            return averaging @ np.exp(-distance / reach) @ averaging.T

        extent = float(np.ptp(points, axis=0).max())
        reach, sill = _restricted_likelihood(blocks, relative, noise, extent)
        factor = _factor(sill * blocks(reach), noise)
        ones = np.ones_like(relative)
        mean = (ones @ cho_solve(factor, relative)) / (ones @ cho_solve(factor, ones))
        dual = averaging.T @ cho_solve(factor, relative - mean)

        def field(new: xr.Dataset) -> np.ndarray:
            where = _places(new)
            parts = np.array_split(where, len(where) * len(points) // 10**7 + 1)
            return mean + np.concatenate(
                [sill * np.exp(-cdist(part, points) / reach) @ dual for part in parts])

        def rate(new: xr.Dataset) -> np.ndarray:
            return overall * _raised(field(new))

        inside = field(ds)
        expected = overall * _raised(inside) * weight
        # The kriged totals all but equal the data, so their residuals are those of leaving out.
        inverse = cho_solve(factor, np.eye(value.size))
        left_out = relative - cho_solve(factor, relative - mean) / np.diag(inverse)
        predicted = np.maximum(left_out, _FLOOR) * overall * exposure
        scaled = expected * (predicted / np.bincount(membership, expected))[membership]
        sds = self._log_sds(ds, scaled, 1.0)
        units = ds["x"].attrs.get("units", "")
        return BaselineFit("Poisson kriging", rate, *sds, {
            "range": f"{reach:.3g} {units}".strip(), "relative sill": f"{sill:.3g}",
            "negative rates, raised": f"{int((inside < 0).sum()):,} of {len(inside):,}",
            "dispersion": self.dispersion})

    def _support(self, places, weight, membership) -> tuple[np.ndarray, np.ndarray]:
        """Points (p, 2) and their shares of the areas' weights (bag, p)."""
        points, rows, shares = [], [], []
        for area in range(membership.max() + 1):
            own = membership == area
            where, counted = np.unique(places[own], axis=0, return_inverse=True)
            mass = np.bincount(counted.ravel(), weight[own])
            if len(where) > self.support:
                groups = KMeans(self.support, n_init=1, random_state=self.seed).fit(
                    where, sample_weight=mass)
                mass = np.bincount(groups.labels_, mass, self.support)
                where, mass = groups.cluster_centers_[mass > 0], mass[mass > 0]
            points.append(where)
            shares.append(mass / mass.sum())
            rows.append(np.full(len(where), area))
        averaging = np.zeros((len(rows), sum(map(len, rows))))
        averaging[np.concatenate(rows), np.arange(averaging.shape[1])] = np.concatenate(shares)
        return np.concatenate(points), averaging


def _places(ds: xr.Dataset) -> np.ndarray:
    require("x" in ds.coords, "kriging needs coordinates x and y on the individuals; this dataset "
                              "has none: use a method that works by covariates")
    return np.column_stack([ds["x"].values, ds["y"].values]).astype(float)


def _raised(field: np.ndarray) -> np.ndarray:
    """Kriged relative rates, negative ones at the floor, which is said."""
    negative = int((field < 0).sum())
    if negative:
        warn(f"kriging gave negative rates to {negative:,} of {field.size:,} individuals, which "
             f"were raised to {_FLOOR:g} of the mean rate: look whether single areas are far from "
             "their neighbours, or use a model whose rates are positive, such as vbagg",
             ApproximationWarning)
    return np.maximum(field, _FLOOR)


def _factor(covariance: np.ndarray, noise: np.ndarray) -> tuple[np.ndarray, bool]:
    try:
        return cho_factor(covariance + np.diag(noise))
    except (np.linalg.LinAlgError, ValueError) as error:
        raise InputError(
            f"the kriging system of {len(noise)} areas cannot be solved ({error}): likely two "
            "areas lie on one another, or a count or a population is wrong by orders of "
            "magnitude; look for these in the data, or use another method") from error


def _restricted_likelihood(blocks, rate, noise, extent: float) -> tuple[float, float]:
    """Range and sill; each evaluation averages covariances over all pairs of support points."""
    ones = np.ones_like(rate)

    def loss(theta: np.ndarray) -> float:
        reach, sill = np.exp(theta)
        factor = _factor(sill * blocks(reach), noise)
        solved = cho_solve(factor, ones)
        residual = rate - (solved @ rate) / (solved @ ones)
        return float(2 * np.log(np.diag(factor[0])).sum() + np.log(solved @ ones)
                     + residual @ cho_solve(factor, residual)) / 2

    start = np.log([0.2 * extent, max(np.var(rate), 1e-3)])
    bounds = [(np.log(extent) - 7, np.log(extent) + 1), (np.log(1e-6), np.log(1e3))]
    found = minimize(loss, start, method="Nelder-Mead", bounds=bounds,
                     options={"xatol": 0.02, "fatol": 0.01, "maxfev": 80})
    reach, sill = np.exp(found.x)
    return float(reach), float(sill)
