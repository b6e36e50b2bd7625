"""Rows of small polygons or points that can be used: of positive weight, with all covariates."""

from __future__ import annotations

import numpy as np

from workbench.bagging.findings import refuse
from workbench.checks import option, require
from workbench.geo.attributes import numeric_column, suspect_codes
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
        If values are missing where that is not allowed, or everywhere.
    """
    if not covariates:
        return np.zeros((len(fine), 0)), np.ones(len(fine), bool)
    matrix = np.column_stack([numeric_column(fine, c, "covariate") for c in covariates])
    for name in covariates:
        suspect_codes(fine[name], name, record)
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
