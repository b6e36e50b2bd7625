"""What an experiment is: a list of runs, how one is done, and the table that they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pandas as pd
import xarray as xr

PRESETS = ("quick", "paper")
Settings = dict[str, str | int | float | bool]
Row = dict[str, float | str]


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper as runs that do not depend on each other.

    Parameters
    ----------
    name : str
        As in ``workbench run --experiment NAME``.
    title : str
        What it shows, in one line.
    source : str
        The paper, and where in it.
    runs : callable
        ``runs(preset)``: the settings of every run, plain values under the same names in each.
    score : callable
        ``score(settings)``: does one run; numbers and short texts by name.
    table : callable
        ``table(results)``: the table for people, from the runs there are.
    paper : Mapping
        What the paper prints, by the same names as the table's where they exist.
    notes : str
        Deviations from the paper, and why.
    """

    name: str
    title: str
    source: str
    runs: Callable[[str], list[Settings]]
    score: Callable[[Settings], Row]
    table: Callable[[xr.Dataset], pd.DataFrame]
    paper: Mapping[str, str] = field(default_factory=dict)
    notes: str = ""
