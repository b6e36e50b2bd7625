"""Values of the larger areas of small polygons: a table, their own, or sums of the small ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.bagging.findings import WARNING, refuse, suspicious
from workbench.bagging.tables import require_columns
from workbench.checks import meant, option, package, require
from workbench.geo.areas import usable_values
from workbench.geo.attributes import floats, numbers_in
from workbench.geo.ids import as_text, refuse_two_ways
from workbench.geo.joining import refuse_repeated, table_with_ids
from workbench.geo.totals import survey_errors
from workbench.geo.treatments import CleaningOptions, Record

_ALIKE = 0.005          # relative difference below which nothing is said: late corrections
_SINGLE = 1e-7          # to which files keep numbers of single precision
_ZEROS, _DECIMALS = 3, 9        # to which numbers are rounded, for confidentiality or in print
AGAIN = ("they can be mapped from the others: fit.to_dataset(workbench.child_places(...)) of all "
         "small polygons, or --at FILE with these places by workbench.write")
_MANY = {"trials": "trials", "standard_error": "standard errors"}


def parent_table(fine, larger, parent: str, value: str | None,
                 given: Mapping[str, float] | None, beside: Mapping[str, str], table: tuple,
                 record: Record):
    """What is known of the larger areas: a table by id, or None where the small ones have values.

    Parameters
    ----------
    fine, larger : geopandas.GeoDataFrame
        Small polygons, and the larger ones or None.
    parent, value : str
        Columns: of the small polygons with the larger areas' ids, and of the value or None.
    given : mapping, optional
        Values by id.
    beside : mapping of role to column
        What else is known of the larger areas: ``trials``, or ``standard_error``.
    table : tuple
        totals, join and encoding of `workbench.bag_children`.
    record : Record
        Receives where the values come from.

    Returns
    -------
    DataFrame or None
        Columns value and, where they are beside it, trials and standard_error.

    Raises
    ------
    InputError
        If values are given in several ways or in none, or ids are written in two ways.
    """
    pandas = package("pandas", extra="geo")
    totals, join, encoding = table
    sources = [value is not None and given is not None, given is not None and totals is not None]
    require(not any(sources), "give either value (a column known for the small areas) or "
            "parent_values, or a table of totals")
    if given is not None:
        require(not beside, f"{' and '.join(_MANY[role] for role in beside)} are a column beside "
                "value; give both in totals")
        values = {as_text(k): float(v) for k, v in dict(given).items()}
        _refuse_two_ways(list(values), fine, parent, "in parent_values", "")
        return pandas.DataFrame({"value": values})
    require(value is not None, "give either value (a column known for the small areas) or "
            "parent_values, or a table of totals and the value in it")
    if totals is not None:
        frame, name = table_with_ids(totals, join, encoding, record)
        refuse_repeated(frame, join, name)
        frame = frame.set_index(join)
        _refuse_two_ways(frame.index.tolist(), fine, parent, f"in {name}", f"table[{join!r}]")
    elif value in fine:
        require(not beside, f"{' and '.join(_MANY[role] for role in beside)} are known of the "
                "larger areas; give them and the value as a table: " + option("totals"))
        return None
    else:
        frame, name = larger, "the larger polygons"
        small = [c for c in fine.columns if c != fine.geometry.name]
        large = [] if larger is None else list(larger.columns)
        require(value in large, f"there is no column {value!r}; {meant([value], small + large)}the "
                f"small polygons have {small}{f', the larger ones {large}' if large else ''}; "
                "values of the larger areas come with " + option("totals") + " or "
                + option("parent_polygons"))
        _refuse_two_ways(larger.index.tolist(), fine, parent, f"of {name}", "")
    columns = {"value": value, **beside}
    require_columns(frame, columns.values(), name)
    record.note(f"values are those of {name}, by column {value!r}"
                + (", and not those of the small polygons' column of that name" if value in fine
                   else ""))
    return pandas.DataFrame({
        role: floats(frame[c], f"column {c!r} of {name}", role in ("value", "trials"))
        for role, c in columns.items()}, index=frame.index)


def _refuse_two_ways(ids: list[str], fine, parent: str, where: str, column: str) -> None:
    named, known = set(fine[parent].dropna().map(as_text)), set(ids)
    refuse_two_ways([one for one in ids if one not in named], sorted(named - known), where,
                    f"in column {parent!r} of the small polygons", column, f"polygons[{parent!r}]")


def values_of_parents(known, bags: np.ndarray, kind: str, options: CleaningOptions, record: Record
                      ) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Values of the bags, their trials if there are any, and which bags are kept.

    Parameters
    ----------
    known : DataFrame
        From `parent_table`.
    bags : array (bag,)
        Ids of the larger areas that hold small polygons.
    kind, options, record
        As of `workbench.geo.areas.usable_values`.

    Returns
    -------
    values : array (bag,)
    trials : array (bag,) or None
    kept : bool array (bag,)

    Raises
    ------
    InputError
        If larger areas hold no small polygon, or values cannot be used.
    """
    childless = sorted(set(known.index) - set(bags.tolist()))
    if childless:
        require(len(childless) < len(known), "none of the areas is named by the small polygons: "
                f"areas are {childless[:3]} and so on, parents {bags[:3].tolist()}; say where the "
                "areas' ids are with " + option("parent_id") + ", or " + option("join")
                + " of a table")
        about = {"code": "area-empty", "where": childless, "count": len(childless)}
        if options.empty == "error":
            refuse(f"{len(childless)} areas hold no polygon (first: {childless[:3]})",
                   f"pass {option('empty', 'drop')} to leave them out", **about)
        else:
            record.note(f"{len(childless)} areas without polygons were dropped, with values "
                        f"adding up to {known['value'].loc[childless].sum():,.6g}", **about)
    rowless = [one for one in bags.tolist() if one not in known.index]
    if rowless and options.missing_value == "drop":
        record.note(f"{len(rowless)} areas that small polygons name and that have no row were "
                    f"dropped: {', '.join(rowless[:10])}; {AGAIN}", severity=WARNING,
                    code="row-missing", where=rowless, count=len(rowless),
                    effect="they are not on the map", fix="add them, or correct the names")
    elif rowless:
        refuse(f"{len(rowless)} areas that small polygons name are not among those with values "
               f"(first: {rowless[:3]})", "add them, correct the names, or pass "
               f"{option('missing_value', 'drop')} to leave these small polygons out",
               code="row-missing", where=rowless, count=len(rowless))
    found, rows = known.reindex(bags), ~np.isin(bags, rowless)
    values, kept = found["value"].to_numpy(float, copy=True), rows.copy()
    values[rows], kept[rows] = usable_values(values[rows], bags[rows], kind, options, record,
                                              again=AGAIN)
    if "trials" not in known:
        return values, None, kept
    trials = found["trials"].to_numpy()
    survey_errors(values, trials, kept, bags, kind, ("value", "trials"), record)
    return values, trials, kept


