"""A fitted baseline: expected rates of individuals and a log-normal dispersion."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import choose
from workbench.evaluation.baselines.given_totals import UNITS, GivenTotals
from workbench.evaluation.baselines.rates import LogNormalRate
from workbench.evaluation.baselines.shares import add_up
from workbench.evaluation.scoring import poisson_log_density
from workbench.schema import BAG, INDIVIDUAL


class BaselineFit:
    r"""A fitted baseline: counts are Poisson about :math:`w_i \mu_i e^{...}`.

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
        """The method, its dispersion and what it estimated, in lines.

        Returns
        -------
        str
            Several lines.
        """
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

        Returns
        -------
        LogNormalRate
            Means, quantiles and draws of the rates.
        """
        area = self.area_log_sd if area_effect else 0.0
        return LogNormalRate(ds, self.rate(ds), self.log_sd, area)

    def simulate(
        self, ds: xr.Dataset, unit: str = INDIVIDUAL, samples: int = 1000, seed: int = 0
    ) -> xr.DataArray:
        """Draw counts (sample, unit) of individuals or areas, totals unknown.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        unit : {"individual", "bag"}
            What is drawn.
        samples, seed : int
            Number of draws, and seed.

        Returns
        -------
        xr.DataArray (sample, unit)
            Counts.
        """
        rng = np.random.default_rng(seed)
        draws = rng.poisson(self._expectations(ds, unit, samples, rng))
        return xr.DataArray(draws, dims=("sample", unit)).assign_coords({unit: ds[unit]})

    def log_density(
        self, ds: xr.Dataset, unit: str = INDIVIDUAL, samples: int = 1000, seed: int = 0
    ) -> np.ndarray:
        """Log Poisson mass (sample, unit) of what was observed under draws of the expectation.

        Parameters
        ----------
        unit : {"individual", "bag"}
            What was observed.
        ds, samples, seed
            As of `simulate`.

        Returns
        -------
        array (sample, unit)
            Nats.
        """
        rng = np.random.default_rng(seed)
        expected = self._expectations(ds, unit, samples, rng)
        observed = ds["value" if unit == BAG else "individual_value"].values
        return poisson_log_density(observed, expected)

    def given_totals(self) -> GivenTotals:
        """The same method where areas' totals are known: what it says of the inside of areas.

        Returns
        -------
        GivenTotals
            Has `at`, `simulate` and `log_density`, too.
        """
        return GivenTotals(self)

    def expected(self, ds: xr.Dataset, preserve_totals: bool = True) -> xr.DataArray:
        """Expected counts (individual,); with ``preserve_totals`` the mean of `sample`'s draws.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        preserve_totals : bool
            Whether they add up to the bags' values.

        Returns
        -------
        xr.DataArray (individual,)
            Counts.
        """
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
        rates, which are redrawn for each sample. The level of the area is free, so that a total
        says nothing about the shares. A total that is not whole is drawn as the next larger whole
        number of units, each worth a little less than one, so that the draws add up to it. With
        ``by``, a name or one label for each individual, sums over groups of individuals are drawn
        instead (sample, group).

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        samples : int
            Number of draws.
        preserve_totals : bool
            Whether each draw adds up to the bags' values.
        seed : int
            Seed of the draws.
        by : str or array (individual,), optional
            Groups of individuals whose sums are drawn.

        Returns
        -------
        xr.DataArray (sample, individual) or (sample, group)
            Counts.

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
