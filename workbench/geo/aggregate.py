"""The posterior of a map added up over new polygons, from joint draws."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import DataWarning, InputError, option, require, warn
from workbench.geo.maps import listed_periods, map_periods
from workbench.geo.overlay import shares_in, zones_of
from workbench.schema.exceedance import Thresholds, exceedance_map, levels_of

_WHOLE = 0.99       # of a polygon's area that individuals cover, below which it is said


def aggregate(maps: xr.Dataset, polygons: object, *, id: str | None = None,
              quantiles: tuple[float, ...] = (0.05, 0.5, 0.95),
              threshold: float | Sequence[float] | None = None,
              polygon_crs: str | None = None, layer: str | None = None) -> xr.Dataset:
    """Add a map up over new polygons, with intervals, from the joint draws that it keeps.

    Marginal intervals of pixels do not add up: neighbours are wrong together. So every draw of the
    map is added up, a pixel counting by the fraction of it that lies inside.

    Parameters
    ----------
    maps : xr.Dataset
        A map with ``draw`` (``fit.to_dataset(ds, draws=500)``, ``--draws 500``).
    polygons : geopandas.GeoDataFrame, str or Path
        The new areas, in any CRS; they may overlap.
    id : str, optional
        Column with their names; the index if not given.
    quantiles : tuple of float
        Levels of the quantiles.
    threshold : float or sequence of float, optional
        In units of the value: P(polygon > threshold) is added.
    polygon_crs, layer : str, optional
        CRS of polygons that state none; layer of a file that has several.

    Returns
    -------
    xr.Dataset
        Along ``bag``, the new polygons: ``mean``, ``std``, ``value_quantile`` (quantile, bag) and
        ``exceedance`` of the total and not of a rate (or of the mean, where the areas' values are
        means, or the map, being one of points, has no weights), of several thresholds (threshold,
        bag), ``rate`` per unit of weight, ``weight``, ``covered`` (the share of the polygon's area
        that the map covers, pixels of zero weight inside areas included; totals are of that part),
        and the draws themselves, ``draw`` (sample, bag), which are joint.

    Raises
    ------
    InputError
        If the map keeps no draws, or the polygons cannot be laid over it.

    Warns
    -----
    DataWarning
        If the map has no weights or does not cover all polygons, or a threshold lies below all
        totals.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)
    >>> import geopandas
    >>> regions = geopandas.GeoDataFrame(
    ...     {"region": ds["region"]}, geometry=ds["bag_geometry"].values, crs=ds.attrs["crs"]
    ... ).dissolve("region")
    >>> found = wb.aggregate(fit.to_dataset(ds, draws=100), regions)
    >>> found["value_quantile"].sizes["bag"]
    4
    """
    require("draw" in maps, "the map keeps no joint draws, and marginal intervals do not add up; "
            "make it with fit.to_dataset(ds, draws=500) or --draws 500, or use fit.aggregate")
    attrs = maps["draw"].attrs
    # Means have the units of rates.
    mean = attrs.get("aggregation") == "mean" or "weight" not in maps
    units = attrs.get("units")
    if not mean:                        # a total's, of a map that does not know its areas' values
        known = {"value", "bag_mean"} & set(maps)
        units = None if known or units is None else str(units).rpartition(" / ")[0]
    zones = Zones(maps, polygons, id, polygon_crs, layer, aggregation=attrs.get("aggregation"),
                  units=units)
    drawn = zones.of_rates(maps["draw"].values.astype(float))
    return zones.labelled(drawn, quantiles, threshold, {
        "distribution": str(attrs.get("distribution", maps.attrs.get("distribution", "")))})


class Zones:
    """New polygons laid over the individuals of a dataset.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset, or a map.
    polygons, id, crs, layer
        As of `workbench.geo.overlay.zones_of`.
    aggregation : {"sum", "mean"}, optional
        Of what was learnt; by default as of the dataset's values, which another region may lack.
    units : str, optional
        Of totals or means, likewise.
    """

    def __init__(self, ds: xr.Dataset, polygons: object, id: str | None = None,
                 crs: str | None = None, layer: str | None = None, *,
                 aggregation: str | None = None, units: str | None = None):
        periods = map_periods(ds)
        if len(periods) > 1:
            raise InputError("polygons are added up at one period, and this map has "
                             f"{len(periods)} ({listed_periods(periods)}); take one with "
                             f"workbench.at_period(maps, {periods[-1]!r})")
        weighed = "weight" in ds
        if not weighed:
            ds = ds.assign(weight=(schema.INDIVIDUAL, np.ones(ds.sizes[schema.INDIVIDUAL])))
            warn("the map has no weights, as maps of points have none: numbers of polygons are "
                 "means in which every pixel counts alike. For means by people give it a raster "
                 f"of these: {option('weight', 'people.tif')} of workbench aggregate, "
                 "wb.with_weight(maps, 'people.tif') in Python",
                 DataWarning)
        self.frame = zones_of(ds, polygons, id, crs, layer)
        self.shares, self.covered = shares_in(ds, self.frame)
        value = next((ds[name].attrs for name in ("value", "bag_mean") if name in ds), {})
        self.units = str(value.get("units", "")) if units is None else units
        self.sums = weighed and (aggregation or value.get("aggregation", "sum")) == "sum"
        self.weight_units = ds["weight"].attrs.get("units", "")
        self._each = ds["weight"].values.astype(float)
        self.weight = self.shares @ self._each
        short = np.flatnonzero(self.covered < _WHOLE)
        if short.size:
            warn(f"the map does not cover all of {short.size} of {len(self.frame)} polygons "
                 f"(first: {self.frame.index[short[0]]}, {self.covered[short[0]]:.1%}): numbers "
                 "are of the part that it covers; see covered", DataWarning)

    def of_rates(self, draws: np.ndarray) -> np.ndarray:
        """Draws (S, zones) of totals, or means by weight, from draws (S, individuals) of rates."""
        totals = (self.shares * self._each[None]) @ draws.T
        return totals.T if self.sums else _over(totals.T, self.weight)

    def of_values(self, draws: np.ndarray) -> np.ndarray:
        """The same from draws of what individuals are observed as: counts, not rates."""
        counted = self.shares * (self._each > 0)[None]      # nobody is nowhere counted
        return (counted @ draws.T).T if self.sums else self.of_rates(draws)

    def labelled(self, draws: np.ndarray, quantiles: Iterable[float], threshold: Thresholds,
                 attrs: Mapping[str, str]) -> xr.Dataset:
        """Draws (S, zones) as `aggregate` returns them."""
        draws = np.where(self.weight > 0, draws, np.nan)
        levels, what = np.asarray(list(quantiles), dtype=float), "total" if self.sums else "mean"
        unit = self.units
        per = f"{unit or 1} / {self.weight_units}" if self.sums and self.weight_units else unit
        mean = draws.mean(0)
        rate = _over(mean, self.weight) if self.sums else mean
        of = {"units": unit}
        found = {
            "mean": (schema.BAG, mean, {**of, "long_name": f"posterior mean of the {what}"}),
            "std": (schema.BAG, draws.std(0, ddof=1),
                    {**of, "long_name": f"posterior std of the {what}"}),
            "value_quantile": (("quantile", schema.BAG), np.quantile(draws, levels, axis=0),
                               {**of, "long_name": f"quantile of the {what}"}),
            "rate": (schema.BAG, rate, {"units": per, "long_name": "posterior mean of the rate"}),
            "weight": (schema.BAG, self.weight, {"units": self.weight_units}),
            "covered": (schema.BAG, self.covered, {
                "units": "1", "long_name": "share of the polygon's area that the map covers"}),
            "draw": (("sample", schema.BAG), draws, {
                **of, "long_name": f"joint draw of the {what}", "draws": "joint"}),
        }
        if threshold is not None:
            self._look_at(levels_of(threshold), draws)
            above = np.stack([np.where(self.weight > 0, (draws > level).mean(0), np.nan)
                              for level in levels_of(threshold)])
            found["exceedance"] = exceedance_map(above, threshold, what, {}, schema.BAG)
        return xr.Dataset(found, coords={
            "bag": self.frame.index.to_numpy(dtype=str), "quantile": levels,
            "bag_geometry": (schema.BAG, self.frame.geometry.to_numpy(dtype=object)),
        }, attrs={"crs": self.frame.crs.to_string(), "samples": len(draws), **attrs})


    def _look_at(self, thresholds: np.ndarray, draws: np.ndarray) -> None:
        """Warn of thresholds below all totals, as those of rates are."""
        drawn = draws[:, self.weight > 0]
        if not self.sums or not drawn.size:
            return
        below = [level for level in thresholds if 0 < level < drawn.min()]
        if below:
            warn(f"the threshold {below[0]:g} lies below every total that was drawn (the least is "
                 f"{drawn.min():.4g}): it is compared with totals of polygons, not with rates; for "
                 "a rate give it times the weight of the polygon", DataWarning)


def _over(totals: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Totals per weight; not a number where there is none."""
    return np.divide(totals, weight, out=np.full(totals.shape, np.nan),
                     where=np.broadcast_to(weight > 0, totals.shape))
