"""A table with several rows for each area, one a month or a year: one of these, or their sum."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.ui.disaggregate.sums import AVERAGED, KEPT, SUMMED, numbers_of, what_of

if TYPE_CHECKING:
    from pandas import DataFrame

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
        """Columns of counts, and of those tested, which are added up."""
        return self._that(SUMMED)

    @property
    def averaged(self) -> tuple[str, ...]:
        """Columns of a population, which is the same people in each period."""
        return self._that(AVERAGED)

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that are the same in all rows of an area, such as its name, and stay."""
        return self._that(KEPT)

    @property
    def left_out(self) -> dict[str, str]:
        """Columns that no sum of periods has, such as rates, each with the reason."""
        return {name: what for name, what in self._whats.items()
                if what not in (SUMMED, AVERAGED, KEPT)}

    @property
    def incomplete(self) -> int:
        """Areas that lack a row for some period, and are left out of a sum."""
        return int((~self._complete).sum())

    @property
    def without(self) -> dict[str, int]:
        """Areas of a sum whose entry is missing in some period, of each column that has such."""
        gaps = {name: int((self._gaps(name) & self._complete).sum())
                for name in (*self.summed, *self.averaged)}
        return {name: count for name, count in gaps.items() if count}

    @cached_property
    def _whats(self) -> dict[str, str]:
        """What becomes of each column in a sum."""
        ids, periods = self._known[self.areas], self.frame[self.column]
        return {name: what_of(name, self._known[name], self.frame[self.areas], periods)
                for name in self._known if name not in (ids.name, periods.name)}

    def _that(self, what: str) -> tuple[str, ...]:
        return tuple(name for name, one in self._whats.items() if one == what)

    @cached_property
    def _known(self) -> DataFrame:
        """The table without what any reader of tables takes for missing, such as NA."""
        import pandas as pd

        written = io.StringIO(self.frame.to_csv(index=False))
        missing = pd.read_csv(written, dtype=str).isna().set_axis(self.frame.index)
        return self.frame.mask(missing)

    @cached_property
    def _complete(self):
        """Whether an area has a row in each period, by area."""
        return self.frame.groupby(self.areas, sort=False).size() == len(self.periods)

    def _gaps(self, name: str):
        """Whether an area's entry of a column is missing in some row, by area."""
        return self._known[name].isna().groupby(self.frame[self.areas], sort=False).any()

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
        areas = self.frame[self.areas]
        found = self._known[list(self.kept)].groupby(areas, sort=False).first()
        for name in (*self.summed, *self.averaged):
            rows = numbers_of(self._known[name]).groupby(areas, sort=False)
            total = rows.sum() if name in self.summed else rows.mean()
            found[name] = total.mask(self._gaps(name))      # of fewer periods it would be another
        return found[self._complete].reset_index().to_csv(
            index=False, float_format="%.15g").encode()


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
