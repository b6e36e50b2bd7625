"""Doing the runs of an experiment: one after the other, kept as they end, gone on with later."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import pandas as pd
import xarray as xr
from tqdm import tqdm

from workbench.checks import (
    Cancelled,
    DataWarning,
    InputError,
    choose,
    interrupts_pass,
    require,
    warn,
)
from workbench.evaluation.parallel import completed
from workbench.labelled.record import PACKAGES
from workbench.outputs import versions
from workbench.papers.tools.base import PRESETS, Experiment, Row, Settings
from workbench.papers.tools.fingerprint import fingerprint
from workbench.papers.tools.keeping import kept
from workbench.papers.tools.texts import refresh_texts, texts_of

RUN, ERROR, SECONDS, CODE, DATE = "run", "error", "seconds", "code", "date"
FAILED_AGAIN = "failed_again"
MOST_LISTED = 20
_NO_PACKAGE = ("ImportError", "ModuleNotFoundError")


def run_experiment(
    experiment: Experiment, preset: str = "quick", *, out: Path | None = None,
    only: Mapping[str, str] | None = None, stale: bool = False, progress: bool = False,
    callback: Callable[[int, int], None] | None = None, workers: int = 1,
) -> xr.Dataset:
    """Do the runs of a preset that are not yet in ``out``.

    Parameters
    ----------
    experiment : Experiment
        What to do.
    preset : {"quick", "paper"}
        A small version of the same code, or the full one.
    out : Path, optional
        NetCDF file that keeps the runs as they end: it is written after a run, but not so often
        that writing takes more than a twentieth of the time, and whatever ends the runs. Runs that
        it holds are not done again, unless they failed; its title, source and notes become those
        of today, see `refresh_texts`.
    only : Mapping, optional
        Settings that runs must have, as text: ``{"model": "vbagg-square"}``.
    stale : bool
        Also do those runs again whose code has changed since, or was not hashed then; else a
        `DataWarning` lists them.
    progress : bool
        Show a bar on standard error.
    callback : callable, optional
        ``callback(done, of)`` after each run; it may raise `workbench.Cancelled` to stop
        with what there is.
    workers : int
        Processes, or where a `distributed.Client` is active the workers of its cluster, see
        `workbench.evaluation.parallel.completed`. Runs are stored in the preset's order.

    Returns
    -------
    xr.Dataset
        One entry of ``run`` for each run: its settings, its scores (NaN where a run failed, with
        the message in ``error``), ``seconds``, ``code`` (the hash of its code and settings, see
        `workbench.papers.tools.fingerprint`; empty for runs from before it was kept) and ``date``
        (UTC). Attributes: experiment, preset, source, notes, settings (names of the settings),
        versions; and failed_again, the messages (JSON) of stored runs that were done again and
        failed, whose former scores are kept, also in the file.

    Raises
    ------
    InputError
        On an unknown preset or setting, if nothing is left to do by ``only``, or if ``out`` holds
        another experiment or preset.
    """
    choose("preset", preset, PRESETS)
    todo = _chosen(experiment.runs(preset), only or {})
    rows = stored_rows(experiment, preset, out)
    done = {key_of(settings) for settings, row in rows if not row[ERROR]}
    old = stale_runs(experiment, rows, todo)
    if stale:
        done -= {key_of(settings) for settings, _ in old}
    elif old:
        warn(_told(experiment, old), DataWarning)
    left = [settings for settings in todo if key_of(settings) not in done]
    found = {key_of(settings): row for settings, row in rows}
    order = {key_of(settings): settings for settings, _ in rows} | {
        key_of(settings): settings for settings in left}
    again: list[str] = []

    def results() -> xr.Dataset:
        return _dataset(experiment, preset, [(settings, found[key]) for key, settings in
                                             order.items() if key in found])

    with (tqdm(total=len(left), disable=not progress, desc=experiment.name, unit="run") as bar,
          kept(out, results) as keep):
        finished = completed(_one, [(experiment, settings) for settings in left], workers,
                             limit=False)
        for number, (settings, row) in enumerate(finished, start=1):
            key, failed = key_of(settings), row[ERROR]
            if failed and key in found and not found[key][ERROR]:
                again.append(failed)                # scores are not given up for a message
            elif key not in found or not failed.startswith(_NO_PACKAGE):
                found[key] = row                    # a missing package says nothing of the run
            bar.set_postfix_str(" ".join(str(v) for v in settings.values()))
            bar.update()
            keep()
            try:
                if callback is not None:
                    callback(number, len(left))
            except Cancelled:
                break
    if out is not None and out.exists():
        refresh_texts(experiment, out)
    done_now = results()
    if again:
        warn(f"{len(again)} stored runs of {experiment.name} failed when they were done again; "
             f"what is stored of them is kept: {'; '.join(dict.fromkeys(again))}", DataWarning)
        done_now.attrs[FAILED_AGAIN] = json.dumps(again)
    return done_now


def read_results(path: str | Path) -> xr.Dataset:
    """Stored results of an experiment.

    Raises
    ------
    InputError
        If the file is missing or holds something else.
    """
    path = Path(path)
    require(path.is_file(), f"there are no results at {path}; make them with workbench run "
            "--experiment NAME --preset paper --out FILE.nc")
    now = path.stat()
    results = _read(path.resolve(), (now.st_mtime_ns, now.st_size, now.st_ino)).copy(deep=True)
    require("experiment" in results.attrs, f"{path} holds no results of an experiment")
    return results


@lru_cache(maxsize=64)      # a tenth of a second each, and tables read them time and again
def _read(path: Path, state: tuple[int, ...]) -> xr.Dataset:
    return xr.load_dataset(path, engine="h5netcdf")


def frame(results: xr.Dataset) -> pd.DataFrame:
    """Results as a table of runs, failed ones left out."""
    table = results.to_dataframe().reset_index(drop=True)
    return table[table[ERROR] == ""]


def stale_runs(
    experiment: Experiment, rows: list[tuple[Settings, Row]], runs: list[Settings],
) -> list[tuple[Settings, str]]:
    """Finished runs that other code has done, or code that is not known.

    Parameters
    ----------
    experiment : Experiment
    rows : list
        What is stored: settings and scores.
    runs : list of dict
        The settings that matter.

    Returns
    -------
    list
        Of settings and the hash they are stored with, empty for runs from before code was hashed.
    """
    now = {key_of(settings): fingerprint(experiment, settings) for settings in runs}
    return [(settings, str(row[CODE])) for settings, row in rows
            if not row[ERROR] and now.get(key_of(settings), row[CODE]) not in (row[CODE], "")]


def stored_rows(
    experiment: Experiment, preset: str, out: Path | None,
) -> list[tuple[Settings, Row]]:
    """What a file holds of an experiment: settings and scores of each run.

    Parameters
    ----------
    experiment : Experiment
    preset : {"quick", "paper"}
    out : Path, optional
        Nothing is held if there is no such file.

    Returns
    -------
    list
        With an empty ``code`` and ``date`` for runs from before these were kept.

    Raises
    ------
    InputError
        If it holds another experiment or preset.
    """
    return [] if out is None or not out.exists() else rows_of(
        experiment, preset, read_results(out), out)


def rows_of(
    experiment: Experiment, preset: str, results: xr.Dataset, out: Path,
) -> list[tuple[Settings, Row]]:
    """The runs of results that were read from a file; see `stored_rows`."""
    found = (results.attrs["experiment"], results.attrs["preset"])
    if found != (experiment.name, preset):
        raise InputError(f"{out} holds the results of {found[0]!r} ({found[1]}); choose another "
                         "file")
    names = json.loads(results.attrs["settings"])
    records = results.to_dataframe().to_dict("records")
    return [({n: r[n] for n in names},
             {CODE: "", DATE: ""} | {n: v for n, v in r.items() if n not in names})
            for r in records]


def key_of(settings: Settings) -> str:
    """Settings as text, to tell runs apart; numbers as they print."""
    return json.dumps({k: str(v) for k, v in settings.items()}, sort_keys=True)


def _told(experiment: Experiment, old: list[tuple[Settings, str]]) -> str:
    changed = [settings for settings, code in old if code]
    shown = "; ".join(" ".join(f"{k}={v}" for k, v in settings.items())
                      for settings in changed[:MOST_LISTED])
    more = len(changed) - MOST_LISTED
    parts = [f"{len(changed)} were run by other code than today's: {shown}"
             + (f"; and {more} more" if more > 0 else "")] if changed else []
    if unknown := len(old) - len(changed):
        parts.append(f"{unknown} were run before their code was hashed")
    return (f"of the stored runs of {experiment.name}, {', and '.join(parts)}. They are kept; "
            "stale=True (--stale) does them again")


def _chosen(runs: list[Settings], only: Mapping[str, str]) -> list[Settings]:
    for name, value in only.items():
        choose("setting of the experiment", name, list(runs[0]))
        known = sorted({str(settings[name]) for settings in runs if name in settings})
        choose(f"value of {name}", str(value), known)
    chosen = [s for s in runs if all(str(s[n]) == str(v) for n, v in only.items())]
    require(bool(chosen), f"no run has all of {dict(only)}")
    return chosen


def _one(experiment: Experiment, settings: Settings) -> tuple[Settings, Row]:
    started = time.perf_counter()
    try:
        with interrupts_pass():         # else a fit that was stopped half way would be scored
            row = experiment.score(dict(settings))
        row[ERROR] = ""
    except Cancelled:
        raise
    except Exception as error:          # the other runs must not be lost
        row = {ERROR: f"{type(error).__name__}: {error}"}
    row[SECONDS] = time.perf_counter() - started
    row[CODE] = fingerprint(experiment, settings)
    row[DATE] = datetime.now(UTC).date().isoformat()
    return settings, row


def _dataset(experiment: Experiment, preset: str, rows: list[tuple[Settings, Row]]) -> xr.Dataset:
    table = pd.DataFrame([settings | row for settings, row in rows])
    names = list(dict.fromkeys(name for settings, _ in rows for name in settings))
    texts = [c for c in table.columns if table[c].dtype == object]
    table[texts] = table[texts].fillna("").astype(str)
    results = xr.Dataset({name: (RUN, table[name].to_numpy()) for name in table.columns})
    for name in texts:
        results[name] = results[name].astype(str)
    results.attrs = {
        "experiment": experiment.name, "preset": preset, **texts_of(experiment),
        "settings": json.dumps(names), "versions": json.dumps(versions(*PACKAGES))}
    return results
