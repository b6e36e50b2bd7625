"""A fitted model with labels, units and provenance."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from workbench.checks import require, warn
from workbench.gp.predictive import Point
from workbench.labelled.drawing import PRESERVED
from workbench.labelled.maps import marginal_maps, preserving_maps, warn_of_thresholds
from workbench.labelled.predictive import (
    LabelledPredictive,
    conditional_on,
    coords_of,
    keep_places,
)
from workbench.labelled.regional import Regional
from workbench.labelled.source import Converted


class Fit(Regional):
    """A fitted model with labels: predictions, summaries, and maps with their provenance.

    Parameters
    ----------
    inner : ModelFit
        The fit in torch.
    model : LabelledModel
        What was fitted.
    data : Converted
        What it was fitted to.
    targets : xr.Dataset, optional
        Targets that belong to no bag.
    """

    def with_hyperparameters(self, hyperparameters: Mapping) -> Fit:
        """The posterior at other hyperparameters; faster than ``model.condition``.

        Parameters
        ----------
        hyperparameters : mapping
            Values in natural units, by name, of those that change.

        Returns
        -------
        Fit
            With the other hyperparameters as they are.
        """
        moved = copy.copy(self)
        moved.inner = self.inner.with_hyperparameters(hyperparameters)
        return moved

    def move(self, hyperparameters: Mapping) -> Fit:
        """Deprecated: the former name of `with_hyperparameters`.

        Parameters
        ----------
        hyperparameters : mapping
            As of `with_hyperparameters`.

        Returns
        -------
        Fit
            The same.
        """
        warn("Fit.move is now called Fit.with_hyperparameters", DeprecationWarning)
        return self.with_hyperparameters(hyperparameters)

    def latent(self, ds: xr.Dataset) -> LabelledPredictive:
        """Distribution of the Gaussian process f at the individuals.

        Parameters
        ----------
        ds : xr.Dataset
            Any bagged dataset with the training covariates.

        Returns
        -------
        LabelledPredictive
            Its ``sample`` draws all individuals jointly.
        """
        data = self._data(ds)
        bags = self._bags(data)
        return self._individuals(self.inner.latent(bags), data, "link scale", "latent f",
                                 "posterior",
                                 lambda count, seed: self.inner.draw_latent(bags, count, seed))

    def at(self, ds: xr.Dataset, area_effect: bool = True) -> LabelledPredictive:
        """Predictive distribution of the rate at the individuals.

        Nuggets of individuals, effects of areas and multipliers of a negative binomial belong to
        it: by default given the observed total, in areas of the training data; in others they have
        their prior. Of Normal values that is exact under the identity link (with ``noise="area"``
        half of what f leaves of a value at most); under others their nuggets have their prior
        everywhere. `latent` is without all of them.

        Quantiles and probabilities are, under the exp link, of a log-normal with this mean and
        variance; in areas of few individuals with a known total draws (``sample``) are nearer to
        the exact distribution.

        Parameters
        ----------
        ds : xr.Dataset
            Any bagged dataset with the training covariates.
        area_effect : bool
            Whether effects of areas of the training data are given their observed total. False
            leaves them at their prior: the rate in an area with these covariates of which no total
            was observed. That mean has no steps at borders, but inside areas of known total it is
            farther from known rates in all data tried.

        Returns
        -------
        LabelledPredictive
            Along ``individual``, drawn jointly.
        """
        data = self._data(ds)
        bags, trained = self._bags(data), self._trained(data)
        predictive = self.inner.at(bags, trained, area_effect)
        known = trained if area_effect else None
        joint = predictive.sample if isinstance(predictive, Point) else (
            lambda count, seed: self.inner.draw_rates(bags, known, count, seed))
        return self._individuals(
            predictive, data, self.rate_units, "rate",
            conditional_on(self.inner, area_effect, trained, bags), joint)

    def over(self, ds: xr.Dataset, area_effect: bool = True) -> LabelledPredictive:
        """Distribution of the bag parameter: the expected total, mean, or share of positives.

        In the same sense as `at`, whose means add up to its mean.

        Parameters
        ----------
        ds, area_effect
            As of `at`.

        Returns
        -------
        LabelledPredictive
            Along ``bag``; its ``sample`` draws all of them jointly.
        """
        data = self._data(ds)
        bags, trained = self._bags(data), self._trained(data)
        predictive = self.inner.over(bags, trained, area_effect)
        known, factor = trained if area_effect else None, 1.0
        if self.inner.state.rescaled:       # a Normal model of counts works per unit of weight
            predictive, factor = predictive.scaled(bags.totals), bags.totals
        joint = predictive.sample if isinstance(predictive, Point) else (
            lambda count, seed: factor * self.inner.draw_totals(bags, known, count, seed))
        return LabelledPredictive(predictive, coords_of(data.ds, "bag"), "bag", self._units,
                                  "bag parameter", conditional_on(
                                      self.inner, area_effect, trained, bags), joint)

    def to_dataset(self, ds: xr.Dataset, quantiles=(0.05, 0.5, 0.95),
                   threshold: float | Sequence[float] | None = None, area_effect: bool = True, *,
                   preserve_totals: bool = False, samples: int = 1000, seed: int = 0,
                   information: bool = False, components: bool = False, draws: int = 0
                   ) -> xr.Dataset:
        """The map: all that is usually plotted or written, with provenance in the attributes.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset to predict on.
        quantiles : sequence of float
            Levels of the rate's quantiles.
        threshold : float or sequence of float, optional
            Rate whose exceedance probability is returned; of several, along a dimension
            ``threshold``.
        area_effect : bool
            See `at`.
        preserve_totals : bool
            Take mean, std, quantiles, exceedance and expected_count from draws that add up to the
            areas' totals (see `sample`): rates are averages over draws of the total's share per
            unit of weight, not a mean scaled to the total; and ``value_quantile`` is there, of what
            an individual is observed as. Effects of areas are given their totals then, whatever
            ``area_effect`` is.
        samples, seed : int
            Of those draws; the seed also of the draws that are kept.
        information : bool
            Add `information`.
        components : bool
            Add ``component_mean`` and ``component_std`` (component, individual), as of
            `components` by the kernel's terms, or of a mixture by role; with ``area_effect`` that
            of the area among them.
        draws : int
            How many joint draws of the rate to add, as ``draw`` (sample, individual) in single
            precision: from these the map can be added up over other polygons.

        Returns
        -------
        xr.Dataset
            mean, std, rate_quantile, exceedance, latent_mean, latent_std, expected_count and
            extrapolation per individual; bag_mean, bag_std, bag_quantile, value and trials per bag.
            The attribute ``distribution`` of each says what it is conditional on.
        """
        area_effect = area_effect or preserve_totals
        warn_of_thresholds(self, threshold)
        data = self._data(ds)       # converted once for all of the map
        latent, total = self.latent(data), self.over(data, area_effect)
        maps = {name: ds[name].copy() for name in ("value", "trials", "weight", "membership")
                if name in ds}      # copies: a map in other units leaves the data as they are
        maps |= {
            "latent_mean": latent.mean, "latent_std": latent.std,
            "extrapolation": self.extrapolation(data),
            "bag_mean": total.mean, "bag_std": total.std, "bag_quantile": total.quantile(quantiles),
        }
        if preserve_totals:
            levels = np.atleast_1d(np.asarray(quantiles, dtype=float))
            maps |= preserving_maps(self, data, levels, threshold, samples, seed)
        else:
            maps |= marginal_maps(self.at(data, area_effect),
                                  {"units": self.value_units} if self.sums else None,
                                  ds["weight"], quantiles, threshold)
        if information:
            maps["information"] = self.information(data)
        if components:
            maps |= self.component_maps(data, area_effect)
        if draws:
            maps["draw"] = self.drawn_rates(data, draws, area_effect, preserve_totals, seed)
        taken = ", ".join(repr(name) for name in maps if name in ds.coords)
        require(not taken, f"coordinates of the data are called {taken}, as variables of the map "
                "are; give them other names with ds.rename")
        maps = keep_places(xr.Dataset(maps), ds).assign_attrs({**ds.attrs, **self.provenance()})
        return maps.assign_attrs(
            distribution=PRESERVED if preserve_totals else total.distribution)

    def map_over(self, raster: xr.Dataset | xr.DataArray, quantiles=(0.05, 0.5, 0.95),
                 threshold: float | Sequence[float] | None = None, *, weight: str | None = None,
                 chunks: int | Mapping[str, int] | None = None,
                 period: str | float | None = None) -> xr.Dataset:
        """The map of a raster that may be larger than memory, lazily and block by block.

        Nothing is read or predicted until the map is computed or written; memory is then bounded
        by the blocks that are worked on at once. Under a `distributed.Client` each worker receives
        the fit once. Pixels of a raster are in no known area: effects of areas have their prior.

        Parameters
        ----------
        raster : xr.Dataset or xr.DataArray
            A variable (y, x) for every covariate of the fit, or an array with a further dimension
            that names them; chunked or not, see `workbench.open_rasters`. Pixels where one of them
            is NaN stay NaN, and nothing is computed there.
        quantiles : sequence of float
            Levels of the rate's quantiles.
        threshold : float or sequence of float, optional
            Rate whose exceedance probability is returned.
        weight : str, optional
            Variable of the raster with the weight of each pixel, for ``expected_count``.
        chunks : int or mapping, optional
            Pixels along the side of a block; default: the raster's own, else 1,024.
        period : str or number, optional
            Of a fit over time, the period to map, written as in its data; one may be between or
            after these. Not needed where the raster has a variable ``time``.

        Returns
        -------
        xr.Dataset
            Dask arrays (y, x): mean, std, rate_quantile, exceedance, latent_mean, latent_std,
            extrapolation, and expected_count where values are totals. `workbench.write_blocks`
            writes them.

        Raises
        ------
        InputError
            If the raster lacks a covariate, has one in other units, or is in another CRS.

        Examples
        --------
        >>> import numpy as np, xarray as xr, workbench as wb
        >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
        >>> fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)
        >>> grid = {"y": np.arange(60.0)[::-1], "x": np.arange(80.0)}
        >>> raster = xr.Dataset({name: xr.DataArray(np.zeros((60, 80)), grid)
        ...                      for name in ds["covariate"].values})
        >>> maps = fit.map_over(raster, chunks=40)
        >>> dict(maps.chunksizes)["x"], bool(np.isfinite(maps["mean"]).all().compute())
        ((40, 40), True)
        """
        from workbench.labelled.large_maps import lazy_map  # here: Dask is an extra

        return lazy_map(self, raster, quantiles, threshold, weight, chunks, period)

    def _individuals(self, predictive, data: Converted, units, long_name, distribution="posterior",
                     joint=None) -> LabelledPredictive:
        return LabelledPredictive(predictive, data.places, "individual", units, long_name,
                                  distribution, joint)

