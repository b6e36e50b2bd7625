"""Whether small polygons lie in the larger areas that they name."""

from __future__ import annotations

import numpy as np

from workbench.bagging.findings import refuse, suspicious
from workbench.checks import option, package
from workbench.geo.globe import centroids
from workbench.geo.shapes import extent
from workbench.geo.treatments import Record

_INSIDE = 0.5       # share of a small polygon inside its area from which it lies there
_MOST = 0.5         # share of small polygons elsewhere from which ids or places are wrong
_SCATTER = 0.8      # of that of areas whose small polygons were drawn at random
_SPARE = 10         # small polygons more than areas, below which scatter says little


def say_elsewhere(fine, parent: str, membership: np.ndarray, bags: np.ndarray,
                  outlines: np.ndarray, record: Record) -> None:
    """Say which small polygons lie outside the larger area that they name.

    Parameters
    ----------
    fine : geopandas.GeoDataFrame
        The small polygons, by id.
    parent : str
        Their column with the larger area's id.
    membership : int array (individual,)
        Position of the larger area of each.
    bags : array (bag,)
        Ids of the larger areas.
    outlines : array of shapely geometry (bag,)
        In the CRS of ``fine``; given, and not made of the small polygons themselves.
    record : Record
        Receives a warning of those that lie elsewhere.

    Raises
    ------
    InputError
        If that is so of more than half of them: ids are of other areas, or a CRS is wrong.
    """
    shapely = package("shapely", extra="geo")
    small, own = fine.geometry.to_numpy(), outlines[membership]
    points = shapely.point_on_surface(small)
    shapely.prepare(outlines)
    away = np.flatnonzero(~shapely.covers(own, points))
    size = shapely.area(small[away])
    inside = shapely.area(shapely.intersection(small[away], own[away]))
    away = away[inside < _INSIDE * size]
    if not away.size:
        return
    names = fine.index[away]
    found = shapely.STRtree(outlines).query(points[away], predicate="within")
    there = dict(zip(found[0].tolist()[::-1], bags[found[1]].tolist()[::-1], strict=True))
    first = (f"{str(names[0])!r} names {str(bags[membership[away[0]]])!r} and lies in "
             + (repr(str(there[0])) if 0 in there else "none of them"))
    what = (f"{away.size} of {len(fine)} small polygons lie outside the larger area that column "
            f"{parent!r} names (first: {first})")
    about = {"code": "parent-elsewhere", "where": names, "count": int(away.size)}
    if away.size <= _MOST * len(fine):
        record.suspect(suspicious(
            what=what, fix=f"compare both on a map, and correct column {parent!r} or the outlines",
            effect="their part of the total goes to another place", joint="; ", **about))
    elif there:
        refuse(what, f"its ids are not those of the larger polygons: choose another column with "
               f"{option('parent')}, or of the larger ones with {option('parent_id')}", **about)
    else:
        bounds = np.array(shapely.total_bounds(outlines[np.unique(membership)]))
        refuse(f"{what}: the small ones run over {extent(fine.total_bounds)}, the larger ones over "
               f"{extent(bounds)}", "one of the files states a wrong CRS, or they are of different "
               "places", **about)


def say_scattered(fine, parent: str, membership: np.ndarray, bags: np.ndarray, record: Record
                  ) -> None:
    """Warn if areas made of small polygons lie about as those of a random choice would.

    Parameters
    ----------
    fine, parent, membership, bags
        As of `say_elsewhere`.
    record : Record
        Receives the warning.
    """
    spare = len(fine) - bags.size
    if spare < _SPARE or bags.size < 2:
        return
    places = np.column_stack(centroids(fine))
    each = np.bincount(membership, minlength=bags.size)[:, None]
    centres = np.stack([np.bincount(membership, axis, bags.size) for axis in places.T], 1) / each
    within = ((places - centres[membership]) ** 2).sum()
    total = ((places - places.mean(0)) ** 2).sum()
    by_chance = spare / (len(fine) - 1)         # expected share of what lies within areas
    if within > _SCATTER * by_chance * total:
        record.suspect(suspicious(
            "parent-scattered", f"small polygons of one larger area of column {parent!r} lie "
            f"nearly as far from each other as those of different ones ({within / total:.0%} of "
            f"the squared distances are within areas, {by_chance:.0%} by chance)",
            f"if areas should each be in one place, correct column {parent!r}; a file of their "
            f"outlines shows which are wrong: {option('parent_polygons')}", [parent],
            effect="totals go to wrong places if ids are mixed up", joint="; "))
