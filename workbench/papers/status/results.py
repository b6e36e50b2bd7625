"""The stored results in a folder: runs, tables, and means with their standard errors."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pandas as pd
import xarray as xr

from workbench.papers.registry import experiment_named
from workbench.papers.tools.running import frame, read_results
from workbench.papers.tools.stored import path_of


class Results:
    """Files of ``data/results``, each read once.

    Parameters
    ----------
    folder : Path
        Where they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.dataset = cache(self._dataset)
        self.table = cache(self._table)
        self.csv = cache(self._csv)

    def _dataset(self, name: str) -> xr.Dataset:
        return read_results(path_of(name, self.folder))

    def _table(self, name: str) -> pd.DataFrame:
        return experiment_named(name).table(self.dataset(name))

    def _csv(self, name: str) -> pd.DataFrame:
        return pd.read_csv(self.folder / f"{name}.csv")

    def runs(self, name: str) -> pd.DataFrame:
        """The runs of an experiment that did not fail.

        Parameters
        ----------
        name : str
            Of the experiment.

        Returns
        -------
        DataFrame
            One row for each run.
        """
        return frame(self.dataset(name))

    def spread(self, name: str, score: str, by: list[str]) -> pd.DataFrame:
        """Mean, standard error and number of runs in groups.

        Parameters
        ----------
        name : str
            Of the experiment.
        score : str
            A column of its runs.
        by : list of str
            Columns that make the groups.

        Returns
        -------
        DataFrame
            ``mean``, ``sem`` (NaN of a single run), ``count``, one row for each group.
        """
        return self.runs(name).groupby(by)[score].agg(["mean", "sem", "count"])


def with_error(mean: float, error: float, count: float, places: int = 3) -> str:
    """A mean, its standard error, and the number of runs, as text.

    Examples
    --------
    >>> with_error(0.1602, 0.0122, 21)
    '0.160 ± 0.012 (21)'
    >>> with_error(0.5, float("nan"), 1, 1)
    '0.5 (1)'
    """
    told = f"{mean:.{places}f}" + ("" if pd.isna(error) else f" ± {error:.{places}f}")
    return told if pd.isna(count) else f"{told} ({count:.0f})"
