"""Draws from a labelled fit: of observations, given totals or not, and functionals of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch
import xarray as xr

from workbench.checks import InputError, NotExact, require
from workbench.labelled.functionals import apply_to_draws
from workbench.labelled.groups import groups_of
from workbench.labelled.maps import BUDGET
from workbench.labelled.predictive import coords_of, labelled
from workbench.labelled.record import FitRecord

PRESERVED = "posterior given the areas' totals; every draw adds up to them"


class Drawing(FitRecord):
    """The draws of a `Fit`."""

    def simulate(self, ds: xr.Dataset, unit: str = "bag", samples: int = 1000, seed: int = 0,
                 **which) -> xr.DataArray:
        """Posterior predictive draws of observations, with every source of noise.

        A draw holds one function, one effect for each area, and one observation of every unit:
        draws are joint, so that sums over individuals are draws of sums. Models with dense
        covariances (exact ones, quasi-likelihood) draw up to 5,000 individuals jointly, and more
        in runs of whole bags that are independent of each other; trees and chains of Gaussian
        processes (``mr-dgp``, ``mr-cascade``) may draw single places.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        unit : {"bag", "individual"}
            What is observed.
        samples : int
            Number of draws.
        seed : int
            Seed.
        **which
            ``source=``, of fits to several.

        Returns
        -------
        xr.DataArray
            (sample, unit).
        """
        require(unit in ("bag", "individual"), f"unit must be 'bag' or 'individual', got {unit!r}")
        draw = getattr(self.inner, "simulate_bags" if unit == "bag" else "simulate_individuals")
        data = self._data(ds)
        values = draw(self._bags(data), self._trained(data, **which), samples, seed, **which)
        return self._drawn(values, unit, coords_of(data.ds, unit))

    def sample(self, ds: xr.Dataset, samples: int = 1000, *, preserve_totals: bool = False,
               by=None, seed: int = 0) -> xr.DataArray:
        """Joint posterior predictive draws of what individuals would be observed as.

        With ``preserve_totals`` each draw is conditional on the areas' totals in ``ds["value"]``:
        counts are multinomial, the total falling on individuals in proportion to the draw's
        expected counts; Normal values are conditioned exactly on the sum (or weighted mean) being
        met; of an exponential value each individual has its share. A count that is not whole is
        drawn as the next larger whole number of units, each worth a little less than one
        (attribute ``fractional_totals`` says of how many areas).

        Rates of areas that the fit was trained on are conditional on their totals, as far as its
        approximate posterior is. Totals of other areas are shared out but teach the fit nothing:
        fit to them, or `condition`, for that.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset; with ``value`` if totals are to be preserved.
        samples : int
            Number of draws.
        preserve_totals : bool
            Whether every draw adds up to the totals of the areas.
        by : str or array (individual,), optional
            Groups of individuals, by name of a variable of ``ds`` or one label each: joint draws of
            their sums instead (weighted means where values are means; of positives out of trials
            their number); where totals are preserved much faster than draws of individuals.
        seed : int
            Seed.

        Returns
        -------
        xr.DataArray
            (sample, individual), or (sample, group) with the labels of ``by``; in units of the
            value.

        Raises
        ------
        InputError
            If totals are to be preserved and the dataset has none, or the model cannot; if there
            is no variable ``by``, or not one label for each individual.

        Examples
        --------
        Counts inside and outside of a new polygon, all areas' totals kept:

        >>> import numpy as np
        >>> import workbench as wb
        >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
        >>> fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)
        >>> side = np.where(ds["covariates"][:, 0] > 0, "inside", "outside")
        >>> sums = fit.sample(ds, 200, preserve_totals=True, by=side)
        >>> sums["group"].values.tolist()
        ['inside', 'outside']
        >>> bool(np.allclose(sums.sum("group"), ds["value"].sum()))
        True
        """
        require(samples > 0, f"samples must be positive, got {samples}")
        added = "sum" if self.of_tested else self._aggregation
        groups, names = (None, None) if by is None else groups_of(ds, by, added)
        if not preserve_totals:
            drawn = self.simulate(ds, "individual", samples, seed)
            return drawn if groups is None else self._drawn(
                groups.sums(torch.as_tensor(drawn.values)), "group", {"group": names})
        bags, trained, totals, said = self.totals_of(self._data(ds))
        if groups is not None:
            values = self.inner.preserve_sums(bags, trained, totals, groups.to(bags.x.device),
                                              samples, seed)
            return self._drawn(values, "group", {"group": names}).assign_attrs(said)
        values = self.inner.preserve(bags, trained, totals, samples, seed)[1]
        return self._drawn(values, "individual", coords_of(ds, "individual")).assign_attrs(said)

    def functional(self, ds: xr.Dataset, function: Callable, samples: int = 1000, *,
                   preserve_totals: bool = True, seed: int = 0, level: float = 0.95) -> xr.Dataset:
        """Posterior of any functional of the map, from joint draws of all individuals.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        function : callable
            Takes one draw, a DataArray (individual,) in units of the value, with the coordinates
            of ``ds``; returns a number, an array or a DataArray, the same shape for every draw. A
            function that needs a ``sample`` dimension gets the draws (sample, individual) instead.
        samples : int
            Number of draws; they are made a part at a time where there are many individuals.
        preserve_totals : bool
            Whether draws add up to the areas' totals, see `sample`.
        seed : int
            Seed.
        level : float
            Of the central interval.

        Returns
        -------
        xr.Dataset
            ``mean``, ``sd``, ``interval`` (end: lower, upper) and ``draws`` (sample, ...).

        Examples
        --------
        >>> import numpy as np
        >>> import workbench as wb
        >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
        >>> fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)

        The total of a new polygon, by the share of each individual that lies inside:

        >>> inside = (ds["covariates"][:, 0] > 0).astype(float)
        >>> total = fit.functional(ds, lambda draw: (draw * inside).sum(), samples=200)
        >>> sorted(total.data_vars)
        ['draws', 'interval', 'mean', 'sd']
        >>> bool(total["interval"][0] <= total["mean"] <= total["interval"][1])
        True

        The rank of an area by its mean individual, 1 the highest (totals are known, ranks of
        smaller places are not: give their own grouping instead of the membership):

        >>> half = ds["membership"].values * 2 + np.arange(ds.sizes["individual"]) % 2
        >>> def rank(draw):
        ...     means = np.bincount(half, draw.values) / np.bincount(half)
        ...     return 1 + int((means > means[3]).sum())
        >>> place = fit.functional(ds, rank, samples=200)
        >>> bool(1 <= place["mean"] <= half.max() + 1)
        True

        How likely each individual is among the worst tenth:

        >>> worst = fit.functional(ds, lambda draw: draw >= np.quantile(draw, 0.9), samples=200)
        >>> worst["mean"].dims
        ('individual',)
        """
        require(samples > 1, f"a functional needs at least 2 samples, got {samples}")
        require(0 < level < 1, f"level must lie between 0 and 1, got {level}")
        parts = []
        for count, own in chunks(samples, ds.sizes["individual"], seed):
            draws = self.sample(ds, count, preserve_totals=preserve_totals, seed=own)
            parts.append(apply_to_draws(function, draws))
        draws = xr.concat(parts, "sample", join="override", coords="minimal", compat="override")
        draws = draws.assign_coords(sample=np.arange(samples))
        values = draws.astype(float)
        tails = [(1 - level) / 2, (1 + level) / 2]
        ends = values.quantile(tails, "sample").rename(quantile="end")
        return xr.Dataset(
            {"mean": values.mean("sample"), "sd": values.std("sample", ddof=1),
             "interval": ends.assign_coords(end=["lower", "upper"]), "draws": draws},
            attrs={"level": level, "samples": samples,
                   "distribution": PRESERVED if preserve_totals else "posterior predictive"})

    def log_density(self, ds: xr.Dataset, unit: str = "bag", samples: int = 1000, seed: int = 0
                    ) -> xr.DataArray:
        """log p(observation | draw of the parameter), for log scores.

        Where the predictive density has a closed form or an exact quadrature there is one row;
        otherwise one row per draw, and the log score is log mean exp over them.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset; ``unit="individual"`` needs its ``individual_value``.
        unit : {"bag", "individual"}
            Which observations.
        samples, seed : int
            Number of draws, and their seed.

        Returns
        -------
        xr.DataArray
            (sample, unit), in nats.
        """
        require(unit in ("bag", "individual"), f"unit must be 'bag' or 'individual', got {unit!r}")
        name = "value" if unit == "bag" else "individual_value"
        require(name in ds, f"the dataset has no {name}, so there is no {unit} density to take")
        data = self._data(ds)
        bags = self._bags(data)
        y = torch.as_tensor(ds[name].values.copy()).to(bags.weight)
        values = self.inner.log_density(y, bags, self._trained(data), unit, samples, seed)
        return labelled(values, ("sample", unit), coords_of(ds, unit), {"units": "nats"})

    def require_of_all(self) -> None:
        """Raise unless what is observed of individuals adds up to what a map is of.

        Raises
        ------
        NotExact
            Of positives out of trials: those who were tested are not all people of an area.
        """
        if self.of_tested:
            raise NotExact("positives are of those who were tested, and a map of shares of all "
                           "people does not add up to them; use preserve_totals=False, for other "
                           "polygons kind='expected' (draws of positives: fit.sample)")

    def totals_of(self, data):
        """What draws that preserve totals need of a dataset.

        Parameters
        ----------
        data : Converted
            A dataset with values.

        Returns
        -------
        bags, trained, totals, attributes
            The bags, their positions among the training bags, their totals, and attributes that
            say how many totals of counts are not whole.
        """
        ds = data.ds
        if "value" not in ds:
            raise InputError("there are no totals to preserve: the dataset has no value; use "
                             "preserve_totals=False")
        bags = self._bags(data)
        totals = torch.as_tensor(ds["value"].values.copy()).to(bags.weight)
        counts = ds["value"].attrs.get("kind", "count") == "count"
        fractional = int((totals != totals.round()).sum()) if counts else 0
        return bags, self._trained(data), totals, {
            "distribution": PRESERVED, "fractional_totals": fractional}

    def _drawn(self, values, unit: str, coords: Mapping) -> xr.DataArray:
        return labelled(
            values, ("sample", unit), {"sample": np.arange(len(values)), **coords},
            {"units": self.value_units,
             "long_name": f"simulated {self._value_attrs.get('long_name', 'value')}"},
        )


def at_places(ds: xr.Dataset) -> xr.Dataset:
    """Places to map, also those of zero weight, as of `with_weight`: they have a rate, too."""
    empty = isinstance(ds, xr.Dataset) and "value" not in ds and bool((ds["weight"] == 0).any())
    return ds.assign(weight=ds["weight"].where(ds["weight"] != 0, 1.0)) if empty else ds


def chunks(samples: int, individuals: int, seed: int) -> Iterator[tuple[int, int]]:
    """Numbers of draws that are held together, and a seed for each."""
    most = max(1, BUDGET // max(individuals, 1))
    starts = range(0, samples, most)
    seeds = np.random.default_rng(seed).integers(2**31, size=len(starts))
    for start, own in zip(starts, seeds, strict=True):
        yield min(most, samples - start), int(own)
