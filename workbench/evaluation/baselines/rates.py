"""Predictive distributions of individuals' rates, with totals unknown and with totals known."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import stats

from workbench.evaluation.baselines.shares import draw_shares
from workbench.schema import INDIVIDUAL


class Rate:
    """Rates of individuals with known means and standard deviations.

    Parameters
    ----------
    ds : xr.Dataset
        Whose individuals they are.
    mean, std : array (individual,)
        Moments of the rates, in units of value per unit of weight.
    """

    def __init__(self, ds: xr.Dataset, mean: np.ndarray, std: np.ndarray) -> None:
        self._ds, self._mean, self._std = ds, mean, std

    def _label(self, values: np.ndarray, *leading: str) -> xr.DataArray:
        # Coordinates are assigned: the constructor would copy every polygon.
        array = xr.DataArray(values, dims=(*leading, INDIVIDUAL))
        return array.assign_coords({INDIVIDUAL: self._ds[INDIVIDUAL]})

    @property
    def mean(self) -> xr.DataArray:
        """Mean rate, units of value per unit of weight."""
        return self._label(self._mean)

    @property
    def std(self) -> xr.DataArray:
        """Standard deviation of the rate."""
        return self._label(self._std)

    def sample(self, count: int, seed: int = 0) -> xr.DataArray:
        """Joint draws (sample, individual)."""
        return self._label(self.draw(count, np.random.default_rng(seed)), "sample")


class LogNormalRate(Rate):
    """Rates that vary log-normally about their means, one factor common to each area.

    Parameters
    ----------
    ds : xr.Dataset
        Whose individuals they are.
    mean : array (individual,)
        Mean rates.
    log_sd, area_log_sd : float
        Standard deviations of the logarithm: of individuals, of areas as a whole.
    """

    def __init__(self, ds: xr.Dataset, mean: np.ndarray, log_sd: float, area_log_sd: float) -> None:
        mean, self._sds = np.asarray(mean, dtype=float), (log_sd, area_log_sd)
        self._log_sd = float(np.hypot(log_sd, area_log_sd))
        super().__init__(ds, mean, mean * np.sqrt(np.expm1(self._log_sd**2)))

    def cdf(self, value: xr.DataArray) -> xr.DataArray:
        """Probability that the rate is at most the value."""
        value, median = np.asarray(value, dtype=float), self._median()
        if self._log_sd == 0:
            return self._label((value >= median).astype(float))
        return self._label(stats.lognorm.cdf(value, self._log_sd, scale=median))

    def quantile(self, levels: list[float]) -> xr.DataArray:
        """Quantiles (quantile, individual)."""
        z = stats.norm.ppf(np.asarray(levels, dtype=float))[:, None]
        return self._label(self._median() * np.exp(self._log_sd * z), "quantile")

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Draws (count, individual); individuals of an area share its factor."""
        log_sd, area = self._sds
        draws = rng.standard_normal((count, self._mean.size))
        draws *= log_sd
        if area:
            membership = self._ds["membership"].values
            draws += area * rng.standard_normal((count, membership.max() + 1))[:, membership]
        np.exp(draws, out=draws)
        draws *= self._median()
        return draws

    def _median(self) -> np.ndarray:
        return self._mean * np.exp(-0.5 * self._log_sd**2)


class RateGivenTotal(Rate):
    """Rates as shares of a known total, per weight: moments exact, quantiles from draws.

    Parameters
    ----------
    ds : xr.Dataset
        With the totals.
    expected : array (individual,)
        Expected counts before the totals were known, up to a factor in each area.
    mean, std : array (individual,)
        Moments of the shares.
    log_sd : float
        Standard deviation of the logarithm of individuals' rates.
    """

    DRAWS = 2000

    def __init__(self, ds: xr.Dataset, expected: np.ndarray, mean: np.ndarray, std: np.ndarray,
                 log_sd: float) -> None:
        self._scale = ds["value"].values[ds["membership"].values] / ds["weight"].values
        self._expected, self._log_sd = expected, log_sd
        super().__init__(ds, mean * self._scale, std * self._scale)

    def cdf(self, value: xr.DataArray) -> xr.DataArray:
        """Probability that the rate is at most the value, of 2,000 draws."""
        return self._label((self._draws() <= np.asarray(value)).mean(0))

    def quantile(self, levels: list[float]) -> xr.DataArray:
        """Quantiles (quantile, individual) of 2,000 draws."""
        return self._label(np.quantile(self._draws(), np.asarray(levels), axis=0), "quantile")

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Joint draws (count, individual); weighted by weight they add up to the totals."""
        return self._scale * draw_shares(
            self._expected, self._ds["membership"].values, self._log_sd, count, rng)

    def _draws(self) -> np.ndarray:
        return self.draw(self.DRAWS, np.random.default_rng(0))
