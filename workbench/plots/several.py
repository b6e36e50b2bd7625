"""Trees of sources as plots take them: their parts, the tasks they observe, maps that fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import xarray as xr

from workbench.checks import choose, reject, require
from workbench.schema import BAG, COVARIATE, INDIVIDUAL

SOURCES, TARGET, TASK = "sources", "target", "task"
Tree = xr.DataTree | Mapping[str, xr.Dataset]


def parts(tree: Tree) -> tuple[dict[str, xr.Dataset], xr.Dataset]:
    """Sources by name, and the target.

    Parameters
    ----------
    tree : xr.DataTree or mapping of str to xr.Dataset
        ``sources/<name>`` and ``target``; or sources by name, and ``target`` among them.

    Returns
    -------
    sources : dict of str to xr.Dataset
        By name.
    target : xr.Dataset
        The target.

    Raises
    ------
    InputError
        If it is neither, or a part is missing or no bagged dataset with values.
    """
    remedy = "pass a tree of workbench.load_sources, or {'stations': ds, ..., 'target': goal}"
    if isinstance(tree, xr.DataTree):
        nodes = tree[SOURCES].children if SOURCES in tree.children else {}
        found = {str(name): node.to_dataset() for name, node in nodes.items()}
        found |= {TARGET: tree[TARGET].to_dataset()} if TARGET in tree.children else {}
    elif isinstance(tree, Mapping) and not isinstance(tree, xr.Dataset):
        found = {str(name): ds for name, ds in tree.items()}
    else:
        raise reject("a DataTree of sources, or Datasets by name", type(tree).__name__, remedy)
    require(TARGET in found and len(found) > 1, "expected sources and a target, got "
            f"{', '.join(found) or 'nothing'}; {remedy}")
    for name, ds in found.items():
        if not isinstance(ds, xr.Dataset):
            raise reject(f"{name!r} to be a Dataset", type(ds).__name__, remedy)
        need(ds, ("covariates", "membership", "value"), repr(name), "build it with "
             "workbench.bag_along or one of the other makers of bags")
    return found, found.pop(TARGET)


def need(ds: xr.Dataset, names: Iterable[str], what: str, remedy: str) -> None:
    """Refuse a dataset that lacks a variable or a coordinate.

    Raises
    ------
    InputError
        Which are missing, of ``what``, and the remedy.
    """
    lacking = [name for name in names if name not in ds]
    require(not lacking, f"{what} has no {', '.join(map(repr, lacking))}; {remedy}")


def covariate_of(ds: xr.Dataset, covariate: str, what: str) -> np.ndarray:
    """One covariate of the individuals (individual,).

    Raises
    ------
    InputError
        If ``what`` has no such covariate.
    """
    choose(f"covariate of {what}", covariate, [str(n) for n in ds[COVARIATE].values])
    return ds["covariates"].sel({COVARIATE: covariate}).values


def tasks(name: str, ds: xr.Dataset) -> list[str]:
    """What a part observes: one task, or those of a ``value`` (bag, task)."""
    if TASK not in ds["value"].dims:
        return [str(ds["value"].attrs.get(TASK, "value"))]
    require(TASK in ds.coords, f"{name!r} has a dimension 'task' without names; give it a "
            "coordinate")
    return [str(task) for task in ds[TASK].values]


def named(ds: xr.Dataset, task: str) -> xr.Dataset:
    """A part whose task is given if it names none itself."""
    value = ds["value"]
    return ds if TASK in value.dims or TASK in value.attrs else ds.assign(
        value=value.assign_attrs({TASK: task}))


def of_task(name: str, ds: xr.Dataset, task: str) -> xr.Dataset | None:
    """A part with ``value`` (bag) of one task; None if it does not observe it.

    Values (bag, task) may be missing, NaN; others may not.

    Raises
    ------
    InputError
        If values of one task are not finite.
    """
    if task not in tasks(name, ds):
        return None
    if TASK in ds["value"].dims:
        if "truth" in ds and TASK not in ds["truth"].dims:
            ds = ds.drop_vars("truth")          # which task it is of cannot be known
        return ds.isel({TASK: tasks(name, ds).index(task)}, drop=True)
    bad = np.flatnonzero(~np.isfinite(ds["value"].values))
    require(bad.size == 0, f"{name!r} has {bad.size} values that are not finite, the first in bag "
            f"{bad[:1].tolist()}; leave these bags out")
    return ds


def check_maps(
    maps: Mapping[str, xr.Dataset], goal: xr.Dataset, what: str, remedy: str,
    names: tuple[str, ...] = ("mean", "std"),
) -> None:
    """Refuse maps that are not of the individuals they are drawn at.

    Parameters
    ----------
    maps : mapping of str to xr.Dataset
        By model.
    goal : xr.Dataset
        Where they are drawn.
    what : str
        "target's 48 individuals".
    remedy : str
        How they are made.
    names : tuple of str
        What a map must hold, each (individual,).

    Raises
    ------
    InputError
        Which map is wrong, and the remedy.
    """
    require(isinstance(maps, Mapping) and not isinstance(maps, xr.Dataset),
            f"expected maps by model, got {type(maps).__name__}; pass {{'mr-gp': {remedy}}}")
    for name, ds in maps.items():
        right = isinstance(ds, xr.Dataset) and all(
            n in ds and ds[n].dims == (INDIVIDUAL,) for n in names)
        require(right, f"the map of {name!r} must be a Dataset with {' and '.join(names)} of the "
                f"individuals; make it with {remedy}")
        require(ds.sizes[INDIVIDUAL] == goal.sizes[INDIVIDUAL], f"the map of {name!r} is not of "
                f"the {what} but of {ds.sizes[INDIVIDUAL]}; make it with {remedy}")


def seen(ds: xr.Dataset) -> np.ndarray:
    """Bags that have a value (bag,)."""
    return np.isfinite(ds["value"].transpose(BAG).values)
