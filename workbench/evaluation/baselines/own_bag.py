"""Each bag's own total, shared out by weight: the rule of thumb that any model must beat."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import stats

from workbench.checks import InputError
from workbench.evaluation.baselines.rates import Rate
from workbench.evaluation.scoring import poisson_log_density
from workbench.schema import BAG, INDIVIDUAL, kind


class GammaRate(Rate):
    """Predictive distribution of the rate of each individual: Gamma(shape, exposure).

    Parameters
    ----------
    ds : xr.Dataset
        Whose individuals they are.
    shape, exposure : array (individual,)
        Shape and rate parameters of the Gamma distributions.
    """

    def __init__(self, ds: xr.Dataset, shape: np.ndarray, exposure: np.ndarray) -> None:
        self._distribution = stats.gamma(shape, scale=1 / exposure)
        super().__init__(ds, self._distribution.mean(), self._distribution.std())

    def cdf(self, value: xr.DataArray) -> xr.DataArray:
        """Probability that the rate is at most the value."""
        return self._label(self._distribution.cdf(np.asarray(value)))

    def quantile(self, levels: list[float]) -> xr.DataArray:
        """Quantiles (quantile, individual)."""
        return self._label(self._distribution.ppf(np.asarray(levels)[:, None]), "quantile")

    def sample(self, count: int, seed: int = 0) -> xr.DataArray:
        """Draws (sample, individual), independent between individuals."""
        shape = (count, self._ds.sizes[INDIVIDUAL])
        return self._label(self._distribution.rvs(shape, random_state=seed), "sample")


class OwnBag:
    r"""Share out each bag's own total in proportion to weight: the rule of thumb to beat.

    The rate of bag b is the same everywhere in it, with the posterior of a Poisson count under
    Jeffreys' prior, Gamma(y_b + 1/2, total weight). It has seen the totals of the dataset that it
    is scored on, so it says nothing about bags, only about what is inside them.
    """

    def fit(self, ds: xr.Dataset) -> OwnBag:
        """Return itself: everything it knows is in the counts that it predicts."""
        if kind(ds) != "count":
            raise InputError("sharing out a bag's own total needs counts")
        return self

    def at(self, ds: xr.Dataset, area_effect: bool = True) -> GammaRate:
        """Predictive distribution of the rate at individuals; ``area_effect`` has no effect."""
        membership, weight = ds["membership"].values, ds["weight"].values
        total = np.bincount(membership, weights=weight)
        return GammaRate(ds, (ds["value"].values + 0.5)[membership], total[membership])

    def simulate(
        self, ds: xr.Dataset, unit: str = INDIVIDUAL, samples: int = 1000, seed: int = 0
    ) -> xr.DataArray:
        """Draw counts (sample, individual); arguments as of `BaselineFit.simulate`."""
        counts = np.random.default_rng(seed + 1).poisson(self._expected(ds, samples, seed))
        return xr.DataArray(counts, dims=("sample", INDIVIDUAL)).assign_coords(
            {INDIVIDUAL: ds[INDIVIDUAL]})

    def log_density(
        self, ds: xr.Dataset, unit: str = INDIVIDUAL, samples: int = 1000, seed: int = 0
    ) -> np.ndarray:
        """Log Poisson mass (sample, individual) of the fine counts under draws of their mean.

        In nats; arguments are those of `BaselineFit.log_density`.
        """
        return poisson_log_density(ds["individual_value"].values,
                                   self._expected(ds, samples, seed))

    def _expected(self, ds: xr.Dataset, samples: int, seed: int) -> np.ndarray:
        membership, weight = ds["membership"].values, ds["weight"].values
        rng, total = np.random.default_rng(seed), np.bincount(membership, weights=weight)
        rates = rng.gamma(ds["value"].values + 0.5, 1 / total, size=(samples, ds.sizes[BAG]))
        return rates[:, membership] * weight
