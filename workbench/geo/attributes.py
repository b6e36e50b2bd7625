"""Columns of polygons: that they are there, as numbers, as text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.bagging.commas import commas_of
from workbench.bagging.findings import is_listing, refuse, suspicious
from workbench.checks import InputError, meant, option, package, require
from workbench.geo.ids import as_text
from workbench.geo.treatments import Record

_THOUSANDS = r"-?[1-9]\d{0,2}([,.'\s]\d{3})+"      # 12,345 and the like
_COMMAS = r"-?(\d*|\d{1,3}([.'\s]\d{3})+),\d+"         # 0,94 or 1.234,5
_CODE = r"0\d+"
_BOUND = r"(?:<=?|≤)\s*\d+(?:[.,]\d+)?"
_BELOW = "write a number below the bound, such as half of it"
# Entries below a bound are the low ones: without them the others make the map too high.
_SUPPRESSED = (
    "leaving these areas out makes a map of the higher values alone, which are too high (of counts "
    f"the rates); {_BELOW}, and see how the map changes with another")
_MAPPED = (". Or leave the entries empty, pass {drop}, and map these areas from the others by "
           "--at-polygons, in Python fit.to_dataset(workbench.polygon_places(...))")
#: Roles of columns that hold what is mapped.
_OBSERVED = ("value", "trials")
#: In ``attrs`` of areas: why, in a check, a table of totals could not be joined to them.
NOT_JOINED = "not_joined"
_PERCENT = r"-?\d+([.,]\d+)?\s*%"


def label_columns(areas, labels: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Return label coordinates from columns, e.g. {"region": "Name_1"}.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Indexed by id.
    labels : mapping of coordinate to column
        Which.

    Returns
    -------
    dict of str to array (area,)
        Text, by coordinate.

    Raises
    ------
    InputError
        If there is no such column, or one has gaps.
    """
    for coordinate, column in labels.items():
        require_column(areas, column, f"label {coordinate!r}")
    return {coordinate: texts(areas[column], f"label {coordinate!r} in column {column!r}",
                              areas.index)
            for coordinate, column in labels.items()}


def texts(column, what: str, ids) -> np.ndarray:
    """Ids or labels as text, in full.

    Parameters
    ----------
    column : pd.Series
        Numbers or texts.
    what : str
        What the message calls them.
    ids : sequence
        Names of the rows, for the message.

    Returns
    -------
    array (row,) of str

    Raises
    ------
    InputError
        If some are missing: a gap is no label, and none of its neighbours' either.
    """
    gaps = column.isna().to_numpy()
    require(not gaps.any(), f"{what} is missing in {int(gaps.sum())} of {len(column)} rows (first: "
            f"{np.asarray(ids)[gaps][:3].tolist()}); fill it in, or leave these rows out")
    return np.array([as_text(one) for one in column], dtype=str)


def numeric_column(areas, name: str, role: str) -> np.ndarray:
    """Return a column as floats.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Indexed by id.
    name, role : str
        The column, and what it is for.

    Returns
    -------
    array (area,)
        Numbers.

    Raises
    ------
    InputError
        If there is no such column or it does not hold numbers.
    """
    require_column(areas, name, role)
    return floats(areas[name], f"{role} column {name!r}", role in _OBSERVED)


def floats(column, name: str, values: bool = True) -> np.ndarray:
    """Return a column of polygons or of a table as floats.

    Parameters
    ----------
    column : pandas.Series
        Indexed by id.
    name : str
        What messages call it.
    values : bool
        Whether they are what is mapped, and not what it is mapped by.

    Returns
    -------
    array (row,)
        Numbers; in a check NaN for what is none, which it lists.

    Raises
    ------
    InputError
        If it does not hold numbers: why not, and what to do where that can be seen.
    """
    try:
        return column.astype(float).to_numpy()
    except (TypeError, ValueError) as error:
        what = f"{name} does not hold numbers: {error}"
        hint = hint_of(column, values=values)
        numbers = numbers_in(column)
        if is_listing() and not np.isnan(numbers).all():    # else there is nothing to go on with
            wrong = np.isnan(numbers) & column.notna().to_numpy()
            refuse(what, hint or "correct these entries in the file",
                   code="not-numbers", where=column.index[wrong], count=int(wrong.sum()))
            return numbers
        raise InputError(f"{what}; {hint}" if hint else what) from error


