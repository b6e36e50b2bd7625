"""A fit's posterior over other areas than its own: new polygons."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.checks import choose, require
from workbench.geo.aggregate import Zones
from workbench.labelled.drawing import PRESERVED, chunks
from workbench.labelled.insight import Insight
from workbench.labelled.predictive import DISTRIBUTIONS

KINDS = ("expected", "observed", "preserved")


class Regional(Insight):
    """The posterior of a `Fit` over polygons."""

    def aggregate(self, ds: xr.Dataset, polygons: object, *, id: str | None = None,
                  kind: str = "expected", area_effect: bool = False, samples: int = 1000,
                  quantiles: tuple[float, ...] = (0.05, 0.5, 0.95),
                  threshold: float | None = None, polygon_crs: str | None = None,
                  layer: str | None = None, seed: int = 0) -> xr.Dataset:
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
            What is drawn: expected totals; what would be observed, with the noise of counts; or
            that, given that every draw adds up to the known areas' totals.
        area_effect : bool
            Of expected totals, see `at`; the other two take known areas' effects given their
            totals.
        samples, seed : int
            Number of joint draws, and their seed.
        quantiles : tuple of float
            Levels of the quantiles.
        threshold : float, optional
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
        choose("kind", kind, KINDS)
        require(samples > 1, f"intervals need at least 2 samples, got {samples}")
        data = self._data(ds)
        zones, parts = Zones(data.ds, polygons, id, polygon_crs, layer), []
        for count, own in chunks(samples, data.ds.sizes["individual"], seed):
            if kind == "expected":
                drawn = self.at(data, area_effect).sample(count, own)
                require(drawn.attrs["draws"] == "joint", f"{self.model.name} has no joint draws, "
                        "and marginal intervals do not add up; vbagg and auto have")
                parts.append(zones.of_rates(drawn.values))
            else:
                drawn = self.sample(data.ds, count, preserve_totals=kind == "preserved", seed=own)
                parts.append(zones.of_values(drawn.values))
        said = {"expected": DISTRIBUTIONS[area_effect], "preserved": PRESERVED,
                "observed": "posterior predictive"}[kind]
        return zones.labelled(np.concatenate(parts), quantiles, threshold, {
            **self.provenance(), "distribution": said})
