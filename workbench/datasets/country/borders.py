"""Administrative areas of a simulated country, three levels that nest."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from workbench.checks import require


def area_mass(
    population: np.ndarray, areas: int, smallest: float, largest: float
) -> np.ndarray:
    """Share of an area that each pixel makes up, so that ``areas`` areas have mass one.

    Crowded pixels weigh more, so towns get small areas and the wilderness large ones; the
    bounds keep an area's pixels between ``smallest`` and ``largest``.

    Parameters
    ----------
    population : np.ndarray
        Persons per pixel.
    areas : int
        Number of areas.
    smallest, largest : float
        Bounds on the pixels in an area.

    Returns
    -------
    np.ndarray
        Mass per pixel; adds up to ``areas``.

    Raises
    ------
    InputError
        If so many areas within the bounds cannot make up the country.
    """
    pixels = population.size
    require(
        smallest < pixels / areas < largest,
        f"{areas} areas of {smallest:g} to {largest:g} pixels cannot make up {pixels} pixels; "
        f"the mean {pixels / areas:.4g} must lie between the two",
    )
    appeal = population**1.5
    # Areas are allotted in whole numbers, level by level, so their mass is one only about.
    lightest, heaviest = 1 / (0.88 * largest), 1 / (1.12 * smallest)
    require(lightest * pixels < areas < heaviest * pixels,
            f"bounds of {smallest:g} and {largest:g} pixels are too tight for a mean of "
            f"{pixels / areas:.4g}; widen them")

    def mass(log_scale: float) -> np.ndarray:
        return np.clip(np.exp(log_scale) * appeal, lightest, heaviest)

    ends = np.log(lightest / appeal.max()) - 1, np.log(heaviest / appeal.min()) + 1
    return mass(brentq(lambda log_scale: mass(log_scale).sum() - areas, *ends))


def divide(
    points: np.ndarray, mass: np.ndarray, counts: tuple[int, int, int], rng: np.random.Generator
) -> np.ndarray:
    """Divide points into provinces, these into regions, these into districts.

    Each set is cut in two across its longer extent, in proportion to the number of areas on
    either side, until every part is one area.

    Parameters
    ----------
    points : np.ndarray
        Coordinates (pixel, 2); bent ones make winding borders.
    mass : np.ndarray
        Mass per pixel.
    counts : (int, int, int)
        Numbers of provinces, regions and districts in all.
    rng : np.random.Generator
        Source of randomness (the slant of the cuts).

    Returns
    -------
    np.ndarray
        (pixel, 3) province, region and district, each numbered through the country.
    """
    require(counts[0] <= counts[1] <= counts[2],
            f"expected provinces <= regions <= districts, got {counts}")
    labels = np.zeros((len(points), 3), dtype=np.int64)
    sets, shares = [np.arange(len(points))], [counts]
    for level in range(3):
        parts, inside = [], []
        for members, share in zip(sets, shares, strict=True):
            made = _cut(points, mass, members, share[level], rng)
            parts += made
            # Smaller areas are allotted to the parts by their mass, at least one each.
            allotted = [_allot(np.array([mass[m].sum() for m in made]), share[lower])
                        for lower in range(3)]
            inside += [tuple(int(a[p]) for a in allotted) for p in range(len(made))]
        for number, members in enumerate(parts):
            labels[members, level] = number
        sets, shares = parts, inside
    return labels


def without_fragments(district: np.ndarray, smallest: int, largest: int) -> np.ndarray:
    """Give detached pieces of districts to the neighbour they border most.

    Parameters
    ----------
    district : np.ndarray
        Grid of district numbers, -1 at sea.
    smallest, largest : int
        A piece stays where it is if moving it would break these bounds on a district's pixels.

    Returns
    -------
    np.ndarray
        The grid, with pieces reattached; islands stay with their district.
    """
    district = district.copy()
    land = district >= 0
    for _ in range(3):
        piece = _pieces(district)
        size = np.bincount(piece[land])
        owner = np.zeros(size.size, dtype=np.int64)
        owner[piece[land]] = district[land]
        pixels = np.bincount(district[land])
        main = np.zeros(pixels.size, dtype=np.int64)
        np.maximum.at(main, owner, size)
        detached = size < main[owner]
        pairs = [(district[a].ravel(), piece[b].ravel()) for a, b in _adjacent(both=True)]
        neighbour, inner = (np.concatenate(side) for side in zip(*pairs, strict=True))
        border = (neighbour >= 0) & (inner >= 0)
        neighbour, inner = neighbour[border], inner[border]
        border = detached[inner] & (neighbour != owner[inner])
        key, contacts = np.unique(inner[border] * pixels.size + neighbour[border],
                                  return_counts=True)
        # In order of contacts, so that a piece's last entry is the neighbour it borders most.
        rank = np.argsort(contacts, kind="stable")
        wish = dict(zip(*np.divmod(key[rank], pixels.size), strict=True))
        moved = False
        for p, target in wish.items():
            source = owner[p]
            if (pixels[source] - size[p] >= smallest and pixels[target] + size[p] <= largest):
                pixels[source] -= size[p]
                pixels[target] += size[p]
                owner[p], moved = target, True
        if not moved:
            break
        district[land] = owner[piece[land]]
    return district


def _cut(
    points: np.ndarray, mass: np.ndarray, members: np.ndarray, count: int, rng: np.random.Generator
) -> list[np.ndarray]:
    if count == 1:
        return [members]
    here = points[members] - points[members].mean(axis=0)
    # The longer extent, slanted a little: right angles do not look like borders.
    direction = np.linalg.eigh(here.T @ here)[1][:, 1]
    slant = rng.normal(0, 0.35)
    turn = np.array([[np.cos(slant), -np.sin(slant)], [np.sin(slant), np.cos(slant)]])
    order = np.argsort(here @ turn @ direction, kind="stable")
    below = count // 2
    share = np.cumsum(mass[members][order])
    at = int(np.searchsorted(share, share[-1] * below / count))
    at = min(max(at, below), members.size - (count - below))
    return (_cut(points, mass, members[order[:at]], below, rng)
            + _cut(points, mass, members[order[at:]], count - below, rng))


def _allot(mass: np.ndarray, total: int) -> np.ndarray:
    """Whole numbers of at least one, in proportion to mass, that add up to ``total``."""
    if total < mass.size:  # an upper level: already settled
        return np.ones(mass.size, dtype=np.int64)
    exact = mass / mass.sum() * (total - mass.size)
    whole = np.floor(exact).astype(np.int64)
    rest = total - mass.size - whole.sum()
    whole[np.argsort(whole - exact, kind="stable")[:rest]] += 1
    return whole + 1


def _pieces(district: np.ndarray) -> np.ndarray:
    """Number the connected pieces of equal districts, -1 at sea."""
    index = np.arange(district.size).reshape(district.shape)
    joins = [(index[a][same], index[b][same]) for a, b in _adjacent()
             for same in [(district[a] == district[b]) & (district[a] >= 0)]]
    left, right = (np.concatenate(side) for side in zip(*joins, strict=True))
    graph = coo_array((np.ones(left.size, bool), (left, right)), shape=(district.size,) * 2)
    label = connected_components(graph, directed=False)[1].reshape(district.shape)
    piece = np.full(district.shape, -1)
    piece[district >= 0] = np.unique(label[district >= 0], return_inverse=True)[1]
    return piece


def _adjacent(both: bool = False) -> list[tuple[tuple[slice, slice], tuple[slice, slice]]]:
    """Slices of pixels and their neighbours to the east and south (and back)."""
    whole, first, rest = slice(None), slice(None, -1), slice(1, None)
    pairs = [((whole, first), (whole, rest)), ((first, whole), (rest, whole))]
    return pairs + [(b, a) for a, b in pairs] if both else pairs