def compared_with_own(larger, value: str, bags: np.ndarray, made: np.ndarray,
                      small: tuple[np.ndarray, np.ndarray], aggregation: str, record: Record
                      ) -> None:
    """Say that values of the small polygons were taken where the larger ones have some, too.

    Parameters
    ----------
    larger : geopandas.GeoDataFrame or None
        The larger areas, by id.
    value : str
        Column of the small polygons.
    bags : array (bag,)
        Ids of the larger areas.
    made : array (bag,)
        What the values of their small polygons add up to, or their weighted means.
    small : tuple of array (individual,)
        These values, and the position of the area of each.
    aggregation : {"sum", "mean"}
        Which of the two.
    record : Record
        Receives what was taken, and a warning where the larger areas' own values are others.
    """
    if larger is None or value not in larger:
        return
    taken = f"{'sums' if aggregation == 'sum' else 'weighted means'} of the small polygons' column"
    record.note(f"values are {taken} {value!r}; the larger polygons' column of that name was not "
                "used")
    own = numbers_in(larger[value].reindex(bags))
    known = np.isfinite(own) & np.isfinite(made)
    gap = np.abs(np.where(known, made - own, 0.0))
    each = np.bincount(small[1], minlength=bags.size) if aggregation == "sum" else 1.0
    rounding = _rounding(own[known]) + each * _rounding(small[0])
    off = gap > np.maximum(_ALIKE * np.maximum(np.abs(made), np.abs(own)), rounding)
    if not off.any():
        return
    worst = int(np.argmax(gap))
    whole = (f"; all together {made[known].sum():,.6g} and {own[known].sum():,.6g}"
             if aggregation == "sum" else "")
    record.suspect(suspicious(
        "parent-total", f"small and larger polygons both have a column {value!r}, and in "
        f"{int(off.sum())} of {int(known.sum())} areas the larger one's value is not that of its "
        f"small polygons, which was taken (most: {str(bags[worst])!r} with {made[worst]:,.6g} from "
        f"its small polygons and {own[worst]:,.6g} of its own{whole})",
        "to take the larger ones' values, rename or drop the column of the small polygons, or give "
        f"them as a table: {option('totals')}", bags[off], int(off.sum()),
        "the map does not agree with the larger polygons' values", "; "))


def _rounding(values: np.ndarray) -> float:
    """Half a unit of the last digit that any of these values has, thousands to decimals."""
    if not np.any(values):
        return 0.0
    for decimals in range(-_ZEROS, _DECIMALS):
        if np.allclose(values, np.round(values, decimals), rtol=_SINGLE, atol=0):
            return 0.5 * 10.0**-decimals
    return 0.0
