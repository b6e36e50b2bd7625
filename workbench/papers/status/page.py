"""The rows of the page "Reproduction status", from the stored files."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import pandas as pd

from workbench.papers.registry import experiment_named
from workbench.papers.status import chau2021, hamelijnck2019, law2018, shikuri2025
from workbench.papers.status.items import STATES, Finding, Item, Size, verdict
from workbench.papers.status.published import published
from workbench.papers.status.results import Results, with_error
from workbench.papers.tools.stored import KNOWN_DRIFT, KNOWN_MISSING, stored

#: Keys of the papers and their titles.
PAPERS = {"law2018": "Law et al. 2018", "shikuri2025": "Shikuri 2025",
          "hamelijnck2019": "Hamelijnck et al. 2019", "chau2021": "Chau et al. 2021"}
ITEMS = (*law2018.ITEMS, *shikuri2025.ITEMS, *hamelijnck2019.ITEMS, *chau2021.ITEMS)


@dataclass(frozen=True)
class Row:
    """A row of the page.

    Parameters
    ----------
    item : Item
    state : str
    findings : list of Finding
    sizes : tuple of str
        Ours beside the paper's, with the reason where ours is smaller.
    runs : tuple of str
        What is stored: runs, what is missing, days, versions, whether the code is known.
    """

    item: Item
    state: str
    findings: list[Finding]
    sizes: tuple[str, ...]
    runs: tuple[str, ...]


@lru_cache(maxsize=16)
def rows(results: Results, paper: str) -> tuple[Row, ...]:
    """The audit of a paper, one row for each figure, table and appendix experiment.

    Parameters
    ----------
    results : Results
    paper : str
        Key of `PAPERS`.

    Returns
    -------
    tuple of Row
    """
    found = []
    for item in (one for one in ITEMS if one.paper == paper):
        findings = item.findings(results) if item.findings else []
        found.append(Row(item, verdict(item, findings), findings, _sizes(item, results),
                         _runs(item, results)))
    return tuple(found)


def summary(results: Results) -> pd.DataFrame:
    """How many rows of each paper are in which state.

    Parameters
    ----------
    results : Results

    Returns
    -------
    DataFrame
        A row for each paper, a column for each state that there is.
    """
    counts = {title: Counter(row.state for row in rows(results, key))
              for key, title in PAPERS.items()}
    states = [state for state in STATES if any(count[state] for count in counts.values())]
    return pd.DataFrame({state: [count[state] for count in counts.values()] for state in states},
                        index=pd.Index(counts, name="paper"))


def numbers(results: Results, paper: str) -> pd.DataFrame:
    """Every number that a paper prints beside ours, as text.

    Parameters
    ----------
    results : Results
    paper : str
        Key of `PAPERS`.

    Returns
    -------
    DataFrame
        ``paper``, ``ours`` with standard error and number of runs, ``likely cause``.
    """
    found = published(results)
    found = found[found["paper"] == paper]
    ours = [with_error(row.ours_value, row.standard_error, row.runs) for row in found.itertuples()]
    return pd.DataFrame({"paper": found["published"].to_numpy(), "ours": ours,
                         "likely cause of a gap": found["cause"].to_numpy()},
                        index=pd.Index(found["table"] + ": " + found["what"], name="number"))


def _sizes(item: Item, results: Results) -> tuple[str, ...]:
    told = []
    for size in item.sizes:
        ours = size.ours(results)
        beside = f"{ours:,}" + (f" (the paper: {size.paper:,})" if size.paper else "")
        told.append(f"{size.unit}: {beside}{_lesser(size, ours, results)}")
    return tuple(told)


def _lesser(size: Size, ours: int, results: Results) -> str:
    """Why ours is less, and what the rest costs."""
    if ours >= size.paper or not size.smaller:
        return ""
    cost = f" ({size.cost(results, ours, size.paper)})" if size.cost else ""
    return f", as {size.smaller}{cost}"


def _runs(item: Item, results: Results) -> tuple[str, ...]:
    if not item.experiment:
        return ()
    return _stored(item.experiment, results)


@lru_cache(maxsize=64)
def _stored(name: str, results: Results) -> tuple[str, ...]:
    state = stored(experiment_named(name), results.folder)
    told = [f"{state.done:,} of {state.runs:,} runs"]
    if state.missing:
        known = KNOWN_MISSING.get(name)
        told.append(f"missing: {known.reason}" if known else f"{len(state.missing):,} are missing")
    if name in KNOWN_DRIFT:
        told.append(KNOWN_DRIFT[name].reason)
    told.append(" to ".join(dict.fromkeys(state.dates)) or "days not stored")
    if state.unhashed:
        told.append(f"{state.unhashed:,} runs from before their code was hashed")
    if state.changed:
        told.append(f"{len(state.changed):,} runs of code that has changed since")
    told.append(", ".join(f"{name} {state.versions[name]}" for name in ("torch", "numpy")
                          if name in state.versions))
    return tuple(told)
