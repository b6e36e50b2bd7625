"""Trees of sources: bagged datasets of one field, and the places where it is wanted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging import from_table, rebag
from workbench.checks import InputError, reject, require

SOURCES, TARGET, TASK = "sources", "target", "task"
MOST_SEED = 2**32 - 1          # of NumPy's legacy stream


def make_tree(
    sources: Mapping[str, xr.Dataset], target: xr.Dataset, *, title: str,
    settings: Mapping[str, object], notes: Sequence[str] = (), **attrs: object,
) -> xr.DataTree:
    """Join sources and target to a checked tree.

    Parameters
    ----------
    sources : mapping of str to xr.Dataset
        Bagged datasets with the same covariates.
    target : xr.Dataset
        Bagged dataset of singletons.
    title : str
        What it shows.
    settings : mapping
        The options it was made with; kept as JSON.
    notes : sequence of str
        How it departs from the paper, or what a user must know.
    **attrs
        Further attributes.

    Returns
    -------
    xr.DataTree
        ``sources/<name>`` and ``target``; see `check_sources`.

    Raises
    ------
    InputError
        See `check_sources`.
    """
    for name, ds in sources.items():
        ds.attrs["title"] = f"{title}: {name}"
    target.attrs["title"] = f"{title}: {TARGET}"
    tree = xr.DataTree.from_dict({f"/{SOURCES}/{name}": ds for name, ds in sources.items()}
                                 | {f"/{TARGET}": target})
    tree.attrs |= {"title": title, "notes": "\n".join(notes) or "none",
                   "settings": json.dumps(dict(settings)), **attrs}
    return check_sources(tree)


def settings(tree: xr.DataTree) -> dict[str, object]:
    """The options that a tree was made with.

    Parameters
    ----------
    tree : xr.DataTree
        From `workbench.load_sources`.

    Returns
    -------
    dict of str to object
        By name.

    Raises
    ------
    InputError
        If the tree has none.
    """
    require("settings" in tree.attrs, "the tree has no attribute 'settings'; load it with "
            "workbench.load_sources")
    return json.loads(tree.attrs["settings"])


def observations(
    table: object, covariates: Mapping[str, str], value: str, *, long_name: str, units: str,
    task: str = "y", truth: str | None = None, x: str | None = None, y: str | None = None,
    place_units: str = "km", labels: Sequence[str] = (),
) -> xr.Dataset:
    """Individuals of one source, each with its observation, ready to be bagged.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per individual.
    covariates : mapping of str to str
        Columns used as covariates, and their units.
    value : str
        Column with the observations.
    long_name, units, task : str
        What is observed, in which units, and the short name of the quantity.
    truth : str, optional
        Column with what is observed without noise.
    x, y : str, optional
        Columns with coordinates in ``place_units``.
    labels : sequence of str
        Further columns kept as coordinates.

    Returns
    -------
    xr.Dataset
        See `workbench.bagging.from_table`; aggregation "mean", kind "continuous".
    """
    unit = {**covariates, value: units, **({truth: units} if truth else {}),
            **({x: place_units, y: place_units} if x else {})}
    ds = from_table(table, list(covariates), value, x=x, y=y, truth=truth, labels=labels,
                    units=unit, aggregation="mean", kind="continuous")
    ds["individual_value"].attrs |= {"long_name": long_name, TASK: task}
    if truth:
        ds["truth"].attrs["long_name"] = long_name
    return ds


def singletons(points: xr.Dataset, labels: Sequence[str] | None = None) -> xr.Dataset:
    """Bags of one individual each, in the order given.

    Parameters
    ----------
    points : xr.Dataset
        From `observations`.
    labels : sequence of str, optional
        Names of the bags; numbers from zero if not given.

    Returns
    -------
    xr.Dataset
        As many bags as individuals.
    """
    count = points.sizes[schema.INDIVIDUAL]
    require(count > 0, "there are no observations to make bags of")
    return rebag(points, np.arange(count), [str(i) for i in range(count)] if labels is None
                 else list(labels))


def check_sources(tree: xr.DataTree) -> xr.DataTree:
    """Return ``tree`` unchanged if its sources fit together, else say what is wrong and where.

    Parameters
    ----------
    tree : xr.DataTree
        Children ``sources/<name>`` and ``target``, each a bagged dataset of means.

    Returns
    -------
    xr.DataTree
        The same tree.

    Raises
    ------
    InputError
        If a part is missing or is not a bagged dataset of means; if covariates, coordinates or
        their units differ between parts; if units of one task differ; or if a bag of the target
        has more than one individual.
    """
    if not isinstance(tree, xr.DataTree):
        raise reject("an xarray.DataTree of sources", type(tree).__name__,
                     "load one with workbench.load_sources")
    require(SOURCES in tree.children and bool(tree[SOURCES].children),
            "the tree has no children below 'sources'")
    require(TARGET in tree.children, "the tree has no child 'target'")
    parts = {f"{SOURCES}/{name}": node.to_dataset()
             for name, node in tree[SOURCES].children.items()}
    parts[TARGET] = tree[TARGET].to_dataset()
    first, units = None, {}
    for path, ds in parts.items():
        try:
            schema.check(ds)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        require(schema.aggregation(ds) == "mean" and schema.kind(ds) == "continuous",
                f"{path}: expected continuous means, got aggregation {schema.aggregation(ds)!r} "
                f"and kind {schema.kind(ds)!r}")
        inputs = _inputs(ds)
        first = first or (path, inputs)
        require(inputs == first[1], f"{path} has inputs {inputs}, {first[0]} has {first[1]}; give "
                "all parts the same covariates in the same order and units")
        task, unit = ds["value"].attrs.get(TASK, "y"), ds["value"].attrs.get("units", "1")
        known = units.setdefault(task, (path, unit))
        require(unit == known[1], f"{path} has {task!r} in {unit!r}, {known[0]} in {known[1]!r}; "
                "convert one of them")
    sizes = parts[TARGET].sizes
    require(sizes["bag"] == sizes["individual"], f"{TARGET} must hold singletons, got "
            f"{sizes['individual']} individuals in {sizes['bag']} bags")
    return tree


def _inputs(ds: xr.Dataset) -> list[str]:
    """Covariates and coordinates with their units."""
    names = ds["covariate"].values
    units = ds["covariate_units"].values if "covariate_units" in ds else [""] * len(names)
    named = [f"{c} [{u}]" for c, u in zip(names, units, strict=True)]
    return named + [f"{a} [{ds[a].attrs.get('units', '')}]" for a in ("x", "y") if a in ds]
