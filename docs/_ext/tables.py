"""Tables of the stored results in `data/results`, as the site shows them: frames of strings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from workbench.papers.status.results import Results

RESULTS = Path(__file__).parents[2] / "data" / "results"


@dataclass(frozen=True)
class Stored:
    """A table: how it is made, from which files, by which command."""

    make: Callable[[], pd.DataFrame]
    files: tuple[str, ...]
    command: str
    experiment: str | None = None


TABLES: dict[str, Stored] = {}


def stored(name: str, *files: str, command: str) -> Callable:
    """Register a function that makes a table from files of a benchmark."""
    def register(make):
        TABLES[name] = Stored(make, files, command)
        return make
    return register


def experiment(name: str, title: str | None = None) -> Callable:
    """Register a function that makes a table from an experiment's runs."""
    def register(make):
        TABLES[title or name] = Stored(
            make, (f"{name.replace('-', '_')}.nc",),
            f"workbench run --experiment {name} --preset paper", name)
        return make
    return register


@cache
def results() -> Results:
    """The stored files of the repository, each read once."""
    return Results(RESULTS)


def summary(name: str) -> pd.DataFrame:
    """The stored runs of an experiment in the table that the experiment makes of them."""
    return results().table(name).copy()


def digits(places: int) -> Callable[[float], str]:
    """Numbers with so many places; nothing where there is none."""
    return lambda value: "" if pd.isna(value) else f"{value:,.{places}f}"


def figures(count: int) -> Callable[[float], str]:
    """Numbers with so many figures."""
    return lambda value: "" if pd.isna(value) else f"{value:,.{count}g}"


def percent(value: float) -> str:
    """A share in whole per cent."""
    return "" if pd.isna(value) else f"{100 * value:.0f}"


def plain(value: object) -> str:
    """Text as it is; nothing for a gap."""
    return "" if value is None or value != value else str(value)


def pick(raw: pd.DataFrame, rows: dict[str, object] | None,
         columns: dict[str, tuple[str, Callable]], corner: str = "model") -> pd.DataFrame:
    """Some rows and columns under names for readers, as strings."""
    rows = rows or {str(name): name for name in raw.index}
    chosen = raw.loc[list(rows.values())]
    return pd.DataFrame({title: list(map(show, chosen[column]))
                         for title, (column, show) in columns.items()},
                        index=pd.Index(rows, name=corner))
