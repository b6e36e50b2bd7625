"""What any model must beat: the flat rate, and each bag's own total shared out by weight."""

from __future__ import annotations

import importlib

import numpy as np
import xarray as xr
from scipy import stats
from scipy.special import gammaln, xlogy

from workbench.checks import InputError
from workbench.schema import BAG, INDIVIDUAL


def constant():
    """The constant model of the package, looked up late so that scoring never imports torch.

    Of counts it has an area effect and a nugget, as any model has by default: its intervals are
    those of one rate everywhere and areas that differ, not of Poisson counts of one rate.
    """
    return importlib.import_module("workbench").Constant()


class GammaRate:
    """Predictive distribution of the rate of each individual: Gamma(shape, per weight)."""

    def __init__(self, ds: xr.Dataset, shape: np.ndarray, exposure: np.ndarray) -> None:
        self._coords = {INDIVIDUAL: ds[INDIVIDUAL].values}
        self._law = stats.gamma(shape, scale=1 / exposure)

    def _label(self, values: np.ndarray, *leading: str) -> xr.DataArray:
        return xr.DataArray(values, dims=(*leading, INDIVIDUAL), coords=self._coords)

    @property
    def mean(self) -> xr.DataArray:
        """Mean rate, units of value per unit of weight."""
        return self._label(self._law.mean())

    @property
    def std(self) -> xr.DataArray:
        """Standard deviation of the rate."""
        return self._label(self._law.std())

    def cdf(self, value: xr.DataArray) -> xr.DataArray:
        """Probability that the rate is at most the value."""
        return self._label(self._law.cdf(np.asarray(value)))

    def quantile(self, levels: list[float]) -> xr.DataArray:
        """Quantiles (quantile, individual)."""
        return self._label(self._law.ppf(np.asarray(levels)[:, None]), "quantile")

    def sample(self, count: int, seed: int = 0) -> xr.DataArray:
        """Draws (sample, individual), independent between individuals."""
        shape = (count, len(self._coords[INDIVIDUAL]))
        return self._label(self._law.rvs(shape, random_state=seed), "sample")


class OwnBag:
    r"""Share out each bag's own total in proportion to weight: the rule of thumb to beat.

    The rate of bag b is the same everywhere in it, with the posterior of a Poisson count under
    Jeffreys' prior, Gamma(y_b + 1/2, total weight). It has seen the totals of the dataset that it
    is scored on, so it says nothing about bags, only about what is inside them.
    """

    def fit(self, ds: xr.Dataset) -> OwnBag:
        """Return itself: everything it knows is in the dataset that it predicts."""
        if ds["value"].attrs.get("kind", "count") != "count":
            raise InputError("sharing out a bag's own total needs counts")
        return self

    def at(self, ds: xr.Dataset, area_effect: bool = True) -> GammaRate:
        """Predictive distribution of the rate at individuals."""
        membership, weight = ds["membership"].values, ds["weight"].values
        total = np.bincount(membership, weights=weight)
        return GammaRate(ds, (ds["value"].values + 0.5)[membership], total[membership])

    def simulate(
        self, ds: xr.Dataset, unit: str = "individual", samples: int = 1000, seed: int = 0
    ) -> xr.DataArray:
        """Draw counts (sample, individual)."""
        expected = self._expected(ds, samples, seed)
        counts = np.random.default_rng(seed + 1).poisson(expected)
        return xr.DataArray(
            counts, dims=("sample", INDIVIDUAL), coords={INDIVIDUAL: ds[INDIVIDUAL].values}
        )

    def log_density(
        self, ds: xr.Dataset, unit: str = "individual", samples: int = 1000, seed: int = 0
    ) -> np.ndarray:
        """Log Poisson mass of the fine counts under draws of the expected count."""
        y, expected = ds["individual_value"].values, self._expected(ds, samples, seed)
        return xlogy(y, expected) - expected - gammaln(y + 1)

    def _expected(self, ds: xr.Dataset, samples: int, seed: int) -> np.ndarray:
        membership, weight = ds["membership"].values, ds["weight"].values
        rng, total = np.random.default_rng(seed), np.bincount(membership, weights=weight)
        rates = rng.gamma(ds["value"].values + 0.5, 1 / total, size=(samples, ds.sizes[BAG]))
        return rates[:, membership] * weight
