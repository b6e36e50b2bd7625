"""What a baseline says about the inside of areas whose totals are known."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy.special import gammaln, xlogy

from workbench import schema
from workbench.checks import choose, reject, require
from workbench.evaluation.accuracy import rescale_to_totals
from workbench.evaluation.baselines.rates import RateGivenTotal
from workbench.evaluation.baselines.shares import add_up, draw_shares, share_moments
from workbench.schema import BAG, INDIVIDUAL

UNITS = (INDIVIDUAL, BAG)


def check_counts(ds: xr.Dataset) -> xr.Dataset:
    """Return a bagged dataset, refused unless its values are totals of counts."""
    schema.check(ds)
    kind, aggregation = schema.kind(ds), schema.aggregation(ds)
    if kind != "count" or aggregation != "sum":
        raise reject("totals of counts (kind 'count', aggregation 'sum')",
                     f"kind {kind!r} with aggregation {aggregation!r}",
                     "the baselines for counts do not apply; use workbench.Constant")
    require(float(ds["value"].sum()) > 0, "all totals are zero: there is nothing to share out")
    return ds


class GivenTotals:
    """A fitted baseline given the totals of the areas that it predicts.

    Parameters
    ----------
    fit : BaselineFit
        The fitted baseline.
    """

    def __init__(self, fit) -> None:
        self.fit = fit

    def at(self, ds: xr.Dataset, area_effect: bool = True) -> RateGivenTotal:
        """Predictive distribution of each individual's rate: its share of the total, per weight.

        ``area_effect`` has no effect, as totals are known.
        """
        expected = self._positive(ds)
        mean, std = share_moments(expected, ds["membership"].values, self.fit.log_sd)
        return RateGivenTotal(ds, expected, mean, std, self.fit.log_sd)

    def expected(self, ds: xr.Dataset) -> xr.DataArray:
        """Expected counts (individual,), which add up to the totals."""
        share, _ = share_moments(self._positive(ds), ds["membership"].values, self.fit.log_sd)
        counts = share * ds["value"].values[ds["membership"].values]
        return xr.DataArray(counts, dims=INDIVIDUAL).assign_coords({INDIVIDUAL: ds[INDIVIDUAL]})

    def simulate(
        self, ds: xr.Dataset, unit: str = INDIVIDUAL, samples: int = 1000, seed: int = 0
    ) -> xr.DataArray:
        """Draw counts (sample, unit): multinomial given shares; of areas the totals themselves.

        Arguments are those of `BaselineFit.simulate`.
        """
        choose("unit", unit, UNITS)
        units, worth = _units(ds)
        if unit == BAG:
            draws = np.tile(units * worth, (samples, 1))
        else:
            rng = np.random.default_rng(seed)
            shares = self._shares(ds, samples, rng)
            ends = np.flatnonzero(np.diff(ds["membership"].values, prepend=-1))[1:]
            parts = np.split(shares, ends, axis=1)
            draws = np.concatenate([rng.multinomial(count, part)
                                    for count, part in zip(units, parts, strict=True)], axis=1)
            draws = draws * worth[ds["membership"].values]
        return xr.DataArray(draws, dims=("sample", unit)).assign_coords({unit: ds[unit]})

    def sums(self, ds: xr.Dataset, of: np.ndarray, samples: int, seed: int) -> np.ndarray:
        """Draw sums of counts over groups (sample, group): of a bag's part of a group at once.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        of : int array (individual,)
            Group of each individual, numbered from 0.
        samples, seed : int

        Returns
        -------
        array (sample, group)
            Counts.
        """
        (units, worth), groups = _units(ds), of.max() + 1
        rng = np.random.default_rng(seed)
        pairs, cell = np.unique(ds["membership"].values * groups + of, return_inverse=True)
        shares = add_up(self._shares(ds, samples, rng), cell)
        ends = np.flatnonzero(np.diff(pairs // groups, prepend=-1))[1:]
        parts = np.split(shares, ends, axis=1)
        draws = np.concatenate([rng.multinomial(count, part / part.sum(1, keepdims=True))
                                for count, part in zip(units, parts, strict=True)], axis=1)
        return add_up(draws * worth[pairs // groups], pairs % groups)

    def log_density(
        self, ds: xr.Dataset, unit: str = INDIVIDUAL, samples: int = 1000, seed: int = 0
    ) -> np.ndarray:
        """Log binomial mass (sample, unit) of the fine counts given totals and drawn shares.

        In nats; zero for bags, whose values are known. Arguments are those of
        `BaselineFit.log_density`.
        """
        choose("unit", unit, UNITS)
        units, worth = _units(ds)
        if unit == BAG:
            return np.zeros((samples, ds.sizes[BAG]))       # known, so of probability one
        share = self._shares(ds, samples, np.random.default_rng(seed))
        n, y = (values[ds["membership"].values] for values in (units, 1 / worth))
        y = y * ds["individual_value"].values
        choices = gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)
        return choices + xlogy(y, share) + xlogy(n - y, np.maximum(1 - share, 0))

    def _positive(self, ds: xr.Dataset) -> np.ndarray:
        """Expectations whose sum is positive in every area, whatever its total."""
        expected = self.fit.expected(ds, preserve_totals=False).values
        flat = np.bincount(ds["membership"].values, expected)[ds["membership"].values] == 0
        rescale_to_totals(ds, expected)     # refuses areas with a total that expect nothing
        return np.where(flat, ds["weight"].values, expected)

    def _shares(self, ds: xr.Dataset, samples: int, rng: np.random.Generator) -> np.ndarray:
        return draw_shares(
            self._positive(ds), ds["membership"].values, self.fit.log_sd, samples, rng)


def _units(ds: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Units of each total (bag,), and what one is worth: one where the total is whole."""
    totals = check_counts(ds)["value"].values
    units = np.ceil(totals).astype(np.int64)
    if (units == totals).all():
        return units, np.ones_like(units)
    return units, np.divide(totals, units, out=np.ones(totals.shape), where=units > 0)
