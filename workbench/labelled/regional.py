"""A fit's posterior over areas: new polygons, and what is left of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
import xarray as xr

from workbench.checks import InputError, NotExact, choose, require
from workbench.gp.data.recurring import unknown
from workbench.gp.models.vbagg.fit import VariationalFit
from workbench.gp.models.vbagg.influence import influence
from workbench.labelled.drawing import PRESERVED, at_places, chunks
from workbench.labelled.insight import Insight

KINDS = ("expected", "observed", "preserved")


class Regional(Insight):
    """The posterior of a `Fit` over polygons."""

    def aggregate(self, ds: xr.Dataset, polygons: object, *, id: str | None = None,
                  kind: str = "expected", area_effect: bool = True, samples: int = 1000,
                  quantiles: tuple[float, ...] = (0.05, 0.5, 0.95),
                  threshold: float | Sequence[float] | None = None,
                  polygon_crs: str | None = None, layer: str | None = None, seed: int = 0
                  ) -> xr.Dataset:
        """The posterior of totals (or means) over new polygons, with intervals, from joint draws.

        A pixel counts by the fraction of it that lies inside; where a border of areas cuts it,
        each part by its own fraction. Over the areas themselves it is `over`.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset of pixels, or of individuals with polygons, with a CRS.
        polygons : geopandas.GeoDataFrame, str or Path
            The new areas, in any CRS; they may overlap.
        id : str, optional
            Column with their names; the index if not given.
        kind : {"expected", "observed", "preserved"}
            What is drawn: expected totals (of positives out of trials shares, and nothing else);
            what would be observed, with noise; or that, every draw adding up to the known totals.
        area_effect : bool
            Of expected totals, see `at`; the other two always take known areas' effects given
            their totals.
        samples, seed : int
            Number of joint draws, and their seed.
        quantiles : tuple of float
            Levels of the quantiles.
        threshold : float or sequence of float, optional
            In units of the value: P(polygon > threshold) is added.
        polygon_crs, layer : str, optional
            CRS of polygons that state none; layer of a file that has several.

        Returns
        -------
        xr.Dataset
            Along ``bag``, the new polygons; see `workbench.aggregate`.

        Raises
        ------
        InputError
            If the model has no joint draws, or polygons cannot be laid over the individuals.

        Warns
        -----
        DataWarning
            If individuals do not cover all polygons.

        Examples
        --------
        >>> import geopandas, shapely
        >>> import workbench as wb
        >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
        >>> fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)
        >>> whole = geopandas.GeoSeries(ds["bag_geometry"].values, crs=ds.attrs["crs"]).union_all()
        >>> west, south, east, north = whole.bounds
        >>> half = whole & shapely.box(west, south, (west + east) / 2, north)
        >>> sides = geopandas.GeoDataFrame(
        ...     {"side": ["west", "east"]}, geometry=[half, whole - half], crs=ds.attrs["crs"])
        >>> found = fit.aggregate(ds, sides, id="side", kind="preserved", samples=100)
        >>> round(float(found["mean"].sum() / ds["value"].sum()), 6)
        1.0
        """
        from workbench.geo.aggregate import Zones  # here and below: a fit alone needs none of it

        if choose("kind", kind, KINDS) != "expected":
            self.require_of_all()
        require(samples > 1, f"intervals need at least 2 samples, got {samples}")
        data = self._data(at_places(ds))
        zones, parts = Zones(getattr(ds, "ds", ds), polygons, id, polygon_crs, layer,
                             aggregation=self._aggregation, units=self._units), []
        for count, own in chunks(samples, data.ds.sizes["individual"], seed):
            if kind == "expected":
                drawn = self.at(data, area_effect).sample(count, own)
                require(drawn.attrs["draws"] == "joint", f"{self.model.name} has no joint draws, "
                        "and marginal intervals do not add up; vbagg and auto have")
                parts.append(zones.of_rates(drawn.values))
            else:
                drawn = self.sample(data.ds, count, preserve_totals=kind == "preserved", seed=own)
                parts.append(zones.of_values(drawn.values))
        said = {"expected": self._conditional_on(data, area_effect),
                "preserved": PRESERVED,
                "observed": "posterior predictive"}[kind]
        return zones.labelled(np.concatenate(parts), quantiles, threshold, {
            **self.provenance(), "distribution": said})

    def residual_check(self, ds: xr.Dataset, *, samples: int = 1000, permutations: int = 999,
                       seed: int = 0) -> xr.Dataset:
        """Whether what the model leaves of the areas' totals still depends on place.

        Residuals are randomised quantile residuals: of each total among draws of what the fitted f
        would have given, the effect of the area drawn from its prior. A pattern that the map
        missed and left to areas' effects shows as neighbours that are alike.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset with ``value``, at least eight areas, and their places.
        samples : int
            Draws of every total.
        permutations : int
            Of the residuals over the areas.
        seed : int
            Of draws and permutations.

        Returns
        -------
        xr.Dataset
            As of `workbench.evaluation.spatial_check`; its ``verdict`` is a sentence.

        Raises
        ------
        InputError
            If there are too few areas, no values, or nothing says where they are.

        Examples
        --------
        >>> import workbench as wb
        >>> ds = wb.load("simulated-country", pixels=300, districts=24, regions=4, provinces=2)
        >>> left = wb.Constant().fit(ds).residual_check(ds, samples=200, permutations=99)
        >>> left["residual"].sizes["bag"], left.attrs["verdict"][:30]
        (24, "residuals of areas: Moran's I ")
        """
        from workbench.evaluation.residuals import quantile_residuals, spatial_check

        data = self._data(ds)
        require("value" in data.ds, "the dataset has no value of its areas to leave residuals")
        nowhere = torch.full((data.ds.sizes["bag"],), -1)
        draws = self.inner.simulate_bags(unknown(self._bags(data)), nowhere, samples, seed)
        left = quantile_residuals(data.ds["value"].values, draws.cpu().numpy(), seed)
        return spatial_check(data.ds, left, permutations=permutations, seed=seed).assign_attrs(
            residuals="randomised quantile residuals, effects of areas from their prior")

    def ranks(self, ds: xr.Dataset, unit: str = "bag", *, samples: int = 1000,
              top: int | float = 0.1, level: float = 0.9, area_effect: bool = True, seed: int = 0
              ) -> xr.Dataset:
        """Posterior of the rank of areas, or of individuals, by their rate; 1 the highest.

        Parameters
        ----------
        ds : xr.Dataset
            Bagged dataset.
        unit : {"bag", "individual"}
            What is ranked.
        samples, seed : int
            Number of joint draws, and their seed.
        top, level
            As of `workbench.ranks`.
        area_effect : bool
            See `at`: whether areas of the training data are ranked given their totals.

        Returns
        -------
        xr.Dataset
            As of `workbench.ranks`.

        Raises
        ------
        InputError
            If the model has no joint draws.

        Examples
        --------
        >>> import workbench as wb
        >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
        >>> fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)
        >>> found = fit.ranks(ds, samples=200)
        >>> bool((found["rank_lower"] <= found["rank_upper"]).all())
        True
        """
        from workbench.evaluation.ranking import ranks

        choose("unit", unit, ("bag", "individual"))
        data = self._data(ds)
        of_areas = unit == "bag"
        drawn = (self.over if of_areas else self.at)(data, area_effect).sample(samples, seed)
        if of_areas and self.sums:
            total = np.bincount(data.ds["membership"].values, data.ds["weight"].values)
            drawn = (drawn / total).assign_attrs(drawn.attrs, units=self.rate_units)
        return ranks(drawn, top=top, level=level).assign_attrs(
            distribution=self._conditional_on(data, area_effect))

    def explain(self, ds: xr.Dataset, at, *, area_effect: bool = True, nearest: int = 5,
                influential: int = 5, quantiles: tuple[float, ...] = (0.05, 0.5, 0.95),
                level: float = 0.9) -> xr.Dataset:
        """Why the map says what it says at one pixel, and which areas it has that from.

        Influence is what leaving an area out takes off the mean of f there, by one Newton step from
        the fit: all of it for Normal values under the identity link, else near to it (areas come
        in about the order of what fits without them say). Hyperparameters are held.

        Parameters
        ----------
        ds : xr.Dataset
            The dataset of the fit, with values.
        at : int, or (x, y)
            Position of an individual, or a place in the coordinates of the map.
        area_effect : bool
            Whether the area's own effect, given its total, is a summand; see `at`.
        nearest, influential : int
            How many areas nearby, and of most influence, to name.
        quantiles : tuple of float
            Levels of the rate's quantiles.
        level : float
            Of the intervals of summands.

        Returns
        -------
        xr.Dataset
            As of `workbench.explain`, with ``influence`` and ``contribution`` (influential): the
            contributions of all areas add up to the mean of f less its prior mean. The attribute
            ``summary`` says it in lines. What a model does not know is left out.

        Raises
        ------
        InputError
            If there is no such individual, or no pixel at the place.

        Examples
        --------
        >>> import workbench as wb
        >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
        >>> fit = wb.VBAgg(kernel="linear+rbf", inducing=10, max_steps=5).fit(ds)
        >>> print(fit.explain(ds, 17).attrs["summary"].splitlines()[0])
        pixel 17 (x 79.7365, y 75) in area D01
        """
        from workbench.evaluation.explaining import explained, locate, summarise
        from workbench.evaluation.folding import subset

        place, members = locate(ds, at), ds["membership"].values
        own = int(members[place])
        order = self._near(ds, own, nearest)
        part = subset(ds, order)
        known = self._knows(ds)
        maps = self.to_dataset(part, quantiles, area_effect=area_effect, **known)
        inside = place - int(np.searchsorted(members, own))
        found = explained(maps, inside, ds, nearest, level)
        if not isinstance(self.inner, VariationalFit):
            return found
        data = self._data(subset(ds, [own]))
        both = influence(self.inner, self._bags(data), torch.tensor([inside]))
        contribution, moved = (one[0].cpu().numpy() for one in both)
        top = np.argsort(-np.abs(moved), kind="stable")[:influential]
        names = np.asarray(self._training.names)[top]
        told = "what leaving the area out takes off the mean of f, by one Newton step"
        found = found.assign_coords(influential=names).assign(
            influence=("influential", moved[top], {"units": "link scale", "long_name": told}),
            contribution=("influential", contribution[top], {
                "units": "link scale", "long_name": "the area's part of the mean of f"}))
        return found.assign_attrs(summary=summarise(found))

    def _near(self, ds: xr.Dataset, own: int, nearest: int) -> np.ndarray:
        """Positions of an area and of those nearest to it."""
        from workbench.evaluation.residuals import centres_of

        try:
            centres = centres_of(ds)
        except InputError:
            return np.array([own])
        distance = np.hypot(*(centres - centres[own]).T)
        distance[own] = -1.0
        return np.argsort(distance, kind="stable")[:nearest + 1]

    def _knows(self, ds: xr.Dataset) -> dict[str, bool]:
        """Which of information and components the model has, tried on one area."""
        from workbench.evaluation.folding import subset

        data = self._data(subset(ds, [0]))
        known = {}
        for name, ask in (("information", self.information), ("components", self.component_maps)):
            try:
                ask(data)
            except (NotExact, InputError):
                continue
            known[name] = True
        return known
