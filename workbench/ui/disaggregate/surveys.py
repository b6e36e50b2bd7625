"""Which column counts positives among those of another: by their names, and by their numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from workbench.ui.disaggregate.columns import (
    is_number_of_row,
    likely,
    named_like_positives,
    named_like_trials,
    shared,
)

if TYPE_CHECKING:
    from pandas import DataFrame

_LARGEST = 10_000       # a typical number above it, under a name such as "n", is of residents


def surveys_in(frame: DataFrame) -> dict[str, str]:
    """Columns of positives in a table of surveys, each with that of how many were tested.

    Names must say so, and numbers agree: both whole, and nowhere more positives than tested. Names
    such as ``cases`` say so only beside ``tested``, ``examined`` or ``trials``, and not where the
    table has a column of positives besides, or of a population, in which cases are counted. Nor do
    names such as ``n`` beside a population. Of several that were tested those are taken whose name
    shares most words with the positives'; if two do equally, none are.

    Parameters
    ----------
    frame : DataFrame
        A row for each area or place.

    Returns
    -------
    dict of str to str
        In the order of the columns; empty where none are positives of those tested.

    Examples
    --------
    >>> import pandas as pd
    >>> surveys_in(pd.DataFrame({"cases": [3, 0, 7], "examined": [20, 18, 31]}))
    {'cases': 'examined'}
    >>> surveys_in(pd.DataFrame({"cases": [3, 0, 7], "population": [20, 18, 31]}))
    {}
    >>> surveys_in(pd.DataFrame({"a_pos": [1, 2], "b_tested": [9, 9], "a_tested": [8, 9]}))
    {'a_pos': 'a_tested'}
    """
    numbers = {str(name): frame[name].to_numpy(dtype=float)
               for name in frame.select_dtypes("number")}
    people = set(likely(numbers))
    positives = {name: said for name in numbers if name not in people
                 and not is_number_of_row(name) and (said := named_like_positives(name))}
    trials = {name: said for name in numbers if name not in people and name not in positives
              and not is_number_of_row(name) and (said := named_like_trials(name))}
    sure = "sure" in positives.values()
    found = {}
    for value, said in positives.items():
        if said != "sure" and (sure or people):
            continue
        fit = [name for name, named in trials.items() if "sure" in (said, named)
               and _agree(numbers[value], numbers[name])
               and (named == "sure" or not people
                    and np.nanmedian(numbers[name]) <= _LARGEST)
               and (shared(value, name) or not any(shared(one, name) for one in positives))]
        ranks = {name: (shared(value, name), trials[name] == "sure") for name in fit}
        best = [name for name in fit if ranks[name] == max(ranks.values())]
        if len(best) == 1:
            found[value] = best[0]
    return found


def _agree(positives: np.ndarray, trials: np.ndarray) -> bool:
    """Whether the first can be counts among the second."""
    known = np.isfinite(positives) & np.isfinite(trials)
    some, among = positives[known], trials[known]
    return bool(some.size and among.max() > 0 and (some >= 0).all() and (some <= among).all()
                and (some == np.round(some)).all() and (among == np.round(among)).all())
