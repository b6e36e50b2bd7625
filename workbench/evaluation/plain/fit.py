"""What every plain method becomes once fitted: expected rates and a log-normal dispersion."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr
from scipy.special import gammaln, xlogy

from workbench import schema
from workbench.checks import choose, reject, require
from workbench.evaluation.accuracy import pin_to_totals
from workbench.evaluation.plain.rates import LogNormalRate, RateGivenTotal
from workbench.evaluation.plain.shares import add_up, draw_shares, share_moments
from workbench.schema import BAG, INDIVIDUAL

UNITS = (INDIVIDUAL, BAG)


def check_counts(ds: xr.Dataset) -> xr.Dataset:
    """Return ``ds`` if its values are totals of counts.

    Raises
    ------
    InputError
        If values are means, or continuous.
    """
    schema.check(ds)
    kind, aggregation = schema.kind(ds), schema.aggregation(ds)
    if kind != "count" or aggregation != "sum":
        raise reject("totals of counts (kind 'count', aggregation 'sum')",
                     f"kind {kind!r} with aggregation {aggregation!r}",
                     "the plain methods for counts do not apply; use workbench.Constant")
    require(float(ds["value"].sum()) > 0, "all totals are zero: there is nothing to share out")
    return ds


class PlainFit:
    r"""A fitted plain method: counts are Poisson about :math:`w_i \mu_i e^{...}`.

    The logarithm of an individual's rate varies by ``log_sd`` about its expectation, and that of a
    whole area by ``area_log_sd``; both factors have mean one. Uncertainty of the method's own
    parameters is not included. `at`, `simulate` and `log_density` predict areas whose totals are
    unknown; `given_totals` has the same three where the totals are known and kept.

    Parameters
    ----------
    method : str
        Name for tables.
    rate : callable
        Of a bagged dataset: expected counts per unit of weight (individual,).
    log_sd, area_log_sd : float
        Standard deviations of log rates: of individuals, of areas as a whole.
    notes : mapping of str to object, optional
        What was estimated or chosen, for `summary`.
    """

    def __init__(self, method: str, rate: Callable[[xr.Dataset], np.ndarray], log_sd: float,
                 area_log_sd: float = 0.0, notes: Mapping[str, object] | None = None) -> None:
        self.method, self.rate, self.notes = method, rate, dict(notes or {})
        self.log_sd, self.area_log_sd = float(log_sd), float(area_log_sd)

    def summary(self) -> str:
        """The method, its dispersion and what it estimated, in lines."""
        found = {"log-sd of individuals": f"{self.log_sd:.3g}",
                 "log-sd of areas": f"{self.area_log_sd:.3g}"} | self.notes
        return "\n".join([self.method, *(f"  {name}: {told}" for name, told in found.items())])

    def at(self, ds: xr.Dataset, area_effect: bool = True) -> LogNormalRate:
        """Predictive distribution of the rate of each individual, its area's total unknown.

        Parameters
        ----------
        ds : xr.Dataset
            A bagged dataset with the covariates that the method was fitted on.
        area_effect : bool
            Whether the variation of areas as a whole is included.
        """
        area = self.area_log_sd if area_effect else 0.0
        return LogNormalRate(ds, self.rate(ds), self.log_sd, area)

    def simulate(
        self, ds: xr.Dataset, unit: str = INDIVIDUAL, samples: int = 1000, seed: int = 0
    ) -> xr.DataArray:
        """Draw counts (sample, unit) of individuals or areas, totals unknown."""
        rng = np.random.default_rng(seed)
        draws = rng.poisson(self._expectations(ds, unit, samples, rng))
        return xr.DataArray(draws, dims=("sample", unit)).assign_coords({unit: ds[unit]})

    def log_density(
        self, ds: xr.Dataset, unit: str = INDIVIDUAL, samples: int = 1000, seed: int = 0
    ) -> np.ndarray:
        """Log Poisson mass (sample, unit) of what was observed under draws of the expectation."""
        rng = np.random.default_rng(seed)
        expected = self._expectations(ds, unit, samples, rng)
        observed = ds["value" if unit == BAG else "individual_value"].values
        return xlogy(observed, expected) - expected - gammaln(observed + 1)

    def given_totals(self) -> GivenTotals:
        """The same method where areas' totals are known: what it says of the inside of areas."""
        return GivenTotals(self)

    def expected(self, ds: xr.Dataset, preserve_totals: bool = True) -> xr.DataArray:
        """Expected counts (individual,); with ``preserve_totals`` the mean of `sample`'s draws."""
        if preserve_totals:
            return self.given_totals().expected(ds)
        return xr.DataArray(self.rate(ds) * ds["weight"].values, dims=INDIVIDUAL).assign_coords(
            {INDIVIDUAL: ds[INDIVIDUAL]})

    def sample(
        self, ds: xr.Dataset, samples: int = 1000, preserve_totals: bool = True, seed: int = 0,
        *, by=None,
    ) -> xr.DataArray:
        """Draw counts (sample, individual); with ``preserve_totals`` areas add up to the data.

        Given its total, an area's counts are multinomial with the shares of the individuals'
        rates, which are drawn anew for each sample. The level of the area is free, so that a total
        says nothing about the shares. A total that is not whole is drawn as the next larger whole
        number of units, each worth a little less than one, so that the draws add up to it. With
        ``by``, a name or one label for each individual, sums over groups of individuals are drawn
        instead (sample, group).

        Raises
        ------
        InputError
            If ``by`` gives no groups.
        """
        if by is not None:
            names, of = schema.grouped(ds, by)
            if preserve_totals:
                sums = self.given_totals().sums(ds, of, samples, seed)
            else:
                sums = add_up(self.simulate(ds, samples=samples, seed=seed).values, of)
            return xr.DataArray(sums, {"group": names}, ("sample", "group"))
        if preserve_totals:
            return self.given_totals().simulate(ds, samples=samples, seed=seed)
        return self.simulate(ds, samples=samples, seed=seed)

    def _expectations(self, ds, unit: str, samples: int, rng) -> np.ndarray:
        choose("unit", unit, UNITS)
        draws = self.at(ds).draw(samples, rng) * ds["weight"].values
        if unit == INDIVIDUAL:
            return draws
        starts = np.flatnonzero(np.diff(ds["membership"].values, prepend=-1))
        return np.add.reduceat(draws, starts, axis=1)


