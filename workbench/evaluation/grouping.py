"""Groups of neighbouring areas, at several sizes and in several draws, to merge and recover."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from sklearn.cluster import AgglomerativeClustering

from workbench.bagging import contiguous_groups, periods_of
from workbench.bagging.assemble import located
from workbench.checks import InputError, choose, require, whole
from workbench.schema import BAG, GEOMETRY, check

PER_GROUP = (6, 4, 3)       # areas per group at the default levels
FEWEST_GROUPS, FEWEST_AREAS = 5, 10
NO_GROUP = -1               # of a draw that a level does not have


def default_levels(areas: int) -> list[int]:
    """How many groups to merge so many areas into: a sixth, a quarter and a third of them.

    Rounded, never fewer than five groups (less can hardly be learnt from), and at least two areas
    per group on average.

    Parameters
    ----------
    areas : int
        Number of areas.

    Returns
    -------
    list of int
        Numbers of groups, ascending.

    Raises
    ------
    InputError
        If there are fewer than ten areas.
    """
    require(areas >= FEWEST_AREAS, f"coarsen and recover needs at least {FEWEST_AREAS} areas to "
            f"merge into {FEWEST_GROUPS} groups, got {areas}; with so few nothing can be tested")
    return sorted({max(FEWEST_GROUPS, round(areas / per)) for per in PER_GROUP})


def fewest_groups(ds: xr.Dataset) -> int:
    """Fewest groups that something can be learnt from; of areas over time one in each period.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    """
    periods = periods_of(ds)
    return max(FEWEST_GROUPS, 0 if periods is None else np.unique(periods).size)


def groupings(ds: xr.Dataset, levels: Sequence[int | str] | None = None, draws: int = 4,
              seed: int = 0) -> xr.DataArray:
    """Contiguous groups of areas for every level and draw.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset. Without x and y, neighbours are the areas whose mean covariates are
        alike. Areas over time are grouped within each period.
    levels : sequence of int or str, optional
        Numbers of groups (contiguous, as `workbench.merge_to` makes them, differently in each
        draw), or labels of the areas such as "province" (a single draw). By default
        `default_levels`, and each text label with between an eighth and a half as many values as
        there are areas, and at least five.
    draws : int
        Groupings of each level that is a number.
    seed : int

    Returns
    -------
    xr.DataArray of int (level, draw, area)
        The group of each area, numbered from 0; -1 throughout where a level has no such draw.
        Levels are named by their number of groups or their label; ``groups`` (level) is how many.

    Raises
    ------
    InputError
        If a level is unknown, or has fewer than two groups or as many as there are areas.
    """
    check(ds)
    whole("draws", draws, least=1)
    areas = ds.sizes[BAG]
    if levels is None:
        counts = {max(fewest_groups(ds), count) for count in default_levels(areas)}
        levels = [*_sensible_labels(ds), *sorted(counts)]
    levels = [levels] if isinstance(levels, int | str) else list(levels)
    names = [str(level) for level in levels]
    require(len(names) > 0, "give at least one level")
    require(len(set(names)) == len(names), f"levels must differ, got {names}")
    out = np.full((len(levels), draws, areas), NO_GROUP, dtype=np.int64)
    for at, level in enumerate(levels):
        if isinstance(level, str):
            out[at, 0] = _by_label(ds, level)
        else:
            count = whole("a level", level, least=2, most=areas - 1)
            neighbours = contiguous_groups if located(ds) else _alike
            for draw in range(draws):
                own = np.random.SeedSequence([seed, count, draw]).generate_state(1)[0]
                out[at, draw] = neighbours(ds, count, int(own))
    return xr.DataArray(
        out, dims=("level", "draw", "area"), name="group",
        coords={"level": names, "draw": np.arange(draws), "area": ds[BAG].values.astype(str),
                "groups": ("level", out.max((1, 2)) + 1)},
        attrs={"long_name": "group that the area was merged into"},
    )


def check_groupings(groups: xr.DataArray, ds: xr.Dataset) -> xr.DataArray:
    """Return groupings unchanged if they group the areas of a dataset, else say what is wrong.

    Parameters
    ----------
    groups : xr.DataArray (level, draw, area)
        As `groupings` returns it.
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    xr.DataArray
        The same groups.

    Raises
    ------
    InputError
        On other dimensions, another number of areas, or groups that are not numbered from 0.
    """
    require(isinstance(groups, xr.DataArray) and groups.dims == ("level", "draw", "area"),
            "groups must be a DataArray (level, draw, area) as `groupings` returns it")
    require(groups.sizes["area"] == ds.sizes[BAG], f"the groups are of {groups.sizes['area']} "
            f"areas, the dataset has {ds.sizes[BAG]}; make them from this dataset")
    for one in groups.values.reshape(-1, groups.sizes["area"]):
        found = np.unique(one)
        require(found.tolist() in ([NO_GROUP], list(range(found.size))),
                "the groups of a draw must be numbered 0, 1, ... without gaps (or all be -1)")
    return groups


def _text_labels(ds: xr.Dataset) -> list[str]:
    return [str(n) for n, c in ds.coords.items() if c.dims == (BAG,) and c.dtype.kind in "OUT"
            and n not in (*GEOMETRY, BAG)]


def _sensible_labels(ds: xr.Dataset) -> list[str]:
    areas = ds.sizes[BAG]
    counts = {name: np.unique(ds[name].values.astype(str)).size for name in _text_labels(ds)}
    least = max(FEWEST_GROUPS, areas / 8)
    # An area's periods together are no group of neighbours, nor are all areas of one period.
    apart = ("area", "period") if periods_of(ds) is not None else ()
    return [name for name, count in counts.items()
            if least <= count <= areas / 2 and name not in apart]


def _alike(ds: xr.Dataset, count: int, seed: int) -> np.ndarray:
    """Ward groups of areas by their mean covariates, moved a little so that draws differ."""
    membership, weight = ds["membership"].values, ds["weight"].values
    total = np.bincount(membership, weights=weight)
    centres = np.column_stack([np.bincount(membership, weights=weight * column) / total
                               for column in ds["covariates"].values.T])
    spread = centres.std(0)
    centres = (centres - centres.mean(0)) / np.where(spread > 0, spread, 1)
    moved = 0.3 * len(centres) ** (-1 / centres.shape[1])   # of their typical distance
    centres = centres + np.random.default_rng(seed).normal(0, moved, centres.shape)
    return AgglomerativeClustering(count, linkage="ward").fit_predict(centres)


def _by_label(ds: xr.Dataset, name: str) -> np.ndarray:
    choose("level", name, _text_labels(ds))
    found, groups = np.unique(ds[name].values.astype(str), return_inverse=True)
    if not 2 <= found.size < ds.sizes[BAG]:
        raise InputError(f"the label {name!r} has {found.size} values on {ds.sizes[BAG]} areas; "
                         "merging needs at least two groups, and fewer than there are areas")
    return groups
