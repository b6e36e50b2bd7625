"""Predictive distributions as labelled arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
import xarray as xr

from workbench.checks import require, warn, whole
from workbench.gp.predictive import Predictive
from workbench.schema import per_unit

if TYPE_CHECKING:
    from workbench.gp.data.bags import Bags
    from workbench.gp.models.fits import ModelFit

_SHARED = ("x", "y", "row", "column", "coverage", "individual_geometry")


#: What a rate is conditional on: whether totals of areas are taken in.
DISTRIBUTIONS = {
    False: "posterior; effects of areas integrated over their prior",
    True: "posterior; effects of trained areas given their observed totals",
}


def conditional_on(inner: ModelFit, area_effect: bool, trained: torch.Tensor,
                   bags: Bags | None = None, **which) -> str:
    """What rates are conditional on, in words: of no totals where no effect of an area knows them.

    Parameters
    ----------
    inner : ModelFit
        The fit in torch.
    area_effect : bool
        As of `Fit.at`.
    trained : Tensor (bag,)
        Position of each bag among those trained on, -1 for others.
    bags : Bags, optional
        The bags, whose areas are numbered where they keep an effect.
    **which
        ``task=`` and ``source=``, of fits to several sources.
    """
    kept = inner.keeps_effects and bags is not None and bags.recurring is not None and bool(
        (bags.recurring >= 0).any())
    return DISTRIBUTIONS[area_effect and (kept or inner.knows_totals(trained, **which))]


class LabelledPredictive:
    """A predictive distribution per individual or bag, answering with labelled arrays and units.

    Parameters
    ----------
    predictive : Predictive
        The distribution in torch.
    coords : dict
        Coordinates of the unit dimension.
    dim : str
        ``individual`` or ``bag``.
    units, long_name, distribution : str
        Written to the arrays' attributes; ``distribution`` says what it is conditional on.
    joint : callable, optional
        ``joint(count, seed)`` gives draws (count, units) that are joint across units.
    """

    def __init__(self, predictive: Predictive, coords: dict, dim: str, units: str, long_name: str,
                 distribution: str = "", joint: Callable | None = None):
        self.predictive, self._coords, self.dim = predictive, coords, dim
        self.distribution, self._joint = distribution, joint
        self._attrs = {"units": units, "long_name": long_name}
        if distribution:
            self._attrs["distribution"] = distribution

    def _wrap(self, values, extra: dict | None = None, **attrs) -> xr.DataArray:
        extra = extra or {}
        return labelled(values, (*extra, self.dim), {**extra, **self._coords},
                        {**self._attrs, **attrs})

    @property
    def mean(self) -> xr.DataArray:
        """Expected value."""
        return self._wrap(self._finite("means", self.predictive.mean))

    @property
    def variance(self) -> xr.DataArray:
        """Variance, in squared units."""
        return self._wrap(self._finite("variances", self.predictive.variance),
                          units=f"({self._attrs['units']})²")

    @property
    def std(self) -> xr.DataArray:
        """Standard deviation."""
        return self._wrap(self._finite("standard deviations", self.predictive.std))

    def _finite(self, what: str, values: torch.Tensor) -> torch.Tensor:
        """Values of a moment, all of which the floating point type can hold.

        Raises
        ------
        InputError
            In float32, of values that are not finite, and of a spread whose square is too small.

        Warns
        -----
        FitWarning
            In float64, of values that are not finite: distributions with tails so heavy that only
            their quantiles exist.
        """
        lost = ~values.isfinite()
        if values.dtype == torch.float32 and what != "means":
            mean = self.predictive.mean
            lost = lost | ((values == 0) & (mean != 0) & (mean.square() == 0))
        if not bool(lost.any()):
            return values.clone()       # the distribution's own: who changes an answer keeps it
        said = f"{int(lost.sum())} of {values.numel()} {what} of the {self._attrs['long_name']}"
        require(values.dtype != torch.float32, f"{said} are beyond the range of float32; use "
                "dtype='float64', or weights in other units (such as thousands)")
        warn(f"{said} are infinite: so little is known there that only quantiles exist; fix the "
             "kernel's variances or give them priors, or ask for quantiles")
        return values

    def quantile(self, levels) -> xr.DataArray:
        """Quantiles.

        Parameters
        ----------
        levels : float or sequence of float
            Probabilities.

        Returns
        -------
        xr.DataArray
            With a leading ``quantile`` dimension.
        """
        levels = np.atleast_1d(np.asarray(levels, dtype=float))
        require(levels.ndim == 1 and levels.size > 0, "give quantiles as one probability or more "
                f"in one row, got an array of shape {levels.shape}")
        return self._wrap(self.predictive.quantile(levels), {"quantile": levels})

    def interval(self, level: float = 0.95) -> tuple[xr.DataArray, xr.DataArray]:
        """The central interval of a probability.

        Parameters
        ----------
        level : float
            That probability.

        Returns
        -------
        lower, upper : xr.DataArray
            Its ends.
        """
        require(0 < level < 1, f"level must be above 0 and below 1, got {level!r}; 0.95 is an "
                "interval with 95 % of the probability")
        lower, upper = self.predictive.interval(level)
        return self._wrap(lower), self._wrap(upper)

    def cdf(self, value) -> xr.DataArray:
        """P(unit <= value).

        Parameters
        ----------
        value : float or array
            A number, or one per unit; a DataArray goes by its labels.

        Returns
        -------
        xr.DataArray
            Probabilities.
        """
        return self._wrap(self.predictive.cdf(self._of_each(value)), units="probability")

    def exceedance(self, threshold) -> xr.DataArray:
        """P(unit > threshold), accurate far in the tail.

        Parameters
        ----------
        threshold : float or array
            As the value of `cdf`.

        Returns
        -------
        xr.DataArray
            From 0 to 1.
        """
        return self._wrap(self.predictive.exceedance(self._of_each(threshold)),
                          units="probability")

    def _of_each(self, value) -> np.ndarray:
        """A number for all units, or one for each in their order."""
        if np.ndim(value) == 0:
            return np.asarray(value)
        units = self._coords.get(self.dim, range(len(self.predictive.like)))
        labels = units.to_index() if isinstance(units, xr.DataArray) else pd.Index(units)
        return per_unit(value, labels, self.dim, "value")

    def sample(self, count: int, seed: int = 0, joint: bool = True) -> xr.DataArray:
        """Draws, joint across units.

        The attribute ``draws`` says "joint"; or "of single units", independent of each other, for
        models that have no joint draws (some of several sources) and with ``joint=False``, which is
        much faster where only units one by one matter. Exact and quasi-likelihood models draw up
        to 5,000 individuals jointly, and more in runs of whole bags, independent of each other.

        Parameters
        ----------
        count : int
            Number of draws.
        seed : int
            Seed.
        joint : bool
            Whether they are to be joint, where the model can.

        Returns
        -------
        xr.DataArray
            With a leading ``sample`` dimension.
        """
        count, seed = whole("count", count, 1), whole("seed", seed, 0)
        joint = joint and self._joint is not None
        values = self._joint(count, seed) if joint else self.predictive.sample(count, seed)
        return self._wrap(values, {"sample": np.arange(count)},
                          draws="joint" if joint else "of single units")


def labelled(
    values: torch.Tensor | np.ndarray, dims: tuple[str, ...], coords: dict, attrs: dict
) -> xr.DataArray:
    """Values with names; the coordinates are shared with where they come from, not copied.

    xarray's constructor copies them deeply, which takes seconds where they hold polygons.
    """
    array = values.detach().cpu().numpy() if isinstance(values, torch.Tensor) else values
    return xr.DataArray(array, dims=dims, attrs=attrs).assign_coords(coords)


def coords_of(ds: xr.Dataset, dim: str) -> dict:
    """Coordinates of a bagged dataset that belong to individuals or to bags."""
    names = ("bag", "bag_name", "bag_x", "bag_y") if dim == "bag" else ("individual", *_SHARED)
    return {name: ds[name] for name in names if name in ds.coords or name in ds.dims}


def keep_places(maps: xr.Dataset, ds: xr.Dataset) -> xr.Dataset:
    """Maps with the outlines and centres that the bagged dataset has, so that they can be drawn."""
    places = ("bag_geometry", "individual_geometry", "bag_x", "bag_y")
    return maps.assign_coords({name: ds[name] for name in places if name in ds.coords})
