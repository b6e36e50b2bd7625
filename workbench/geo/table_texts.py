"""What columns of a table are by their looks: periods, and numbers with decimal commas."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.bagging.commas import THOUSANDS
from workbench.bagging.tables import as_numbers, read_table, separator
from workbench.geo.treatments import Record

_TIMES = re.compile(r"(^|[^a-z])(years?|yr|dates?|months?|weeks?|days?|quarters?|times?|periods?|"
                    r"jahre?|datum|monate?|woche|ann[eé]e|mois|semaine|a[nñ]o|mes|fecha)([^a-z]|$)")
_DATE = r"\d{4}-\d{1,2}(-\d{1,2})?([ T].*)?"
_NUMBER, _DECIMAL = r"[+-]?\d+(,\d+)?", r"[+-]?\d*,\d+"
_PADDED = r"[+-]?0\d"


def time_column(frame: pd.DataFrame, id: str) -> str | None:
    """The column of a table that tells the rows of one id apart as periods do, if there is one.

    Parameters
    ----------
    frame : DataFrame
        Several rows have one id.
    id : str
        The column of ids.

    Returns
    -------
    str or None
        By its name, such as year or date, else by what it holds: years, or dates.
    """
    apart = [c for c in frame.columns if c != id and frame[c].notna().all()
             and not frame.duplicated([id, c]).any()]
    named = [c for c in apart if _TIMES.search(re.sub("(?<=[a-z])(?=[A-Z])", " ", str(c)).lower())]
    # Periods are shared between ids, which counts of 1000 to 3000 hardly are.
    held = [c for c in apart if 2 * frame[c].nunique() <= len(frame) and _periods(frame[c])]
    return str(next(iter(named + held))) if named + held else None


def _periods(column: pd.Series) -> bool:
    """Whether all entries are whole years, or dates."""
    if pd.api.types.is_datetime64_any_dtype(column):
        return True
    numbers = as_numbers(column)
    if np.isfinite(numbers).all():
        return bool(((numbers > 1000) & (numbers < 3000) & (numbers == np.round(numbers))).all())
    return bool(column.astype(str).str.strip().str.fullmatch(_DATE).all())


def with_decimal_points(frame: pd.DataFrame, table: object, id: str, record: Record,
                        encoding: str | None = None) -> pd.DataFrame:
    """A table whose decimal commas are read, where its file leaves no doubt that they are that.

    There is none in a CSV file with semicolons between its columns where some number has another
    count of digits than three after its comma, and none has a decimal point.

    Parameters
    ----------
    frame : DataFrame
        As read, with such numbers as text.
    table : DataFrame, str or Path
        Where it is from.
    id : str
        The column of ids, which stays as it is.
    record : Record
        Receives which columns were read so.
    encoding : str, optional
        Of the file.

    Returns
    -------
    pd.DataFrame
        As it is where there is a doubt. Columns without any comma, and codes with leading zeros,
        stay as they are.
    """
    if (not isinstance(table, str | Path) or Path(table).suffix.lower() != ".csv"
            or separator(table) != ";"):
        return frame
    texts, certain = {}, False
    for name in frame.columns:
        if name == id:
            continue
        if not pd.api.types.is_numeric_dtype(frame[name]):
            text = frame[name].dropna().astype(str).str.strip()
            decimal = text.str.fullmatch(_DECIMAL)
            if (decimal.any() and text.str.fullmatch(_NUMBER + "|" + _DECIMAL).all()
                    and not text.str.match(_PADDED).any()):
                certain |= bool((decimal & ~text.str.fullmatch(THOUSANDS)).any())
                texts[name] = text.str.replace(",", ".").astype(float).reindex(frame.index)
    numbers = [str(c) for c in frame.columns if pd.api.types.is_float_dtype(frame[c])]
    # Of 1.000 nobody knows once it is a number whether it was written with a point.
    if not certain or read_table(table, text=numbers, encoding=encoding)[numbers].apply(
            lambda column: column.astype(str).str.contains(".", regex=False)).to_numpy().any():
        return frame
    record.note(f"decimal commas of {Path(table).name}, whose columns are separated by semicolons, "
                f"were read as such: {', '.join(map(str, texts))}")
    return frame.assign(**{str(name): column for name, column in texts.items()})
