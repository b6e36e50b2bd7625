"""A row of the audit: a figure, table or appendix experiment of a paper, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from workbench.checks import choose, require
from workbench.papers.status.costs import Cost
from workbench.papers.status.results import Results

WORKS, PARTLY, DIFFERS = "works", "works in part", "differs"
CODE, MAPS, DRAWN = "in the code", "maps of other data", "no experiment"
LACKING, IMPOSSIBLE = "not done", "not possible"
#: States of rows without stored numbers; those of the others follow from their findings.
FIXED = (CODE, MAPS, LACKING, IMPOSSIBLE, DRAWN)
STATES = (WORKS, PARTLY, DIFFERS, *FIXED)


@dataclass(frozen=True)
class Finding:
    """A claim of the paper and what the stored runs say of it.

    Parameters
    ----------
    says : str
        The claim.
    paper : str
        The paper's number; empty if it prints none.
    ours : str
        Ours, with its standard error and the number of runs.
    holds : bool, optional
        Whether the claim comes out; None if these runs cannot tell.
    """

    says: str
    paper: str
    ours: str
    holds: bool | None


@dataclass(frozen=True)
class Size:
    """How much of the paper's size was run.

    Parameters
    ----------
    unit : str
        What is counted.
    paper : int
        The paper's number; 0 if it is not known.
    ours : callable
        ``ours(results)``: ours, counted in the stored runs.
    smaller : str
        Why ours is smaller, if it is.
    cost : callable, optional
        What the rest would cost, from the stored seconds, see `workbench.papers.status.costs`.
    """

    unit: str
    paper: int
    ours: Callable[[Results], int]
    smaller: str = ""
    cost: Cost | None = None


@dataclass(frozen=True)
class Item:
    """One row.

    Parameters
    ----------
    paper : str
        Key, such as law2018.
    where : str
        Figure, table or section, as the paper calls it.
    shows : str
        What it shows.
    experiment : str
        The experiment that does it, by name.
    command : str
        What makes it again, if it is no experiment.
    findings : callable, optional
        ``findings(results)``: claims beside stored numbers.
    table : str
        Beginning of the table's name in `published`, whose numbers are all shown.
    sizes : tuple of Size
        Ours beside the paper's.
    why : str
        Why it differs, or is not done, or not possible, or what stands for it.
    state : str
        Of a row without findings, one of `FIXED`.
    """

    paper: str
    where: str
    shows: str
    experiment: str = ""
    command: str = ""
    findings: Callable[[Results], list[Finding]] | None = None
    table: str = ""
    sizes: tuple[Size, ...] = ()
    why: str = ""
    state: str = ""

    def __post_init__(self) -> None:
        if self.findings is None:
            choose("state of a row without findings", self.state, FIXED)
            require(bool(self.why), f"{self.where}: a row that is {self.state} says why")
        else:
            require(bool(self.made_by), f"{self.where}: a row with numbers needs a command")

    @property
    def made_by(self) -> str:
        """The command that makes it again."""
        return self.command or (
            f"workbench run --experiment {self.experiment} --preset paper" if self.experiment
            else "")


def verdict(item: Item, findings: list[Finding]) -> str:
    """Whether a row comes out.

    Parameters
    ----------
    item : Item
    findings : list of Finding
        Of the stored runs.

    Returns
    -------
    str
        "works" if all claims hold, "differs" if one does not, "works in part" if one cannot be
        told; else the row's own state.
    """
    if not findings:
        return item.state
    held = [finding.holds for finding in findings]
    return DIFFERS if False in held else PARTLY if None in held else WORKS


def distinct(name: str, column: str, **only: object) -> Callable[[Results], int]:
    """A count for `Size`: different values of a column in the runs of an experiment.

    Parameters
    ----------
    name : str
        Of the experiment.
    column : str
        Such as ``seed``.
    **only
        Values that other columns must have; of a list the value with the fewest counts.

    Returns
    -------
    callable
        Of `Results`.
    """
    def count(results: Results) -> int:
        runs, groups = results.runs(name), None
        for key, value in only.items():
            if isinstance(value, list):
                groups = (key, value)
            else:
                runs = runs[runs[key] == value]
        if groups is None:
            return int(runs[column].nunique())
        return min(int(runs[runs[groups[0]] == value][column].nunique()) for value in groups[1])

    return count
