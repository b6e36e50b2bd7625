"""Covariates of bags, and targets that belong to no bag but share these covariates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr

from workbench import schema
from workbench.bagging.grids import axis_unit, in_x_and_y
from workbench.bagging.tables import numbers_of
from workbench.checks import choose, require


def add_mediators(ds: xr.Dataset, mediators: Sequence[str] | pd.DataFrame,
                  units: Mapping[str, str] | None = None) -> xr.Dataset:
    """Give every bag covariates of its own, through which it can be matched to targets.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset, with or without values.
    mediators : sequence of str or DataFrame
        Names of covariates, "x" and "y" among them, whose weighted means over the bag are taken; or
        a table with one row per bag, indexed by the names of bags. Columns x and y are coordinates.
    units : mapping, optional
        Units by name; those of the covariates where means are taken.

    Returns
    -------
    xr.Dataset
        With ``mediators`` (bag, mediator).

    Raises
    ------
    InputError
        If a name or a bag is missing, or a value is not finite.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> wb.add_mediators(ds, ["elevation", "x"])["mediators"].sizes["mediator"]
    2
    """
    schema.check(ds, valued=False)
    units = dict(units or {})
    if isinstance(mediators, pd.DataFrame):
        table = mediators.set_axis(mediators.index.astype(str))
        names = [str(name) for name in ds["bag"].values]
        missing = [name for name in names if name not in table.index]
        require(not missing, f"the table of mediators lacks {len(missing)} bags (first: "
                             f"{missing[:5]}); index it by the names of bags")
        twice = table.index[table.index.duplicated()].unique().tolist()
        require(not twice, f"the table of mediators has more than one row for {twice[:5]}")
        chosen, values = [str(c) for c in table.columns], table.loc[names].to_numpy(dtype=float)
    else:
        chosen = _names(mediators)
        values = np.stack([_mean(ds, name, units) for name in chosen], 1)
    require(bool(chosen), "give at least one mediator")
    return _with(ds, values, chosen, units, schema.BAG)


def targets_from_table(
    table: pd.DataFrame, value: str, mediators: Sequence[str], *, name: str | None = None,
    noise_variance: str | None = None, units: Mapping[str, str] | None = None,
) -> xr.Dataset:
    """Targets that belong to no bag, from a table with one row for each.

    Parameters
    ----------
    table : DataFrame
        The table.
    value : str
        Column with the observed means.
    mediators : sequence of str
        Columns with the covariates that the bags have, too, in the same order and unit.
    name, noise_variance : str, optional
        Columns with names of targets and with known variances of the values.
    units : mapping, optional
        Units of any column.

    Returns
    -------
    xr.Dataset
        ``value`` (target), a mean, and ``mediators`` (target, mediator).

    Raises
    ------
    InputError
        If a column is missing or a value is not finite.

    Examples
    --------
    >>> import pandas as pd, workbench as wb
    >>> table = pd.DataFrame({"y": [1.0, 2.0], "altitude": [10.0, 30.0]})
    >>> wb.targets_from_table(table, "y", ["altitude"])["mediators"].shape
    (2, 1)
    """
    mediators = _names(mediators)
    wanted = [value, *mediators, *([noise_variance] if noise_variance else [])]
    for column in [*wanted, *([name] if name else [])]:
        choose("column", column, [str(c) for c in table.columns])
    units = dict(units or {})
    require(len(table) > 0, "the table of targets is empty")
    table = numbers_of(table, wanted, "targets")
    labels = table[name].astype(str).to_numpy() if name else np.arange(len(table)).astype(str)
    ds = xr.Dataset(
        {"value": (schema.TARGET, table[value].to_numpy(), {
            "aggregation": "mean", "kind": "continuous", "units": units.get(value, ""),
            "long_name": value})}, coords={schema.TARGET: labels})
    if noise_variance:
        ds["noise_variance"] = (schema.TARGET, table[noise_variance].to_numpy())
    found = table[list(mediators)].to_numpy(dtype=float)
    return schema.check_targets(_with(ds, found, list(map(str, mediators)), units, schema.TARGET))


def targets_from_grid(fields: xr.Dataset, value: str, mediators: Sequence[str],
                      missing: str = "refuse") -> xr.Dataset:
    """Targets that belong to no bag, from coarse fields on one grid: one target for each pixel.

    Parameters
    ----------
    fields : xr.Dataset
        Fields on one grid of two dimensions, of another footprint or date than the bags' if need
        be; coordinates named x or lon, and y or lat, can be mediators "x" and "y".
    value : str
        Field of the observed means.
    mediators : sequence of str
        Fields that the bags have as mediators, too, in the same order and unit.
    missing : {"refuse", "drop"}
        Pixels that lack the value or a mediator.

    Returns
    -------
    xr.Dataset
        As `targets_from_table` returns it, with ``target_x`` and ``target_y``.

    Raises
    ------
    InputError
        If a field is missing, fields have other dimensions, or pixels lack something and no
        treatment is named.

    Examples
    --------
    >>> import numpy as np, xarray as xr, workbench as wb
    >>> pressure = xr.DataArray(np.arange(48.0).reshape(6, 8), dims=("lat", "lon"), coords={
    ...     "lat": np.arange(6.0), "lon": np.arange(8.0)})
    >>> fields = xr.Dataset({"pressure": pressure, "temperature": 2 * pressure})
    >>> wb.targets_from_grid(fields, "temperature", ["pressure", "x"]).sizes["target"]
    48
    """
    choose("missing", missing, ("refuse", "drop"))
    mediators = _names(mediators)
    fields = in_x_and_y(fields)
    known = [str(n) for n in (*fields.data_vars, *(a for a in ("x", "y") if a in fields.coords))]
    for name in (value, *mediators):
        choose("field", name, known)
    taken = fields[[n for n in (value, *mediators) if n in fields.data_vars]]
    grids = {str(n): tuple(map(str, field.dims)) for n, field in taken.data_vars.items()}
    alike = len(set(map(frozenset, grids.values()))) == 1
    widest = max(grids, key=lambda n: len(grids[n]), default=value)
    more = [d for d in grids.get(widest, ()) if d not in ("x", "y")]
    require(alike and len(taken.sizes) == 2,
            "targets are the pixels of one grid of two dimensions, and these fields have " +
            ", ".join(f"{n} ({', '.join(dims)})" for n, dims in grids.items()) + (
                f"; where there are several times, choose one, such as fields.isel("
                f"{more[0] if len(more) == 1 else 'time'}=0, drop=True)" if len(taken.sizes) > 2
                else "; spread the others over it, such as fields.map(lambda one: "
                     f"one.broadcast_like(fields[{widest!r}]))"))
    table = taken.to_dataframe().reset_index()
    whole = np.isfinite(table[[value, *mediators]].to_numpy(dtype=float)).all(1)
    require(bool(whole.all()) or missing == "drop", f"{int((~whole).sum())} of {len(whole)} pixels "
            "lack the value or a mediator; pass missing='drop' to leave them out")
    units = {n: axis_unit(fields, n) if n in ("x", "y") else str(fields[n].attrs.get("units", ""))
             for n in (value, *mediators)}
    units = {n: "degree" if u.startswith("degree") else u for n, u in units.items()}
    out = targets_from_table(table[whole], value, mediators, units=units)
    if not whole.all():
        out.attrs["treatments"] = f"{int((~whole).sum())} pixels with gaps left out"
    return out.assign_coords({f"target_{axis}": (schema.TARGET, table[axis].to_numpy()[whole])
                              for axis in ("x", "y") if axis in table})


def unmatch(ds: xr.Dataset, share: float = 0.5, seed: int = 0,
            positions: tuple[Sequence[int], Sequence[int]] | None = None
            ) -> tuple[xr.Dataset, xr.Dataset]:
    """Split a bagged dataset so that no bag has a target and no target has a bag.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset with mediators; sums of a weight become means.
    share : float
        Share of the bags that become targets.
    seed : int
        Seed of the random order.
    positions : pair of sequences of int, optional
        Positions of the bags that stay bags, and of those that become targets; all bags once.

    Returns
    -------
    bags, targets : xr.Dataset
        D₁ without values, and D₂.

    References
    ----------
    Chau et al. 2021, section 5.1.2.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> bags, targets = wb.unmatch(wb.add_mediators(ds, ["elevation"]))
    >>> bags.sizes["bag"], targets.sizes["target"]
    (6, 6)
    """
    schema.check(ds)
    require("mediators" in ds, "the bags have no mediators; add them with workbench.add_mediators")
    require("trials" not in ds, "positives out of trials cannot be unmatched; divide them by their "
                                "trials first")
    count = ds.sizes["bag"]
    if positions is None:
        taken = round(share * count)
        require(0 < taken < count, f"share must leave bags and targets, got {share} of {count}")
        order = np.random.default_rng(seed).permutation(count)
        positions = (order[taken:], order[:taken])
    first, second = (np.sort(np.asarray(p, dtype=int)) for p in positions)
    everyone = np.sort(np.concatenate([first, second]))
    require(len(first) > 0 and len(second) > 0 and np.array_equal(everyone, np.arange(count)),
            f"positions must hold each of the {count} bags once, some in either part; take a "
            "subset first with workbench.subset")
    weight = np.bincount(ds["membership"], ds["weight"], minlength=count)
    value, attrs = ds["value"].values, {**ds["value"].attrs, "aggregation": "mean",
                                        "kind": "continuous"}
    if schema.aggregation(ds) == "sum":
        value = value / weight
        attrs["units"] = f"{attrs.get('units', '')} / {ds['weight'].attrs.get('units', 'weight')}"
    targets = xr.Dataset(
        {"value": (schema.TARGET, value[second], attrs)},
        coords={schema.TARGET: ds["bag"].values[second],
                **{f"target_{axis}": (schema.TARGET, ds[f"bag_{axis}"].values[second])
                   for axis in ("x", "y", "geometry") if f"bag_{axis}" in ds}})
    if "noise_variance" in ds:
        per = weight[second] ** 2 if schema.aggregation(ds) == "sum" else 1.0
        targets["noise_variance"] = (schema.TARGET, ds["noise_variance"].values[second] / per)
    targets = _with(targets, ds["mediators"].values[second],
                    [str(m) for m in ds["mediator"].values],
                    dict(zip(ds["mediator"].values, _units(ds), strict=True)), schema.TARGET)
    targets.attrs = dict(ds.attrs)
    kept = np.isin(ds["membership"].values, first)
    bags = ds.isel(individual=kept, bag=first).drop_vars(
        ["value", "noise_variance", "sample_variance"], errors="ignore")
    bags["membership"] = (schema.INDIVIDUAL, np.searchsorted(first, ds["membership"].values[kept]))
    bags.attrs = dict(ds.attrs)
    return bags, targets


def _names(names: Sequence[str] | str) -> list[str]:
    out = [names] if isinstance(names, str) else [str(name) for name in names]
    require(bool(out) and len(set(out)) == len(out),
            f"name one mediator or more, each once, got {out}")
    return out


def _mean(ds: xr.Dataset, name: str, units: dict) -> np.ndarray:
    names = [str(c) for c in ds["covariate"].values]
    axes = [axis for axis in ("x", "y") if axis in ds]
    choose("mediator", name, [*names, *axes])
    if name in axes:
        values, unit = ds[name].values, ds[name].attrs.get("units", "")
    else:
        at = names.index(name)
        values = ds["covariates"].values[:, at]
        unit = str(ds["covariate_units"].values[at]) if "covariate_units" in ds else ""
    units.setdefault(name, unit)
    weight, members, count = ds["weight"].values, ds["membership"].values, ds.sizes["bag"]
    return (np.bincount(members, weight * values, minlength=count)
            / np.bincount(members, weight, minlength=count))


def _units(ds: xr.Dataset) -> list[str]:
    if "mediator_units" in ds:
        return [str(u) for u in ds["mediator_units"].values]
    return [""] * ds.sizes[schema.MEDIATOR]


def _with(ds: xr.Dataset, values: np.ndarray, names: list[str], units: Mapping[str, str],
          dim: str) -> xr.Dataset:
    bad = ~np.isfinite(values).all(1)
    require(not bad.any(), f"{int(bad.sum())} rows of mediators are not finite (first: "
            f"{ds[dim].values[np.flatnonzero(bad)[:5]].tolist()}); fill or drop them by a named "
            "treatment")
    return ds.drop_vars(["mediators", "mediator", "mediator_units"], errors="ignore").assign(
        mediators=((dim, schema.MEDIATOR), values)).assign_coords(
        {schema.MEDIATOR: names,
         "mediator_units": (schema.MEDIATOR, [units.get(name, "") for name in names])})
