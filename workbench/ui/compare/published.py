"""The papers' numbers beside ours as something to take away: table, program, JSON and report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.ui.base.views.bundle import Bundle
from workbench.ui.compare import messages, stored
from workbench.ui.compare.state import SOURCES

if TYPE_CHECKING:
    import pandas as pd

MET = 0.05          # relative difference up to which a number counts as met
_PROGRAM = """\
from workbench.ui.compare.stored import papers

# "Ours" is stored with the package. What makes it again, some of it in hours:
{made_by}
rows = papers()
table = rows[rows["paper"] == {paper!r}].drop(columns="paper").reset_index(drop=True)
table["gap"] = table["ours_value"] - table["published_value"]
table["relative_gap"] = table["ours_value"] / table["published_value"] - 1

own = table[table["same_data"] == "yes"].dropna(subset=["published_value", "ours_value"])
met = int((own["relative_gap"].abs() <= {met}).sum())
print(met, "of", len(own), "published numbers are reproduced to within {percent:g} %")
"""


def title_of(paper: str) -> str:
    """What a source is called on the page."""
    return next(label for label, key in SOURCES.items() if key == paper)


def table_of(paper: str) -> pd.DataFrame:
    """A row for each number of a paper, with its gap to ours.

    Parameters
    ----------
    paper : str
        Of `SOURCES`.
    """
    rows = stored.papers()
    table = rows[rows["paper"] == paper].drop(columns="paper").reset_index(drop=True)
    ours, theirs = table["ours_value"], table["published_value"]
    return table.assign(gap=ours - theirs, relative_gap=ours / theirs - 1)


def headline(paper: str) -> str:
    """How many numbers of a paper are met, of those on its own data."""
    rows = table_of(paper).dropna(subset=["published_value", "ours_value"])
    own = rows[rows["same_data"] == "yes"]
    met = int((np.abs(own["relative_gap"]) <= MET).sum())
    return messages.papers(title_of(paper), len(own), met, len(rows) - len(own))


def program(paper: str) -> str:
    """The Python that makes the table of a paper again; it ends with ``table`` and ``met``."""
    commands = dict.fromkeys(table_of(paper)["made_by"])
    return _PROGRAM.format(paper=paper, met=MET, percent=100 * MET,
                           made_by="\n".join(f"# {one}" for one in commands))


def bundle(paper: str) -> Bundle | None:
    """What can be taken away of a paper's tables; None where they are not stored.

    Parameters
    ----------
    paper : str
    """
    if table_of(paper).empty:
        return None
    return Bundle(f"papers-{paper}", f"Published and ours: {title_of(paper)}",
                  (headline(paper), messages.PAPERS_NOTE),
                  {"source": title_of(paper), "address": f"compare?tab=papers&paper={paper}"},
                  lambda: program(paper), lambda: table_of(paper), kinds=())


def as_json(paper: str) -> str:
    """The tables of a paper as JSON, a record for each number."""
    return table_of(paper).to_json(orient="records", indent=1, force_ascii=False)
