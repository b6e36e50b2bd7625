"""Rows of small polygons or points that can be used: of positive weight, with all covariates."""

from __future__ import annotations

import re

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
from workbench.geo.wording import amount

# 0 km, 12.5 °C, 3 m2.
_WITH_UNIT = r"[+-]?\d[\d.,']*(?P<blank>\s*)(?P<unit>[^\d\s.,'+-]\D{0,15}[2²]?)"
#: Units that stand behind numbers, those of a line for the same.
_UNITS = tuple(frozenset(line.split()) for line in (
    "mm cm dm m km ft mi", "m2 m² ha km2 km²", "mg ug µg μg g kg t", "°c °f °", "% ‰",
    "mm/yr mm/year mm/a mm/d", "m/s km/h", "s sec min h hours", "d day days week weeks month months"
    " yr yrs year years", "person persons people inhabitants residents", "flat flats",
    "house houses household households", "€ eur $ usd £"))


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
    ids, one = np.asarray(ids), what.removesuffix("s")
    bad = ~(weights >= 0)
    if bad.any():
        these = f"it or remove this {one}" if bad.sum() == 1 else f"them or remove these {what}"
        refuse(f"{amount(int(bad.sum()), 'weight', 'is')} negative or missing (first: "
               f"{str(ids[bad][0])!r} with {weights[bad][0]:g})", f"correct {these}",
               code="weight-negative", where=ids[bad], count=int(bad.sum()))
    zero = weights == 0
    if zero.any():
        about = {"code": "weight-zero", "where": ids[zero], "count": int(zero.sum())}
        if options.zero_weight != "drop":
            refuse(f"{amount(int(zero.sum()), one, 'has')} zero weight (first: "
                   f"{str(ids[zero][0])!r})", f"pass {option('zero_weight', 'drop')} to leave "
                   f"{'it' if zero.sum() == 1 else 'them'} out", **about)
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
    fine = _without_blanks(fine, covariates)
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
        refuse(f"covariates are missing for {amount(int(rows.sum()), 'polygon')} ({counts}; first: "
               f"{fine.index[rows][0]!r})", f"pass {option('missing', 'nearest')} to take the "
               f"nearest polygon's, or {option('missing', 'drop')} to leave "
               f"{_these(int(rows.sum()))} out", **about)
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
            record.note(f"covariate {covariates[d]!r}: {amount(int(gap.sum()), 'gap', 'was')} "
                        f"filled from the nearest polygon ({', '.join(fine.index[gap][:5])})",
                        code="covariate-missing", where=[covariates[d]], count=int(gap.sum()))
    return matrix, np.ones(len(matrix), bool)


def say_emptied(names: np.ndarray, values: np.ndarray, left: np.ndarray, sums: bool,
                record: Record, tested: np.ndarray | None = None) -> None:
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
        Receives the warning; where values are sums and zero a note, as nothing is lost.
    tested : array (area,), optional
        Numbers tested, of whom so many as the values say were positive.
    """
    off = np.isfinite(values) & ~np.isin(names, left)
    nothing = off & sums & ((values if tested is None else tested) == 0)
    for these in (nothing, off & ~nothing):
        gone, lost = names[these].tolist(), values[these].sum()
        one = len(gone) == 1
        them, their = ("it", "its") if one else ("them", "their")
        what = (f"{len(gone)} of {names.size} areas {'was' if one else 'were'} left out with the "
                f"last of {their} small polygons, which all have zero weight or lack covariates "
                f"(first: {', '.join(map(repr, gone[:3]))})")
        if these is nothing and gone:
            record.note(f"{what}; {their} {'value is' if one else 'values are'} zero",
                        code="area-empty", where=gone, count=len(gone),
                        effect=f"{'it is' if one else 'they are'} not on the map")
        elif gone:
            with_it = f"{'a value' if one else 'values adding up to'} {'of ' * one}{lost:,.6g}"
            off_map = f"{'it is' if one else 'they are'} not on the map"
            record.suspect(suspicious(
                "area-empty", f"{what}, and with {them} {with_it}" if sums else what,
                f"correct the weights and covariates of {their} small polygons, or join "
                f"{'this area' if one else 'these areas'} to neighbours", gone, len(gone),
                f"{off_map}, and {their} {'value' if one else 'values'} in no total"
                if sums else off_map, "; "))


def _refuse_text(fine, name: str) -> None:
    """Refuse a covariate without any number, as names of classes are."""
    require_column(fine, name, "covariate")
    entries = fine[name].dropna()
    numbers = numbers_in(entries)           # of which some may be infinite
    if (not len(entries) or not np.isnan(numbers).all() or hint_of(entries, values=False)
            or entries.map(lambda one: isinstance(one, bool | np.bool_)).all()):
        return
    kinds = entries.astype(str).unique()
    if _in_units(kinds):
        raise InputError(
            f"covariate column {name!r} has numbers with a unit ("
            f"{', '.join(map(repr, kinds[:3].tolist()))}{' and others' if len(kinds) > 3 else ''});"
            " write all of them in one unit, remove it from the entries, and say it by "
            f"{option('units', {name: 'UNITS'})}")
    raise InputError(
        f"covariate column {name!r} holds text ({', '.join(map(repr, kinds[:3].tolist()))}"
        f"{' and others' if len(kinds) > 3 else ''}) and no numbers; if it names classes, give a "
        "column of ones and zeros for each of them but one, in Python by pandas.get_dummies("
        f"polygons[{name!r}], drop_first=True, dtype=float); else leave it out")


def _without_blanks(fine, covariates: list[str]):
    """Small polygons with covariates of text whose empty entries are missing ones."""
    for name in covariates:
        require_column(fine, name, "covariate")
        if fine[name].dtype.kind in "biufc":
            continue
        blank = np.array([isinstance(one, str) and not one.strip() for one in fine[name]])
        if blank.any():
            fine = fine.copy()
            fine[name] = fine[name].astype(object).mask(blank, np.nan)
    return fine


def _in_units(kinds) -> bool:
    """Whether texts are numbers before one unit that is known, or before several of the same.

    Those of the same, such as m and km, stand apart from their numbers, as 1t and 2g are classes;
    so is a word that is no unit, as in 1 forest and 2 forest.
    """
    found = [re.fullmatch(_WITH_UNIT, one.strip()) for one in kinds]
    if not all(found):
        return False
    units = {one["unit"].lower() for one in found}
    apart = len(units) == 1 or all(one["blank"] for one in found)
    return apart and any(units <= known for known in _UNITS)


def _these(count: int) -> str:
    return "this polygon" if count == 1 else "these polygons"


def _infinite(fine, name: str, column: np.ndarray, options: CleaningOptions, record: Record
              ) -> None:
    """Refuse infinite covariates, or say that they are taken for gaps where that was asked for."""
    infinite = np.isinf(column)
    if not infinite.any():
        return
    count = int(infinite.sum())
    about = {"code": "covariate-infinite", "where": [name], "count": count}
    them = "it" if count == 1 else "them"
    what = (f"covariate {name!r} is infinite for {amount(count, 'polygon')} (first: "
            f"{fine.index[infinite][0]!r})")
    if options.missing not in ("drop", "nearest"):
        refuse(what, f"correct {them}, as where something was divided by zero, or pass "
               f"{option('missing', 'nearest')} to take the nearest polygon's, or "
               f"{option('missing', 'drop')} to leave {_these(count)} out", **about)
    else:
        record.note(f"{what}, which was taken for missing", severity=WARNING, **about,
                    fix=f"correct {them}, as where something was divided by zero")
