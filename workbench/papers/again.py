"""One run of stored results made again, beside what is stored."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import xarray as xr

from workbench.checks import choose, require
from workbench.papers.registry import experiment_named
from workbench.papers.tools.running import frame

_TIMES = re.compile(r"seconds|^solve_")       # what no run repeats


def repeat_run(results: xr.Dataset, **settings: str | float | bool) -> pd.DataFrame:
    """Do one of the stored runs of an experiment again.

    Parameters
    ----------
    results : xr.Dataset
        Stored results, as `read_results` gives them.
    **settings : str, float or bool
        Settings of the run, as many as single it out: ``seed=0, model="vbagg"``.

    Returns
    -------
    pd.DataFrame
        A row for each number that the run gives, but for the time it took; columns ``stored`` and
        ``now``, in the units of the experiment.

    Raises
    ------
    InputError
        If the experiment has no such setting, or if no run or several have these values.

    Examples
    --------
    >>> from workbench.papers import repeat_run, run_experiment, experiment_named
    >>> few = {"case": "poisson, mean", "boundary": "half", "per_cell": "20"}
    >>> stored = run_experiment(experiment_named("summary-statistics"), only=few)
    >>> repeat_run(stored, seed=0).columns.tolist()
    ['stored', 'now']
    """
    names, runs = json.loads(results.attrs["settings"]), frame(results)
    for name, value in settings.items():
        choose("setting of the experiment", name, names)
        runs = runs[runs[name] == value]
    require(len(runs) == 1, f"{len(runs)} stored runs have {settings}; name one, by some of "
            + ", ".join(names))
    run = runs.iloc[0]
    done = experiment_named(results.attrs["experiment"]).score(
        {name: run[name].item() if isinstance(run[name], np.generic) else run[name]
         for name in names})
    numbers = [name for name, value in done.items()
               if isinstance(value, (int, float)) and not _TIMES.search(name) and name in run]
    return pd.DataFrame({"stored": run[numbers].astype(float),
                         "now": pd.Series(done)[numbers].astype(float)})
