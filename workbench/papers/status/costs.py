"""What the rest of the paper's size would cost, from the seconds of the stored runs."""

from __future__ import annotations

from collections.abc import Callable

from workbench.labelled.timing import duration
from workbench.papers.status.results import Results

Cost = Callable[[Results, int, int], str]


def further_runs(name: str, full: int = 0, **only: object) -> Cost:
    """The cost of the runs that the paper has and the file has not, each as long as the stored.

    Parameters
    ----------
    name : str
        Of the experiment.
    full : int
        Runs of the paper's size; 0 for as many as there are for each of ours.
    **only
        Values that columns of the runs have; of a list any.

    Returns
    -------
    callable
        ``cost(results, ours, paper)``, in words.
    """
    def cost(results: Results, ours: int, paper: int) -> str:
        runs = results.runs(name)
        for key, value in only.items():
            runs = runs[runs[key].isin(value if isinstance(value, list) else [value])]
        number, mean = len(runs), runs["seconds"].mean()
        further = (full or round(number * paper / ours)) - number
        each = f"{mean:.1f}" if mean < 10 else f"{mean:.0f}"
        return f"{further:,} more runs of {each} s are {duration(further * mean)}"

    return cost


def larger_runs(name: str) -> Cost:
    """The least cost of all runs at the paper's size of one of them.

    Parameters
    ----------
    name : str
        Of the experiment.

    Returns
    -------
    callable
        ``cost(results, ours, paper)``, in words.
    """
    def cost(results: Results, ours: int, paper: int) -> str:
        seconds = results.runs(name)["seconds"]
        total = seconds.sum()
        return (f"the {len(seconds)} runs took {duration(total)}, and {paper / ours:.2g} times the "
                f"size is {duration(total * paper / ours)} at least")

    return cost
