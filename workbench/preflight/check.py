"""Look at data as a fit would, list everything that is wrong or odd, and fit nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import xarray as xr

from workbench import bagging, datasets, geo, schema
from workbench.bagging.findings import ERROR, NOTE, WARNING, Finding, Listing, listing, part
from workbench.bagging.sanity import odd
from workbench.checks import InputError, WorkbenchWarning, one_way, recorded_warnings, require
from workbench.geo.coverage import about_outside
from workbench.geo.joining import TABLE
from workbench.preflight import areas as of_areas
from workbench.preflight import covariates as of_covariates
from workbench.preflight.cost import estimate
from workbench.preflight.result import Check
from workbench.preflight.totals import totals_of

_ODD = "look at this: "


def check(
    data: object,
    covariates: object = None,
    weight: object = None,
    value: str | None = None,
    *,
    parents: object = None,
    parent_label: str | None = None,
    level: str | None = None,
    areas: int | None = None,
    model: object = None,
    **options: object,
) -> Check:
    """Check data before anything is fitted: all that is wrong or odd, in one table.

    Reading goes on after an error, so that everything is found at once.

    Parameters
    ----------
    data : polygons, raster, xr.Dataset or str
        Polygons as of `workbench.bag_polygons`, or with ``value`` a raster whose cells they are; a
        bagged dataset; the name of one; or the path of a bagged ``.nc``.
    covariates, weight, value
        As of `workbench.bag_polygons`, where the data are polygons.
    parents : mapping, pd.Series, pd.DataFrame or path of a CSV or Parquet table, optional
        Published values of the larger areas that the areas belong to: by id, or a table with ids
        in its first column.
    parent_label : str, optional
        Label of the areas (``labels``) that names the larger one.
    level : str, optional
        Merge the areas up to this level first.
    areas : int, optional
        Merge neighbouring areas until this many are left first.
    model : LabelledModel, optional
        Whose time and memory are estimated; `workbench.Auto` if not given.
    **options
        Further arguments of `workbench.bag_polygons`; with ``parent`` among them those of
        `workbench.bag_children`; or options of the named dataset.

    Returns
    -------
    Check
        Findings, totals before and after, and estimates. It is shown as a table, and writes HTML
        and JSON.

    Raises
    ------
    InputError
        If an option of the check itself cannot be used.

    Examples
    --------
    >>> import workbench as wb
    >>> checked = wb.check("swiss-roll", n_bags=12, mean_size=10, size_std=4)
    >>> checked.ok
    True
    >>> [finding.code for finding in checked.findings][:1]
    ['extrapolation']
    """
    require((parents is None) == (parent_label is None), "parents (their values) and parent_label "
            "(the label of the areas that names them) belong together; give both")
    named = isinstance(data, str) and not Path(data).exists() and Path(data).suffix == ""

    def read() -> xr.Dataset:
        if value is None and isinstance(data, xr.Dataset):
            require(not options, f"a dataset has no options, got {', '.join(options)}")
            ds = data
        elif value is None and isinstance(data, str | Path) and Path(data).suffix.lower() == ".nc":
            ds = geo.read(data)
        elif named:
            ds = datasets.load(data, **options)
        elif "parent" in options:
            columns = {"covariates": covariates, "weight": weight, "value": value}
            ds = geo.bag_children(data, **{name: one for name, one in columns.items()
                                           if one is not None}, **options)
        else:
            ds = geo.bag_polygons(data, covariates, weight, value, **options)
        with part("level", "areas"):
            ds = ds if level is None else bagging.merge(ds, level)
            ds = ds if areas is None else bagging.merge_to(ds, areas)
        return ds

    title = (str(data) if named else Path(data).name if isinstance(data, str | Path)
             else str(getattr(data, "attrs", {}).get("title", "")) or "data in memory")
    return looked_over(read, title, model, parents, parent_label)


def looked_over(read: Callable[[], xr.Dataset], title: str, model: object = None,
                parents: object = None, parent_label: str | None = None, *,
                looks: Mapping[str, Callable[[xr.Dataset], object]] | None = None,
                folds: int = 0, workers: int = 0, fold_model: object = None) -> Check:
    """The check of whatever ``read`` reads.

    Parameters
    ----------
    read : callable
        Returns a bagged dataset.
    title : str
        What is checked.
    model, parents, parent_label
        As of `check`.
    looks : mapping of code to callable, optional
        What else is asked of the data: each raises `InputError` or warns, which are findings.
    folds, workers, fold_model
        Of cross-validation, for the estimate of time: as of `workbench.preflight.cost.estimate`.

    Returns
    -------
    Check
    """
    ds, estimates, totals = None, {}, None
    with listing() as found, recorded_warnings(WorkbenchWarning) as warned:
        with part("input"):
            ds = read()
        if ds is not None:
            with part("dataset"):
                schema.check(ds, valued=False)
                totals = totals_of(ds, found.counted)
                if _unknown(found):
                    totals = totals.drop(index="value", errors="ignore")
                _look(ds, found, parents, parent_label)
                estimates = _estimate(ds, found, model, folds, workers, fold_model)
                for code, look in (looks or {}).items():
                    with part(code, code):
                        look(ds)
    for one in warned:
        said = {one_way(str(finding)) for finding in found}     # a loader warns of what is odd
        if one_way(str(one.message)) not in said:
            what, _, fix = str(one.message).partition("; ")
            found.add(Finding("warning", what, fix, severity=WARNING))
    order = sorted(found, key=lambda f: (ERROR, WARNING, NOTE).index(f.severity))
    treated = None if ds is None else ds.assign_attrs(
        treatments=one_way(str(ds.attrs.get("treatments", "none"))))
    return Check(title, [finding.plain() for finding in order], totals, estimates, treated)


def _look(ds: xr.Dataset, found: Listing, parents: object, parent_label: str | None) -> None:
    """Everything that a bagged dataset shows by itself."""
    bagged = found.counted.get("bagged")
    if bagged is None:                  # read before: what was done then is in its record alone
        for sentence in str(ds.attrs.get("treatments", "none")).split("\n"):
            about = {"code": "treated"}
            if "lies outside all areas" in sentence:
                about = about_outside(float(ds.attrs.get("outside_share", 0.0)))
            if sentence not in ("none", "") and not sentence.startswith(_ODD):
                found.add(Finding(what=sentence, **about))
    elif bagged != ds.sizes[schema.BAG]:
        found.add(Finding("merged", f"{bagged:.0f} areas were merged to {ds.sizes[schema.BAG]}, as "
                          "asked for", count=ds.sizes[schema.BAG]))
    strange = odd(ds)
    known = tuple(name for one in strange if one.code in ("constant", "collinear")
                  for name in (one.where if one.code == "constant" else one.where[1:]))
    looks = [lambda: strange, lambda: of_areas.small(ds), lambda: of_areas.degrees(ds)]
    if ds.sizes[schema.COVARIATE]:
        looks += [lambda: of_covariates.extrapolating(ds),
                  lambda: of_covariates.inseparable(ds, known)]
    looks.append(lambda: of_covariates.many_for_areas(ds))
    if "value" in ds:
        looks.append(lambda: of_areas.inside(ds))
        if not _unknown(found):
            looks.append(lambda: of_areas.few_events(ds))
        if parent_label is not None:
            looks.append(lambda: of_areas.parents(ds, parent_label, parents))
    for look in looks:
        with part("check"):
            for finding in look():
                found.add(finding)
    if "value" in ds and not _unknown(found):
        # By the column: where that could not be used, zeros are in its place, which is no finding.
        with part("value", ds["value"].attrs.get("long_name", "value")):
            schema.check_learnable(ds)


def _unknown(found: Listing) -> bool:
    """Whether no value is known, as their table could not be used: zeros are in its place."""
    return any(one.severity == ERROR and one.code == TABLE for one in found)


def _estimate(ds: xr.Dataset, found: Listing, model: object, folds: int, workers: int,
              fold_model: object) -> dict[str, object]:
    """Time and memory of a fit, where one is possible."""
    if "value" not in ds or not np.asarray(ds["value"].values, dtype=float).any():
        return {}
    try:
        estimates, findings = estimate(ds, model, folds, workers, fold_model)
    except InputError as error:
        found.add_error(error, "model")
        return {}
    for finding in findings:
        found.add(finding)
    return estimates
