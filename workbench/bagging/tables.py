"""Tables of the user's: read from files, with the separator found and the columns as numbers."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from workbench.bagging.commas import comma_advice, punctuated
from workbench.checks import choose, meant, option, package, reading, reject, require

#: Names of coordinates in degrees, and the axes that they are.
LONLAT = {"lon": "x", "longitude": "x", "lat": "y", "latitude": "y"}
SEPARATORS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
_SUFFIXES = (".csv", ".parquet")


def read_table(table: object, *, text: Iterable[str] = (), encoding: str | None = None
               ) -> pd.DataFrame:
    """A DataFrame, or the table in a CSV or Parquet file.

    Parameters
    ----------
    table : DataFrame, str or Path
        The table or the file. Columns of a CSV file are separated by a comma, semicolon, tab or
        bar, whichever is most frequent in its first line.
    text : iterable of str
        Columns of a CSV file that are read as text, as ids with leading zeros are.
    encoding : str, optional
        Of a CSV file, such as latin-1; UTF-8 if not given.

    Returns
    -------
    pd.DataFrame
        Rows numbered from zero.

    Raises
    ------
    InputError
        If it is neither, the file is missing or cannot be read, or column names repeat.
    """
    if isinstance(table, pd.DataFrame):
        twice = sorted({str(c) for c in table.columns[table.columns.duplicated()]})
        require(not twice, f"column names must differ, but these repeat: {twice[:5]}")
        return table.reset_index(drop=True)
    if not isinstance(table, (str, Path)):
        raise reject("a DataFrame or the path of a CSV or Parquet file", type(table).__name__,
                     "pass pandas.DataFrame(table)")
    path = Path(table)
    require(path.is_file(), f"{str(path)!r} is not a file; expected a CSV or Parquet table")
    choose("kind of file", path.suffix.lower(), _SUFFIXES)
    if path.suffix.lower() == ".csv":
        require(encoding is None or _known(encoding), f"{option('encoding', encoding)} is unknown; "
                "use utf-8, latin-1, cp1252 or another name that Python knows")
        with reading(path, "a CSV table", "to save it again as UTF-8 text with commas between the "
                                          f"columns, {option('encoding', 'latin-1')} if it is that,"
                                          " or pass the DataFrame that pandas.read_csv makes with "
                                          "the right encoding= and sep="):
            how = {"sep": separator(path), "encoding": encoding}
            frame = pd.read_csv(path, dtype=dict.fromkeys(text, str), **how)
            lost = [c for c in dict.fromkeys(text) if c in frame and frame[c].isna().any()]
            if lost:        # pandas takes the NA of Namibia for a missing value
                raw = pd.read_csv(path, usecols=lost, dtype=str, keep_default_na=False, **how)
                frame[lost] = frame[lost].mask(raw == "NA", "NA")
            return frame
    package("pyarrow", extra="data")
    with reading(path, "a Parquet table", "to write it again"):
        return pd.read_parquet(path)


def _known(encoding: str) -> bool:
    try:
        codecs.lookup(encoding)
    except LookupError:
        return False
    return True


def require_columns(frame: pd.DataFrame, columns: Iterable[str], what: str = "the table",
                    more: str = "") -> None:
    """Refuse a table that lacks a column.

    Parameters
    ----------
    frame : DataFrame
    columns : iterable of str
        What is needed.
    what : str
        What it is, for the message.
    more : str
        What the message ends with.

    Raises
    ------
    InputError
        Which are missing, and which there are.
    """
    absent = [c for c in columns if c not in frame]
    require(not absent, f"{what} lacks columns {absent}; {meant(absent, frame)}it has "
            f"{list(frame)}{more}")


def numbers_of(frame: pd.DataFrame, columns: Iterable[str], what: str = "") -> pd.DataFrame:
    """A copy of a table with these columns as finite numbers.

    Parameters
    ----------
    frame : DataFrame
        The table.
    columns : iterable of str
        Columns without missing values.
    what : str
        Name for errors, such as "places"; none for the only table.

    Returns
    -------
    pd.DataFrame
        All columns of the table.

    Raises
    ------
    InputError
        If a column is missing, or holds what is no number or not finite: which rows.
    """
    columns = list(columns)
    of = f" of {what}" if what else ""
    require_columns(frame, columns, f"the table{of}")
    frame = frame.copy()
    for column in columns:
        values = as_numbers(frame[column])
        text = np.isnan(values) & frame[column].notna().to_numpy()
        refuse_rows(text, frame[column],
                    f"values of column {column!r}{of}, which must hold numbers, are none",
                    _advice(frame[column], text) if text.any() else "")
        bad = ~np.isfinite(values)
        require(not bad.any(), f"column {column!r}{of} has {int(bad.sum())} values that are "
                f"missing or not finite, the first in row {np.flatnonzero(bad)[:1].tolist()}; drop "
                "or fill these rows")
        frame[column] = values
    return frame


def _advice(column: pd.Series, wrong: np.ndarray) -> str:
    """What to do about entries that are no numbers: their commas, and what is no number anyhow."""
    texts = column.dropna().astype(str).str.strip()
    advice = comma_advice(texts)
    others = texts[pd.Series(wrong, column.index)[texts.index] & ~punctuated(texts)]
    if not advice or others.empty:
        return advice or "correct or drop these rows"
    rows = "the row" if len(others) == 1 else f"the {len(others)} rows"
    return (f"{advice}, and correct or drop {rows} of other text ({others.iloc[0]!r} in row "
            f"{others.index[0]})")


def as_numbers(column: pd.Series) -> np.ndarray:
    """A column as numbers (rows,), NaN for what is none."""
    if pd.api.types.is_datetime64_any_dtype(column):        # else a count of nanoseconds
        return np.full(len(column), np.nan)
    return pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)


def refuse_rows(bad: np.ndarray, column: pd.Series, what: str, remedy: str) -> None:
    """Raise `InputError` if rows are marked, with the first three values and what to do."""
    rows = np.flatnonzero(bad)
    require(rows.size == 0, f"{rows.size} {what}: {column.iloc[rows[:3]].tolist()} in rows "
            f"{', '.join(map(str, column.index[rows[:3]]))}{', ...' if rows.size > 3 else ''}; "
            f"{remedy}")


def separator(path: str | Path) -> str:
    """The separator of a CSV file: the most frequent of ``, ; tab |`` in its first line.

    Parameters
    ----------
    path : str or Path
        A text file; names of columns in quotes may hold separators.

    Returns
    -------
    str
        One character.
    """
    with Path(path).open(encoding="utf-8-sig", errors="replace") as file:
        head = re.sub(r'"[^"]*"', "", file.readline())
    return max(SEPARATORS, key=head.count)


def separated(table: object) -> str:
    """The separator of a CSV file in words, in brackets; empty for other tables.

    Parameters
    ----------
    table : DataFrame, str or Path
        As of `read_table`.

    Returns
    -------
    str
        Such as " (columns separated by commas)".
    """
    if not isinstance(table, str | Path) or Path(table).suffix.lower() != ".csv":
        return ""
    return f" (columns separated by {SEPARATORS[separator(table)]}s)"
