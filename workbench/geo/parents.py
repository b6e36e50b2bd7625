"""The larger areas of small polygons: their weights, labels and outlines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workbench.checks import option, options_named, package, require
from workbench.geo.areas import read_areas, read_polygons
from workbench.geo.attributes import label_columns
from workbench.geo.globe import projected
from workbench.geo.grids import WEIGHTS, counts_alike
from workbench.geo.shapes import on_earth
from workbench.geo.treatments import CleaningOptions, Record

_EQUAL_AREA = "EPSG:6933"


def weighed(fine, weight: str | None, units: Mapping[str, str], record: Record,
            aggregation: str = "sum"):
    """Small polygons with a column of weights, its name and its units.

    Parameters
    ----------
    fine : geopandas.GeoDataFrame
        Small polygons.
    weight : str or None
        A column, "area" or "uniform"; None is "area", and said.
    units : mapping of column to str
        As given.
    record : Record
        Receives what the weight is.
    aggregation : {"sum", "mean"}
        What the areas' values are.

    Returns
    -------
    tuple
        Polygons, name of the column, units.
    """
    if weight is not None and (weight in fine or weight not in WEIGHTS):
        return fine, weight, units.get(weight, "persons")
    kind = weight or "area"
    record.note((f"{counts_alike(aggregation)}; " if weight is None else "")
                + f"individuals are weighted by {'their area in km²' if kind == 'area' else 'one'}")
    km2 = _km2(fine) if kind == "area" else 1.0
    return fine.assign(**{kind: km2}), kind, "km²" if kind == "area" else "polygons"


def _km2(fine):
    """Area of each polygon, on the ground where they lie on Earth."""
    if on_earth(fine.crs):
        return fine.geometry.to_crs(_EQUAL_AREA).area / 1e6
    return fine.geometry.area * fine.crs.axis_info[0].unit_conversion_factor ** 2 / 1e6


def read_parents(polygons: object, id: str | None, layer: str | None, options: CleaningOptions,
                 record: Record, parent: str):
    """The larger areas as polygons, by id as text; None if they are not given.

    Parameters
    ----------
    polygons, id, layer
        parent_polygons, parent_id and parent_layer of `workbench.bag_children`.
    options, record
        As of `workbench.geo.areas.read_areas`.
    parent : str
        Column of the small polygons with the larger area's id: where the larger ones have rows
        that are only numbered, also some that are left of more, and a column of that name, it has
        their ids.

    Raises
    ------
    InputError
        If rows of a file are only numbered: a number that is an id, too, would be another area's.
    """
    for name, given in (("parent_id", id), ("parent_layer", layer)):
        require(polygons is not None or given is None, f"{name} is of the larger areas; give "
                + option("parent_polygons"))
    if polygons is None:
        return None
    with options_named(layer="parent_layer"):
        larger = read_polygons(polygons, record, layer=layer)
        if id is None and larger.index.name is None and larger.index.dtype.kind == "i":
            if parent in larger:
                id = parent
                record.note(f"the larger areas' ids are in their column {parent!r}, too")
            require(id is not None or not isinstance(polygons, (str, Path)),
                    "the larger areas have no column "
                    f"{parent!r} as the small ones; say which has their ids with "
                    + option("parent_id") + f", of {larger.columns.drop('geometry').tolist()}")
        return read_areas(larger, id, None, options, record)


def bag_labels(
    fine, membership: np.ndarray, bags: np.ndarray, labels: Mapping[str, str]
) -> dict[str, np.ndarray]:
    """Labels of the larger areas, from columns of the small ones that are constant in each."""
    first = np.unique(membership, return_index=True)[1]
    found = {}
    for coordinate, values in label_columns(fine, labels).items():
        varying = np.unique(membership[values != values[first][membership]])
        require(varying.size == 0, f"label {coordinate!r} varies within {varying.size} areas "
                                   f"(first: {bags[varying[:1]].tolist()})")
        found[coordinate] = values[first]
    return found


def outlines(fine, membership: np.ndarray, bags: np.ndarray, larger) -> np.ndarray:
    """Outlines of the larger areas (bag,): their own, or those of the small ones united."""
    shapely = package("shapely", extra="geo")
    if larger is not None:
        missing = [b for b in bags if b not in larger.index]
        require(not missing, f"parent_polygons lack {len(missing)} areas (first: {missing[:3]}), "
                f"of {larger.index[:3].tolist()} and so on; name their column of ids with "
                + option("parent_id"))
        there = larger if larger.crs == fine.crs else projected(larger, fine.crs)
        return there.geometry.loc[bags].to_numpy(dtype=object)
    shapes = fine.geometry.to_numpy()
    united = np.empty(bags.size, dtype=object)
    united[:] = [shapely.union_all(shapes[membership == b]) for b in range(bags.size)]
    return united
