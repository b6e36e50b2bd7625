"""The texts that a file of results carries, beside those of its experiment today."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import xarray as xr

from workbench.checks import require
from workbench.outputs import write_bytes
from workbench.papers.tools.base import Experiment


def texts_of(experiment: Experiment) -> dict[str, str]:
    """What a file of results says of its experiment in words: its attributes, by name."""
    return {"title": experiment.title, "source": experiment.source, "notes": experiment.notes,
            "paper": json.dumps(dict(experiment.paper))}


def outdated_texts(experiment: Experiment, attributes: Mapping[str, str]) -> list[str]:
    """Names of the texts that are not the experiment's of today.

    Parameters
    ----------
    experiment : Experiment
    attributes : Mapping
        Of stored results.

    Returns
    -------
    list of str
        Of title, source, notes and paper.
    """
    return [name for name, text in texts_of(experiment).items() if attributes.get(name) != text]


def refresh_texts(experiment: Experiment, path: Path) -> list[str]:
    """Write title, source, notes and the paper's numbers of today into a file of results.

    Runs, packages and hashes stay as they are.

    Parameters
    ----------
    experiment : Experiment
    path : Path
        Results of this experiment.

    Returns
    -------
    list of str
        Names of the texts that were others; of none the file is left alone.

    Raises
    ------
    InputError
        If there is no such file, or it holds the results of another experiment.

    Examples
    --------
    >>> import tempfile
    >>> from workbench.papers import experiment_named, refresh_texts, run_experiment
    >>> rates = experiment_named("dmo-rates")
    >>> path = Path(tempfile.mkdtemp()) / "rates.nc"
    >>> _ = run_experiment(rates, out=path)
    >>> refresh_texts(rates, path)
    []
    """
    require(path.is_file(), f"there are no results at {path}")
    results = xr.load_dataset(path, engine="h5netcdf")
    held = results.attrs.get("experiment")
    require(held == experiment.name, f"{path} holds the results of {held!r}")
    outdated = outdated_texts(experiment, results.attrs)
    if outdated:
        results.attrs |= texts_of(experiment)
        write_bytes(path, results.to_netcdf(engine="h5netcdf"))
    return outdated
