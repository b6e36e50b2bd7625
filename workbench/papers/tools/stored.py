"""What a file of results has of its experiment's runs, and what in it is stale."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.papers.tools.base import Experiment, Settings
from workbench.papers.tools.running import (
    CODE,
    DATE,
    ERROR,
    key_of,
    read_results,
    rows_of,
    stale_runs,
)
from workbench.papers.tools.texts import outdated_texts

PAPER = "paper"


@dataclass(frozen=True)
class Missing:
    """Runs of the paper's preset that a file of `data/results` lacks, and why.

    Parameters
    ----------
    only : tuple of Mapping
        Settings that they have, as text; a run is missing that has all of one of these.
    reason : str
        Why they are not there.
    """

    only: tuple[Mapping[str, str], ...]
    reason: str

    def holds_of(self, settings: Settings) -> bool:
        """Whether a run is one of them."""
        return any(all(str(settings[name]) == value for name, value in one.items())
                   for one in self.only)


#: The one list of what is known to be missing; an entry whose runs are all there is an objection.
KNOWN_MISSING = {
    "california-prediction": Missing(
        tuple({"model": f"{model} VI (GPy)", "output": output, "likelihood": "poisson",
               "grid": "0.4", "seed": seed}
              for model, output, seed in (
                  ("complete", "MedValue", "1"), ("summarised", "AveBedrms", "1"),
                  ("summarised", "Population", "2"), ("complete", "MedInc", "4"))),
        "GPy stops where its expectations are not finite, in four of 280 fits (NameError, as it "
        "does so by a name that is not defined)"),
    "cmp-minibatches": Missing(({"form": "minibatches, learnt inputs, features"},),
                               "a run takes more than five minutes"),
}


@dataclass(frozen=True)
class Drift:
    """How far scores of a run that is done again are from the stored ones, and why.

    Parameters
    ----------
    most : float
        The most that a score moves.
    reason : str
        Why it does.
    everywhere : bool
        Whether it does on every machine; else rounding decides.
    """

    most: float
    reason: str
    everywhere: bool = True


#: Files whose numbers the package of today or another machine changes, though no code of the
#: experiment has changed. A test does a run again and compares it with this.
KNOWN_DRIFT = {
    "summary-bernoulli": Drift(
        6e-4, "rounding decides on which side of an interval's end one of 2,000 places lies",
        everywhere=False),
    "learnt-landmarks": Drift(
        0.03, "with few landmarks the search seldom converges, and where it ends depends on the "
        "machine's rounding: scores move by up to 0.03", everywhere=False),
    "swiss-roll-tests": Drift(
        0.005, "where a search ends depends on the machine's rounding: scores move by 0.003",
        everywhere=False),
}


@dataclass(frozen=True)
class Stored:
    """A file of results beside the preset that it is of.

    Parameters
    ----------
    runs : int
        Of the preset.
    done : int
        Those of them that the file has and that did not fail.
    missing : list of dict
        Settings of the others.
    foreign : list of dict
        Settings of rows that the preset does not have.
    changed : list of dict
        Settings of rows that other code has run.
    unhashed : int
        Rows from before code was hashed.
    errors : tuple of str
        Messages of runs that failed.
    dates : tuple of str
        The first and the last day of its runs, empty if no row has one.
    versions : Mapping
        Packages at the last run.
    settings : tuple of str
        Names of the settings in the file.
    outdated : tuple of str
        Attributes whose text is not the experiment's of today.
    """

    runs: int
    done: int
    missing: list[Settings]
    foreign: list[Settings]
    changed: list[Settings]
    unhashed: int
    errors: tuple[str, ...]
    dates: tuple[str, ...]
    versions: Mapping[str, str]
    settings: tuple[str, ...]
    outdated: tuple[str, ...]


def path_of(name: str, folder: Path) -> Path:
    """The file of an experiment's results in a folder."""
    return folder / f"{name.replace('-', '_')}.nc"


def stored(experiment: Experiment, folder: Path) -> Stored:
    """Compare a file of results with the experiment's preset "paper".

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        Where the file is, under the experiment's name with underscores.

    Returns
    -------
    Stored

    Raises
    ------
    InputError
        If there is no such file, or it holds something else.
    """
    path = path_of(experiment.name, folder)
    results = read_results(path)
    rows, runs = rows_of(experiment, PAPER, results, path), experiment.runs(PAPER)
    done = {key_of(settings) for settings, row in rows if not row[ERROR]}
    wanted = {key_of(settings) for settings in runs}
    old = stale_runs(experiment, rows, runs)
    dates = sorted(str(row[DATE]) for _, row in rows if row[DATE])
    return Stored(
        len(runs), len(done & wanted), [s for s in runs if key_of(s) not in done],
        [s for s, _ in rows if key_of(s) not in wanted], [s for s, code in old if code],
        sum(not row[CODE] for _, row in rows),
        tuple(str(row[ERROR]) for _, row in rows if row[ERROR]),
        (dates[0], dates[-1]) if dates else (), json.loads(results.attrs["versions"]),
        tuple(json.loads(results.attrs["settings"])),
        tuple(outdated_texts(experiment, results.attrs)))


def objections(experiment: Experiment, folder: Path,
               known: Mapping[str, Missing] = KNOWN_MISSING) -> list[str]:
    """Why a file of results is not what its experiment would make today.

    Parameters
    ----------
    experiment : Experiment
    folder : Path
        Where the file is.
    known : Mapping
        Runs that may be missing, by experiment.

    Returns
    -------
    list of str
        Empty if it is whole and fresh, or lacks only what is known to be missing. Rows from before
        code was hashed are no objection: what ran them is not known.
    """
    state, excuse, found = stored(experiment, folder), known.get(experiment.name), []
    if set(state.settings) != set(experiment.runs(PAPER)[0]):
        found.append(f"its settings are {', '.join(state.settings)}")
    if state.foreign:
        found.append(f"{len(state.foreign)} rows are not of the preset: {state.foreign[0]}")
    if state.changed:
        found.append(f"{len(state.changed)} rows are of other code: {state.changed[0]}; do them "
                     "again with --stale")
    if state.outdated:
        found.append(f"its {', '.join(state.outdated)} are not today's; workbench.papers."
                     "refresh_texts, or a run of any of its settings, writes them")
    lacking = [s for s in state.missing if excuse is None or not excuse.holds_of(s)]
    if lacking:
        found.append(f"{len(lacking)} runs are missing: {lacking[0]}")
    if excuse is not None and not state.missing:
        found.append(f"nothing is missing any more, but the list says: {excuse.reason}")
    return found
