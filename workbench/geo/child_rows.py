"""Rows of small polygons or points that can be used: of positive weight, with all covariates."""

from __future__ import annotations

import numpy as np

from workbench.bagging.findings import WARNING, refuse, suspicious
from workbench.checks import InputError, option, require
from workbench.geo.attributes import (
    hint_of,
    numbers_in,
    numeric_column,
    require_column,
    suspect_codes,
)
from workbench.geo.globe import centroids
from workbench.geo.treatments import CleaningOptions, Record, must_stop


def positive_rows(weights: np.ndarray, ids, options: CleaningOptions, record: Record,
                  what: str = "polygons") -> np.ndarray:
    """Which small polygons, or points, have a positive weight.

    Parameters
    ----------
    weights : array (row,)
        Of each; NaN where missing.
    ids : array-like (row,)
        Their names.
    options : CleaningOptions
        ``zero_weight`` applies.
    record : Record
        Receives what is left out.
    what : str
        What messages call them.

    Returns
    -------
    bool array (row,)

    Raises
    ------
    InputError
        If weights are negative or missing, or zero where that is not allowed.
    """
    ids = np.asarray(ids)
    bad = ~(weights >= 0)
    if bad.any():
        refuse(f"{int(bad.sum())} weights are negative or missing (first: "
               f"{str(ids[bad][0])!r} with {weights[bad][0]:g})",
               f"correct them or remove these {what}", code="weight-negative",
               where=ids[bad], count=int(bad.sum()))
    zero = weights == 0
    if zero.any():
        about = {"code": "weight-zero", "where": ids[zero], "count": int(zero.sum())}
        if options.zero_weight != "drop":
            refuse(f"{int(zero.sum())} {what} have zero weight (first: "
                   f"{str(ids[zero][0])!r})",
                   f"pass {option('zero_weight', 'drop')} to leave them out", **about)
        else:
            record.note(f"{int(zero.sum())} individuals of zero weight were dropped", **about)
    return ~zero & ~bad


def complete_rows(fine, covariates: list[str], options: CleaningOptions, record: Record
                  ) -> tuple[np.ndarray, np.ndarray]:
    """Covariates of small polygons, and which of these have all of them.

    Parameters
    ----------
    fine : geopandas.GeoDataFrame
        By id.
    covariates : list of str
        Columns.
    options : CleaningOptions
        ``missing`` applies.
    record : Record
        Receives what is left out or filled.

    Returns
    -------
    covariates : array (individual, covariate)
        Gaps are filled if that was asked for.
    complete : bool array (individual,)
        False for those to be left out.

    Raises
    ------
    InputError
        If values are missing or infinite where that is not allowed, or missing everywhere; if
        a column is text.
    """
    if not covariates:
        return np.zeros((len(fine), 0)), np.ones(len(fine), bool)
    for name in covariates:
        _refuse_text(fine, name)
    matrix = np.column_stack([numeric_column(fine, c, "covariate") for c in covariates])
    for name in covariates:
        suspect_codes(fine[name], name, record)
    for name, column in zip(covariates, matrix.T, strict=True):
        _infinite(fine, name, column, options, record)
    gaps = ~np.isfinite(matrix)
    if not gaps.any():
        return matrix, np.ones(len(matrix), bool)
    counts = {c: int(g) for c, g in zip(covariates, gaps.sum(axis=0), strict=True) if g}
    rows = gaps.any(axis=1)
    about = {"code": "covariate-missing", "where": counts, "count": int(rows.sum())}
    stop = must_stop(options.missing, rows.mean())
    if stop:
        refuse(f"covariates are missing for {int(rows.sum())} polygons ({counts}; first: "
               f"{fine.index[rows][0]!r})", f"pass {option('missing', 'nearest')} to take the "
               f"nearest polygon's, or {option('missing', 'drop')} to leave these polygons out",
               **about)
    if options.missing == "drop":
        record.note(f"{int(rows.sum())} individuals lacking covariates {counts} were dropped",
                    **about)
        return matrix, ~rows
    from scipy.spatial import cKDTree

    points = np.column_stack(centroids(fine))
    for d in np.flatnonzero(gaps.any(axis=0)):
        gap = gaps[:, d]
        require(not gap.all(), f"covariate {covariates[d]!r} is missing everywhere")
        matrix[gap, d] = matrix[~gap, d][cKDTree(points[~gap]).query(points[gap])[1]]
        if not stop:
            record.note(f"covariate {covariates[d]!r}: {int(gap.sum())} gaps were filled from the "
                        f"nearest polygon ({', '.join(fine.index[gap][:5])})",
                        code="covariate-missing", where=[covariates[d]], count=int(gap.sum()))
    return matrix, np.ones(len(matrix), bool)


def say_emptied(names: np.ndarray, values: np.ndarray, left: np.ndarray, sums: bool,
                record: Record) -> None:
    """Warn of larger areas that went with the last of their small polygons, and their values.

    Parameters
    ----------
    names : array (area,) of str
        Ids of the areas that had small polygons.
    values : array (area,)
        Their values; NaN for those without one, which are left out by another treatment.
    left : array of str
        Ids of those that still have some.
    sums : bool
        Whether values add up, as means do not.
    record : Record
        Receives the warning.
    """
    off = np.isfinite(values) & ~np.isin(names, left)
    if not off.any():
        return
    gone, lost = names[off].tolist(), values[off].sum()
    record.suspect(suspicious(
        "area-empty", f"{len(gone)} of {names.size} areas were left out with the last of their "
        "small polygons, which all have zero weight or lack covariates (first: "
        f"{', '.join(map(repr, gone[:3]))})"
        + (f", and with them values adding up to {lost:,.6g}" if sums else ""),
        "correct the weights and covariates of their small polygons, or join these areas to "
        "neighbours", gone, len(gone), "they are not on the map, and their values in no total",
        "; "))


def _refuse_text(fine, name: str) -> None:
    """Refuse a covariate without any number, as names of classes are."""
    require_column(fine, name, "covariate")
    entries = fine[name].dropna()
    if not len(entries) or np.isfinite(numbers_in(entries)).any() or hint_of(entries, values=False):
        return
    kinds = entries.astype(str).unique()
    raise InputError(
        f"covariate column {name!r} holds text ({', '.join(map(repr, kinds[:3].tolist()))}"
        f"{' and others' if len(kinds) > 3 else ''}) and no numbers; if it names classes, give a "
        "column of ones and zeros for each of them but one, in Python by pandas.get_dummies("
        f"polygons[{name!r}], drop_first=True, dtype=float); else leave it out")


def _infinite(fine, name: str, column: np.ndarray, options: CleaningOptions, record: Record
              ) -> None:
    """Refuse infinite covariates, or say that they are taken for gaps where that was asked for."""
    infinite = np.isinf(column)
    if not infinite.any():
        return
    count = int(infinite.sum())
    about = {"code": "covariate-infinite", "where": [name], "count": count}
    what = (f"covariate {name!r} is infinite for {count} polygons (first: "
            f"{fine.index[infinite][0]!r})")
    if options.missing not in ("drop", "nearest"):
        refuse(what, "correct them, as where something was divided by zero, or pass "
               f"{option('missing', 'nearest')} to take the nearest polygon's, or "
               f"{option('missing', 'drop')} to leave these polygons out", **about)
    else:
        record.note(f"{what}, which was taken for missing", severity=WARNING, **about,
                    fix="correct them, as where something was divided by zero")
