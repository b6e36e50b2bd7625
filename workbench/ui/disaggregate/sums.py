"""What becomes of a column where the periods of a table are added up, by its name and entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.ui.disaggregate.columns import (
    COUNTS,
    MEANS,
    is_name,
    is_number_of_row,
    is_place,
    likely,
    named_like_positives,
    named_like_trials,
    words_in,
)

if TYPE_CHECKING:
    from pandas import Series

SUMMED, AVERAGED, KEPT = "summed", "averaged", "kept"
#: Words in names of whole numbers that are no counts.
_NO_COUNTS = frozenset("age year month week day quarter elevation altitude height distance score "
                       "index area km sqkm ha length".split())


def what_of(name: str, column: Series, areas: Series, periods: Series) -> str:
    """What becomes of a column in the sum over periods.

    Parameters
    ----------
    name : str
    column : Series of str
        Without what is missing.
    areas, periods : Series of str
        Of each row.

    Returns
    -------
    str
        `SUMMED`: counts and numbers tested, also where these are the same in every period.
        `AVERAGED`: a population. `KEPT`: what is the same in all rows of each area. Else why it is
        left out.
    """
    from workbench.bagging.commas import punctuated

    entries = column.dropna()
    if entries.empty:
        return "empty"
    fixed = bool(column.groupby(areas, sort=False).nunique().max() == 1)
    if is_number_of_row(name) or is_place(name):
        return KEPT if fixed else "numbers of rows, or places"
    counted, people = _counted(name), bool(likely([name])) and not MEANS & words_in(name)
    numbers = numbers_of(entries)
    if numbers.isna().any():
        odd = entries[numbers.isna()]
        commas = odd[punctuated(entries)[odd.index]]
        if fixed and not counted and not people and commas.empty:
            return KEPT
        if commas.empty and numbers.isna().all():
            return "text that differs between periods" if not fixed else "text"
        return f"not all of it numbers, as {(commas if len(commas) else odd).iloc[0]!r}"
    if people:
        return AVERAGED
    if fixed and not counted:
        return KEPT
    return _no_count(name, entries, numbers, counted, periods) or SUMMED


def numbers_of(column: Series) -> Series:
    """A column as numbers, without what is none."""
    import pandas as pd

    return pd.to_numeric(column, errors="coerce")


def _counted(name: str) -> bool:
    """Whether a column is called like counts, or like how many were tested."""
    words = words_in(name)
    if words & (MEANS | _NO_COUNTS) or is_name(name) or likely([name]):
        return False
    return bool(named_like_positives(name) or named_like_trials(name)
                or {one for word in words for one in (word, word.removesuffix("s"))} & {*COUNTS})


def _no_count(name: str, entries: Series, numbers: Series, counted: bool, periods: Series) -> str:
    """Why numbers are not added up; empty where they are."""
    if said := sorted(words_in(name) & (MEANS | _NO_COUNTS)):
        return f"called {said[0]}, which does not add up"
    if (numbers < 0).any():
        rows = int((numbers < 0).sum())
        return (f"below zero in {rows} row{'s' if rows > 1 else ''}, as "
                f"{entries[numbers < 0].iloc[0]}")
    if (numbers % 1 != 0).any():
        return f"not whole numbers, as {entries[numbers % 1 != 0].iloc[0]}"
    if not counted and (numbers.groupby(periods[entries.index]).nunique() == 1).all():
        return "the same for all areas of a period"
    return ""
