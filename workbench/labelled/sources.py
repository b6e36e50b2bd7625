"""Several bagged datasets as sources: by name, with a task each, checked and converted once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import choose, reject, require
from workbench.gp.data.bags import Source
from workbench.labelled.places import same_crs
from workbench.labelled.source import Converted
from workbench.schema.frames import instead

TASK = "task"
Several = xr.Dataset | xr.DataTree | Mapping[str, xr.Dataset]


def datasets_of(data: Several) -> dict[str, xr.Dataset]:
    """One bagged dataset for each source and task.

    Parameters
    ----------
    data : xr.Dataset, xr.DataTree or mapping of xr.Dataset
        A bagged dataset; or several by name, of a tree the children (of its node ``sources``, if
        there is one). The attribute ``task`` of ``value`` names what was observed. A ``value``
        (bag, task) holds several tasks observed in the same bags, NaN where one is missing; it
        becomes one source for each task, ``name.task``, with the bags that have it.

    Returns
    -------
    dict of str to xr.Dataset
        Not yet checked.

    Raises
    ------
    InputError
        If there is nothing, or a task has no value at all.
    """
    if isinstance(data, xr.DataTree):
        node = data["sources"] if "sources" in data.children else data
        given = {name: child.to_dataset() for name, child in node.children.items()}
        require(bool(given), "the tree holds no sources; put bagged datasets under 'sources'")
    elif isinstance(data, xr.Dataset):
        given = {str(data.attrs.get("title", "source")): data}
    elif isinstance(data, Mapping):
        given = dict(data)
        require(bool(given), "there are no sources; pass bagged datasets by name")
    else:
        raise reject("a bagged Dataset, a DataTree, or Datasets by name", type(data).__name__,
                     "pass {'stations': ds, 'satellite': other}" + instead(data))
    out: dict[str, xr.Dataset] = {}
    for name, ds in given.items():
        if isinstance(ds, xr.Dataset) and "value" in ds and TASK in ds["value"].dims:
            out |= {f"{name}.{task}": part for task, part in _tasks(name, ds)}
        else:
            out[str(name)] = ds
    return out


def _tasks(name: str, ds: xr.Dataset) -> Iterator[tuple[str, xr.Dataset]]:
    require(TASK in ds.coords, f"source {name!r} has a dimension 'task' without names; give it a "
            "coordinate")
    for task in ds[TASK].values:
        part = ds.sel({TASK: task}, drop=True)
        known = np.flatnonzero(~np.isnan(part["value"].values))
        require(len(known) > 0, f"source {name!r} has no value of task {str(task)!r}; leave it out")
        members = part["membership"].values
        rows = np.flatnonzero(np.isin(members, known))
        part = part.isel({schema.BAG: known, schema.INDIVIDUAL: rows})
        part["membership"] = (schema.INDIVIDUAL, np.searchsorted(known, members[rows]))
        part["value"].attrs = {**ds["value"].attrs, TASK: str(task)}
        yield str(task), part


def converted(data: Several) -> dict[str, Converted]:
    """The datasets of `datasets_of`, each checked; an error names the source.

    Parameters
    ----------
    data : see `datasets_of`

    Returns
    -------
    dict of str to Converted
        By name of the source.
    """
    out = {}
    for name, ds in datasets_of(data).items():
        try:
            out[name] = Converted(schema.check(ds))
        except ValueError as error:
            raise type(error)(f"source {name!r}: {error}") from error
    first = next(iter(out))
    for name, one in out.items():
        ours, theirs = (part.ds.attrs.get("crs") for part in (out[first], one))
        require(same_crs(ours, theirs), f"source {name!r} has the CRS {theirs}, source {first!r} "
                f"{ours}; bag them in the same one, for places of both are compared")
    return out


def to_sources(data: Several | Mapping[str, Converted],
               trust: Mapping[str, float] | None = None) -> list[Source]:
    """Sources in torch, in their order; of several tasks or places.

    Parameters
    ----------
    data : see `datasets_of`
        Or what `converted` makes of it.
    trust : mapping, optional
        Powers of the likelihoods by source; one for those not named.

    Returns
    -------
    list of Source
        With name, task and trust.

    Raises
    ------
    InputError
        If a dataset is not bagged (the source is named), or trust names no source.
    """
    found, trust = datasets_of(data), dict(trust or {})
    for name, value in trust.items():
        choose("source in trust", name, found)
        require(np.isfinite(value) and value > 0, f"trust of {name!r} must be positive, got "
                f"{value}; leave out a source that is not to count")
    if not all(isinstance(one, Converted) for one in found.values()):
        found = converted(found)
    out, units = [], {}
    for name, one in found.items():
        attrs = one.ds["value"].attrs
        task, own = str(attrs.get(TASK, "value")), attrs.get("units", "")
        first, theirs = units.setdefault(task, (name, own))
        require(own == theirs or not own or not theirs, f"task {task!r} is in {theirs!r} in source "
                f"{first!r} and in {own!r} in {name!r}; convert one, or give them different tasks "
                "by value.attrs['task']")
        out.append(replace(one.source(), name=name, task=task,
                           trust=float(trust.get(name, 1.0))))
    return out


def units_of(attrs: Mapping, per: str) -> str:
    """Units of a source's field.

    Parameters
    ----------
    attrs : mapping
        Of its values.
    per : str
        Units of the weight that totals are divided by, empty for units of the totals themselves.
    """
    units = attrs.get("units", "")
    totals = attrs.get("aggregation", "sum") == "sum"
    return f"{units or 1} / {per}" if per and totals else units
