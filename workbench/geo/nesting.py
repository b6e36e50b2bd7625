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
_NEAR = 4           # neighbours that are compared
_MIXED = 0.25       # of the way from chance to areas in one piece, below which they are mixed up
_SPARE = 10         # small polygons more than areas, below which neighbours say little
_FEW = 0.3          # share of neighbours alike by chance above which they say little
_TURN = 360.0       # degrees


def say_elsewhere(fine, parent: str, membership: np.ndarray, bags: np.ndarray,
                  outlines: np.ndarray, record: Record) -> None:
    """Say which small polygons lie in another larger area than the one that they name.

    A generalised outline may lack islands, and a border may be drawn otherwise: a polygon in no
    area at all is said only if it is farther from its own than that is wide.

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
    outlines = _on_the_same_turn(outlines, fine)
    small, own = fine.geometry.to_numpy(), outlines[membership]
    points = shapely.point_on_surface(small)
    shapely.prepare(outlines)
    away = np.flatnonzero(~shapely.covers(own, points))
    inside = shapely.area(shapely.intersection(small[away], own[away]))
    away = away[inside < _INSIDE * shapely.area(small[away])]
    if not away.size:
        return
    hits = shapely.STRtree(outlines).query(points[away], predicate="within")
    there = dict(zip(hits[0].tolist()[::-1], bags[hits[1]].tolist()[::-1], strict=True))
    left, low, right, high = shapely.bounds(own[away]).T
    far = shapely.distance(points[away], own[away]) > np.hypot(right - left, high - low)
    wrong = [k for k in range(away.size) if k in there or far[k]]
    if not wrong:
        return
    names, first = fine.index[away[wrong]], away[wrong[0]]
    lies = f"in {str(there[wrong[0]])!r}" if wrong[0] in there else "far from all of them"
    what = (f"{len(wrong)} of {len(fine)} small polygons lie outside the larger area that column "
            f"{parent!r} names (first: {str(names[0])!r} names {str(bags[membership[first]])!r} "
            f"and lies {lies})")
    about = {"code": "parent-elsewhere", "where": names, "count": len(wrong)}
    without = (f"or leave out {option('parent_polygons')} and give the values as a table: "
               f"{option('totals')}")
    if len(wrong) <= _MOST * len(fine):
        record.suspect(suspicious(
            what=what, fix=f"compare both on a map, and correct column {parent!r} or the outlines",
            effect="their part of the total goes to another place", joint="; ", **about))
    elif 2 * sum(k in there for k in wrong) > len(wrong):
        refuse(what, f"its ids are not those of the larger polygons: choose another column with "
               f"{option('parent')}, or of the larger ones with {option('parent_id')}, {without}",
               **about)
    else:
        bounds = np.array(shapely.total_bounds(outlines[np.unique(membership)]))
        refuse(f"{what}: the small ones run over {extent(fine.total_bounds)}, the larger ones over "
               f"{extent(bounds)}", "one of the files states a wrong CRS, or they are of different "
               f"places: correct it, {without}", **about)


def _on_the_same_turn(outlines: np.ndarray, fine) -> np.ndarray:
    """Outlines with longitudes as the small polygons write them: to 180, or to 360."""
    if not fine.crs.is_geographic:
        return outlines
    shapely = package("shapely", extra="geo")
    theirs, ours = shapely.total_bounds(outlines), fine.total_bounds
    shifts = [0.0, _TURN, -_TURN]
    shared = [min(theirs[2] + one, ours[2]) - max(theirs[0] + one, ours[0]) for one in shifts]
    turn = shifts[int(np.argmax(shared))]
    return shapely.transform(outlines, lambda xy: xy + [turn, 0.0]) if turn else outlines


def say_scattered(fine, parent: str, membership: np.ndarray, bags: np.ndarray, record: Record
                  ) -> None:
    """Warn if small polygons have neighbours of the same area no more often than by chance.

    Parameters
    ----------
    fine, parent, membership, bags
        As of `say_elsewhere`.
    record : Record
        Receives the warning.
    """
    if len(fine) - bags.size < _SPARE:
        return
    from scipy.spatial import cKDTree

    others = np.bincount(membership, minlength=bags.size)[membership] - 1.0
    by_chance = (others / (len(fine) - 1)).mean()
    at_most = np.minimum(others, _NEAR).mean() / _NEAR
    if by_chance > _FEW or at_most - by_chance < _MIXED:
        return
    near = cKDTree(np.column_stack(centroids(fine))).query(
        np.column_stack(centroids(fine)), _NEAR + 1)[1][:, 1:]
    alike = (membership[near] == membership[:, None]).mean()
    if alike < by_chance + _MIXED * (at_most - by_chance):
        record.suspect(suspicious(
            "parent-scattered", f"small polygons of one larger area of column {parent!r} lie all "
            f"about: of the nearest {_NEAR} neighbours {alike:.0%} are of the same area, "
            f"{by_chance:.0%} would be by chance and {at_most:.0%} at most",
            f"if areas should each be in one place, correct column {parent!r}; a file of their "
            f"outlines shows which are wrong: {option('parent_polygons')}", [parent],
            effect="totals go to wrong places if ids are mixed up", joint="; "))
