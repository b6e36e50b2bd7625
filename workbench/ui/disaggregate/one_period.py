"""A table with several rows for each area, one a month or a year: one of these, or their sum."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.ui.disaggregate.columns import is_number_of_row, is_place, likely

if TYPE_CHECKING:
    from pandas import DataFrame, Series

    from workbench.ui.disaggregate.tables import Table

SUM = "\0sum"       # chosen in place of a period, and no text of a table


@dataclass(frozen=True)
class Periods:
    """What tells the rows of an area apart in a table.

    Parameters
    ----------
    file : str
        Name of the table.
    areas, column : str
        Columns with the areas, and with the periods.
    periods : tuple of str
        As they are written, from the first to the last.
    count : int
        Areas of the table.
    frame : DataFrame
        The table as it is written.
    """

    file: str
    areas: str
    column: str
    periods: tuple[str, ...]
    count: int
    frame: DataFrame = field(repr=False, compare=False)

    @property
    def summed(self) -> tuple[str, ...]:
        """Columns of counts, which may be added up."""
        return tuple(name for name in self._numbers if _counts(self.frame[name])
                     and name not in self.averaged)

    @property
    def averaged(self) -> tuple[str, ...]:
        """Columns of a population, which is the same people in each period."""
        return tuple(likely(self._numbers))

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns of numbers that no sum of periods has, such as rates."""
        return tuple(name for name in self._numbers if name not in (*self.summed, *self.averaged))

    @property
    def incomplete(self) -> int:
        """Areas that lack a row for some period, and are left out of a sum."""
        return int((self.frame.groupby(self.areas, sort=False).size() < len(self.periods)).sum())

    @property
    def _numbers(self) -> list[str]:
        """Columns of numbers that are not the same in all periods."""
        return [name for name in self.frame if name not in (self.areas, self.column)
                and not is_number_of_row(name) and not is_place(name)
                and _numbers(self.frame[name]).notna().any() and name not in self._fixed]

    @property
    def _fixed(self) -> list[str]:
        """Columns that are the same in all rows of an area, such as its name."""
        rest = [name for name in self.frame if name not in (self.areas, self.column)]
        most = self.frame.groupby(self.areas, sort=False)[rest].nunique().max()
        return [name for name in rest if most[name] == 1]

    def called(self, period: str) -> str:
        """Name of the file with a row for each area."""
        plain = "sum" if period == SUM else re.sub(r"[^\w.-]+", "-", period).strip("-.") or "period"
        return f"{Path(self.file).stem}-{plain}{Path(self.file).suffix}"

    def table(self, period: str) -> bytes:
        """The table of one period, or of the sum over all, as CSV with a row for each area.

        Parameters
        ----------
        period : str
            One of `periods`, or `SUM`.
        """
        if period != SUM:
            found = self.frame[self.frame[self.column] == period].drop(columns=self.column)
            return found.to_csv(index=False).encode()
        rows = self.frame.groupby(self.areas, sort=False)
        found = rows[self._fixed].first()
        for name in (*self.summed, *self.averaged):
            numbers = _numbers(self.frame[name]).groupby(self.frame[self.areas], sort=False)
            total = numbers.sum(min_count=len(self.periods))    # a sum of fewer would be too low
            found[name] = total if name in self.summed else numbers.mean()
        return found[rows.size() == len(self.periods)].reset_index().to_csv(
            index=False, float_format="%.10g").encode()


def periods_in(table: Table | None) -> Periods | None:
    """What tells the rows of an area apart in a table; None if each has one row, or nothing does.

    Parameters
    ----------
    table : Table or None
    """
    import pandas as pd

    from workbench.bagging.tables import separator
    from workbench.checks import InputError
    from workbench.geo.period_numbers import on_a_line
    from workbench.geo.table_texts import time_column

    if table is None:
        return None
    frame = pd.read_csv(table.path, sep=separator(table.path), encoding=table.encoding or None,
                        dtype=str, keep_default_na=False).apply(lambda one: one.str.strip())
    areas = table.keys[0][0]
    if not frame[areas].duplicated().any():
        return None
    column = time_column(frame, areas)
    if column is None:
        return None
    written = pd.Series(frame[column].unique())
    try:
        written = written.iloc[on_a_line(written, column)[0].argsort(kind="stable")]
    except InputError:
        pass                    # such as names of months: in the order of the table
    return Periods(table.path.name, areas, column, tuple(written), frame[areas].nunique(), frame)


def _numbers(column: Series) -> Series:
    import pandas as pd

    return pd.to_numeric(column, errors="coerce")


def _counts(column: Series) -> bool:
    """Whether all that is written in a column are whole numbers, none below zero."""
    there = column[column != ""]
    numbers = _numbers(there)
    return bool(len(there)) and bool((numbers.notna() & (numbers >= 0) & (numbers % 1 == 0)).all())