class GivenTotals:
    """A plain method that knows the totals of the areas it predicts, so nothing about areas.

    Parameters
    ----------
    fit : PlainFit
        What was fitted.
    """

    def __init__(self, fit: PlainFit) -> None:
        self.fit = fit

    def at(self, ds: xr.Dataset, area_effect: bool = True) -> RateGivenTotal:
        """Predictive distribution of each individual's rate: its share of the total, per weight."""
        pinned = self._pinned(ds)
        mean, std = share_moments(pinned, ds["membership"].values, self.fit.log_sd)
        return RateGivenTotal(ds, pinned, mean, std, self.fit.log_sd)

    def expected(self, ds: xr.Dataset) -> xr.DataArray:
        """Expected counts (individual,), which add up to the totals."""
        share, _ = share_moments(self._pinned(ds), ds["membership"].values, self.fit.log_sd)
        counts = share * ds["value"].values[ds["membership"].values]
        return xr.DataArray(counts, dims=INDIVIDUAL).assign_coords({INDIVIDUAL: ds[INDIVIDUAL]})

    def simulate(
        self, ds: xr.Dataset, unit: str = INDIVIDUAL, samples: int = 1000, seed: int = 0
    ) -> xr.DataArray:
        """Draw counts (sample, unit): multinomial given shares; of areas the totals themselves."""
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
        """Log binomial mass (sample, unit) of the fine counts given totals and drawn shares."""
        choose("unit", unit, UNITS)
        units, worth = _units(ds)
        if unit == BAG:
            return np.zeros((samples, ds.sizes[BAG]))       # known, so of probability one
        share = self._shares(ds, samples, np.random.default_rng(seed))
        n, y = (values[ds["membership"].values] for values in (units, 1 / worth))
        y = y * ds["individual_value"].values
        choices = gammaln(n + 1) - gammaln(y + 1) - gammaln(n - y + 1)
        return choices + xlogy(y, share) + xlogy(n - y, np.maximum(1 - share, 0))

    def _pinned(self, ds: xr.Dataset) -> np.ndarray:
        """Expectations whose sum is positive in every area, whatever its total."""
        expected = self.fit.expected(ds, preserve_totals=False).values
        flat = np.bincount(ds["membership"].values, expected)[ds["membership"].values] == 0
        pin_to_totals(ds, expected)     # refuses areas with a total that expect nothing
        return np.where(flat, ds["weight"].values, expected)

    def _shares(self, ds: xr.Dataset, samples: int, rng: np.random.Generator) -> np.ndarray:
        return draw_shares(
            self._pinned(ds), ds["membership"].values, self.fit.log_sd, samples, rng)


def _units(ds: xr.Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Units of each total (bag,), and what one is worth: one where the total is whole."""
    totals = check_counts(ds)["value"].values
    units = np.ceil(totals).astype(np.int64)
    if (units == totals).all():
        return units, np.ones_like(units)
    return units, np.divide(totals, units, out=np.ones(totals.shape), where=units > 0)
