"""Bagged datasets of fewer individuals: clusters of similar ones, for data beyond memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
import xarray as xr
from tqdm import tqdm

from workbench import schema
from workbench.checks import option, require
from workbench.checks.values import whole
from workbench.gp.data.compression import Clusters, compress
from workbench.labelled.source import to_bags

MOST = 40           # clusters of a bag
AT_ONCE = 100       # areas whose pixels are in memory together


def condense(ds: xr.Dataset, most: int = MOST) -> xr.Dataset:
    """At most so many individuals in each bag: each a cluster of similar ones.

    Individuals of a bag are split along the covariate or coordinate of largest spread, the cluster
    with most spread first. A cluster has the summed weight of its members and their weighted mean
    of everything else, so that totals of bags stay what they are. Every model learns from it as
    from any dataset; `VBAgg` knows by ``concentration`` how much of the variance that individuals
    have of their own a cluster averages out. Maps are made elsewhere, with `Fit.map_over` or
    `Fit.at`.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    most : int
        Most clusters of a bag.

    Returns
    -------
    xr.Dataset
        Bagged dataset with the same bags and values, and the variable ``concentration``. What
        places individuals on a grid is left out.

    Raises
    ------
    InputError
        If ``ds`` is no bagged dataset, or ``most`` is no number of clusters.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=2000, districts=20, regions=4, provinces=2)
    >>> few = wb.condense(ds, most=10)
    >>> few.sizes["individual"], few.sizes["bag"]
    (200, 20)
    >>> bool(abs(few["weight"].sum() / ds["weight"].sum() - 1) < 1e-12)
    True
    """
    schema.check(ds)
    most = whole("most", most, 1)
    bags = to_bags(ds)
    spread = bags.x.std(0) if len(bags.x) > 1 else torch.ones(bags.x.shape[1])
    clusters = compress(replace(bags, x=bags.x / spread.where(spread > 0, 1.0)), most)
    weight = clusters.bags.weight.numpy()
    share = ds["weight"].values / weight[clusters.of.numpy()]

    def mean(values: np.ndarray) -> np.ndarray:
        return np.bincount(clusters.of.numpy(), share * values, minlength=len(weight))

    covariates = ds["covariates"].transpose("individual", "covariate")
    found = {"covariates": (covariates.dims, np.column_stack(
                 [mean(column) for column in covariates.values.T])
                 if covariates.shape[1] else np.empty((len(weight), 0))),
             "weight": (schema.INDIVIDUAL, weight, ds["weight"].attrs),
             "concentration": (schema.INDIVIDUAL, _concentration(clusters, bags))}
    found |= {"truth": (schema.INDIVIDUAL, mean(ds["truth"].values), ds["truth"].attrs)
              } if "truth" in ds else {}
    places = {axis: (schema.INDIVIDUAL, mean(ds[axis].values), ds[axis].attrs)
              for axis in ("x", "y") if axis in ds}
    kept = ds.drop_vars([name for name, one in ds.variables.items()
                         if schema.INDIVIDUAL in one.dims])
    made = kept.assign(found).assign_coords(
        individual=np.arange(len(weight)), **places)
    made["membership"] = (schema.INDIVIDUAL, clusters.bags.membership.numpy())
    made.attrs = {name: value for name, value in ds.attrs.items()
                  if not name.startswith("grid_")} | {
        "condensed": f"{ds.sizes['individual']} individuals in {len(weight)} clusters"}
    return schema.check(made)


def _concentration(clusters: Clusters, bags) -> np.ndarray:
    return clusters.concentration(bags.weight, bags.concentration).clamp(max=1.0).numpy()


def bag_in_parts(polygons: object, covariates: object = None, weight: object = None,
                 value: str | None = None, *, most: int = MOST, at_once: int = AT_ONCE,
                 progress: bool = False, **options) -> xr.Dataset:
    """Bag rasters larger than memory by polygons: some areas at a time, each condensed at once.

    Of large rasters `bag_polygons` reads the window around its polygons alone. Neighbouring areas
    are bagged together, `condense` leaves clusters of their pixels, and these are put together.

    Parameters
    ----------
    polygons, covariates, weight, value
        As of `bag_polygons`; rasters as paths, so that no more of them is read than a window.
    most : int
        Most clusters of an area.
    at_once : int
        Areas that are bagged together; memory grows with the window around them.
    progress : bool
        Whether to show a bar.
    **options
        Any other of `bag_polygons`. What lies outside all areas cannot be told from a window, nor
        are areas of different windows looked through for overlaps.

    Returns
    -------
    xr.Dataset
        As of `condense`, areas in the order of the polygons.

    Raises
    ------
    InputError
        As `bag_polygons` and `condense`; if ``outside="error"`` is asked for; and if the areas of
        one window have other classes than those of another.

    Examples
    --------
    >>> import geopandas, numpy as np, rioxarray, shapely, xarray as xr, workbench as wb
    >>> areas = geopandas.GeoDataFrame(
    ...     {"cases": [3, 8]}, geometry=shapely.box([0, 2000], 0, [2000, 4000], 2000),
    ...     crs="EPSG:32633")
    >>> height = xr.DataArray(
    ...     np.random.default_rng(0).normal(size=(4, 8)), dims=("y", "x"), name="height",
    ...     coords={"y": 1750.0 - 500 * np.arange(4), "x": 250.0 + 500 * np.arange(8)})
    >>> ds = wb.bag_in_parts(areas, height.rio.write_crs("EPSG:32633"), "uniform", "cases",
    ...                      most=5, at_once=1)
    >>> ds.sizes["bag"], ds.sizes["individual"]
    (2, 10)
    """
    from workbench.geo import bag_polygons  # here: a fit alone needs no geospatial packages
    from workbench.geo.areas import read_polygons
    from workbench.geo.treatments import Record
    from workbench.geo.windows import windows_alone

    whole("most", most, 1)
    require(options.get("outside") != "error", "in parts nobody can tell what lies outside all "
            f"areas; leave out {option('outside', 'error')}")
    areas = read_polygons(polygons, Record(), crs=options.pop("polygon_crs", None),
                          layer=options.pop("layer", None))
    order = np.argsort(areas.hilbert_distance().to_numpy(), kind="stable")
    starts = range(0, len(order), whole("at_once", at_once, 1))
    found, positions = [], {}
    for start in tqdm(starts, disable=not progress, desc="areas", unit="part"):
        part = areas.iloc[order[start:start + at_once]]
        with windows_alone():
            bagged = bag_polygons(part, covariates, weight, value,
                                  **options | {"outside": options.get("outside", "report")})
        found.append(condense(bagged, most))
        names = part.index if options.get("id") is None else part[options["id"]]
        positions |= dict(zip(names.astype(str), order[start:start + at_once], strict=True))
    return _together(found, positions)


def _together(parts: list[xr.Dataset], positions: dict[str, int]) -> xr.Dataset:
    """Parts as one dataset, bags by their positions."""
    first = parts[0]
    for part in parts[1:]:
        require(part["covariate"].equals(first["covariate"]), "areas of one window have the "
                f"covariates {first['covariate'].values.tolist()}, those of another "
                f"{part['covariate'].values.tolist()}; give rasters of shares in place of classes")
    bags = xr.concat([part.drop_dims(schema.INDIVIDUAL) for part in parts], schema.BAG)
    names = bags[schema.BAG].values.astype(str)
    require(len(set(names)) == len(names), "two areas have the same id; unite them first, or name "
            f"another column: {option('id')}")
    rank = np.argsort(np.argsort([positions[name] for name in names]))
    starts = np.cumsum([0, *(part.sizes[schema.BAG] for part in parts)])
    members = np.concatenate([rank[part["membership"].values + start]
                              for part, start in zip(parts, starts, strict=False)])
    bags = bags.isel({schema.BAG: np.argsort(rank)})
    individuals = xr.concat([part.drop_dims(schema.BAG).drop_vars("membership") for part in parts],
                            schema.INDIVIDUAL)
    ordered = individuals.isel({schema.INDIVIDUAL: np.argsort(members, kind="stable")})
    ds = xr.merge([bags, ordered.assign_coords(individual=np.arange(len(members)))],
                  compat="override", combine_attrs="drop")
    ds["membership"] = (schema.INDIVIDUAL, np.sort(members))
    counts = np.sum([[int(n) for n in part.attrs["condensed"].split() if n.isdigit()]
                     for part in parts], 0)
    kept = {name: value for name, value in first.attrs.items()
            if not name.startswith("outside_") and name != "treatments"}
    ds.attrs = kept | {"condensed": f"{counts[0]} individuals in {counts[1]} clusters",
                       "treatments": f"in {len(parts)} parts, of the first: "
                                     f"{first.attrs['treatments']}"}
    return schema.check(ds)