def hint_of(column, areas: bool = True, values: bool = True) -> str:
    """How numbers in text are written, and what to do; empty where that cannot be seen.

    Parameters
    ----------
    column : pandas.Series
        Numbers, some of them as text.
    areas : bool
        Whether a row is an area, and not one of its periods, which no other region has.
    values : bool
        Whether they are what is mapped, which areas may be without.

    Returns
    -------
    str
    """
    mapped = _MAPPED.format(drop=option("missing_value", "drop")) if areas else ""
    text = column[column.notna()].astype(str).str.strip()
    thousands = text.str.fullmatch(_THOUSANDS)
    separators = ("thousands separators", "remove them")
    if commas_of(text) == "either":         # to remove decimal commas would falsify the numbers
        separators = ("thousands separators or decimal commas", "remove those, write points for "
                      "these")
    for told, remedy, which in (
            ("percent signs", "remove them", text.str.fullmatch(_PERCENT)),
            ("a bound for a number, as suppressed counts and what is below a detection limit do",
             _SUPPRESSED + mapped if values else _BELOW, text.str.fullmatch(_BOUND)),
            ("decimal commas", "write points, or read them in Python by "
             "pandas.read_csv(FILE, decimal=','); in a CSV with semicolons between its columns, "
             "and nothing but such numbers in this one, they are read as they are",
             text.str.fullmatch(_COMMAS) & ~thousands),
            (*separators, thousands)):
        if which.any():
            others = int(which.sum()) - 1
            return (f"{text[which].iloc[0]!r}{f' and {others} others' if others else ''} "
                    f"{'have' if others else 'has'} {told}: {remedy}")
    return ""


def suspect_codes(column, name: str, record: Record) -> None:
    """Warn of a covariate of text whose numbers have leading zeros, as codes have.

    Parameters
    ----------
    column : pandas.Series
        A covariate.
    name : str
        Its name.
    record : Record
        Receives the warning.
    """
    text = column.map(lambda entry: isinstance(entry, str))
    coded = column[text].str.strip().str.fullmatch(_CODE) if text.any() else text
    if coded.any():
        first = column[text][coded].iloc[0]
        record.suspect(suspicious(
            "class-codes", f"covariate {name!r} is text, and {int(coded.sum())} of its entries "
            f"have leading zeros (as {first!r}), which codes have and amounts do not; it is taken "
            "for numbers",
            "leave it out, or give one covariate of zeros and ones for each code; if they are "
            "amounts, store them as numbers",
            [name], int(coded.sum()), "its codes are taken for amounts", "; "))


def numbers_in(column) -> np.ndarray:
    """A column as floats; NaN for what is no number."""
    texts = column.astype(str) if column.dtype == object else column
    return package("pandas", extra="geo").to_numeric(texts, errors="coerce").to_numpy(dtype=float)


def require_column(areas, name: str, role: str) -> None:
    """Refuse a column that the areas lack, naming those that they have, or have several times."""
    require(name in areas or NOT_JOINED not in areas.attrs, areas.attrs.get(NOT_JOINED, ""))
    known = [c for c in areas.columns if c != areas.geometry.name]
    require(name in areas, f"the polygons have no column {name!r} for the {role}; "
                           f"{meant([name], known)}they have {known}")
    times = int((areas.columns == name).sum())
    require(times == 1, f"the polygons have {times} columns {name!r}, and one is needed for the "
                        f"{role}; rename or remove the others")
