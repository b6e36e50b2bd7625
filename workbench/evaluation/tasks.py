"""Fits that are scored: run one after the other or in parallel, stored, and resumed."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import numpy as np
import xarray as xr
from tqdm import tqdm

import workbench
from workbench.checks import FitWarning, recorded_warnings, require
from workbench.evaluation.parallel import completed
from workbench.evaluation.storage import load, store

Progress = bool | Callable[[int, int, str], None]


class FoldWarning(FitWarning):
    """A fit failed; what it should have predicted is left out of the comparison of scores."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C while models were scored; ``partial`` holds the results so far, or None.

    Parameters
    ----------
    partial : xr.Dataset or Comparison, optional
        The result of the finished fits; None if there are none.
    done, total : int
        Finished fits, and all fits.
    """

    def __init__(self, partial: object | None, done: int, total: int) -> None:
        super().__init__(f"stopped after {done} of {total} fits; they are kept in .partial")
        self.partial, self.done = partial, done


@dataclasses.dataclass(kw_only=True)
class Outcome:
    """How one fit went.

    Parameters
    ----------
    seconds : float
        Time of the fit.
    note : str
        What the fit warned about.
    error : str
        Why it failed; empty if it did not.
    """

    seconds: float = float("nan")
    note: str = ""
    error: str = ""


class Task(NamedTuple):
    """One fit to run: a description, the file that stores its outcome, and its arguments."""

    what: str
    file: Path | None
    arguments: tuple


class Store:
    """Names of the files that store outcomes, by a hash of everything they depend on.

    Parameters
    ----------
    resume : str, Path or None
        Folder (made if missing); None if nothing is stored.
    ds : xr.Dataset
        The data that the models learn from or are scored on.
    samples, seed : int
        Number of draws, and seed.

    Raises
    ------
    InputError
        If the folder is a file.
    """

    def __init__(self, resume: str | Path | None, ds: xr.Dataset, samples: int, seed: int) -> None:
        self.folder = None if resume is None else Path(resume)
        self.samples, self.seed, self.data = samples, seed, ""
        if self.folder is not None:
            require(not self.folder.is_file(),
                    f"resume={str(self.folder)!r} is a file; give a folder")
            self.folder.mkdir(parents=True, exist_ok=True)
            self.data = data_key(ds)

    def file(self, model, split: np.ndarray) -> Path | None:
        """File for the outcome of a model on one split of the data (integers).

        Parameters
        ----------
        model : model
            What is fitted.
        split : int array
            Folds or groups.

        Returns
        -------
        Path or None
            None if nothing is stored.
        """
        if self.folder is None:
            return None
        shown = repr(model)             # of our models: all options that are not the default
        if " at 0x" in shown:
            shown = joblib.hash(model)
        content = [self.data, type(model).__qualname__, shown,
                   joblib.hash(np.asarray(split, np.int64)), self.samples, self.seed, code_key()]
        return self.folder / f"{hashlib.sha256(json.dumps(content).encode()).hexdigest()}.npz"


def outcomes(function: Callable[..., Outcome], kind: type[Outcome], tasks: Sequence[Task],
             workers: int = 1, progress: Progress = False, limit: bool = True
             ) -> Iterator[Outcome]:
    """Yield the outcome of every task: the stored ones first, then others as they finish.

    Parameters
    ----------
    function : callable
        Importable; ``function(*task.arguments)`` returns an `Outcome`.
    kind : type
        Class of the outcomes.
    tasks : sequence of Task
        What to do. Outcomes without an error are stored in the task's file.
    workers : int
        Number of processes.
    progress : bool or callable
        True for a progress bar; a callable gets (tasks done, number of tasks, last task).
    limit : bool
        Whether linear algebra in this process is limited to one thread.

    Yields
    ------
    Outcome
        As returned by the function.
    """
    finished = [(k, task) for k, task in enumerate(tasks) if task.file and task.file.exists()]
    stored = {k for k, _ in finished}
    left = [(function, k, *task.arguments) for k, task in enumerate(tasks) if k not in stored]
    found = chain(((k, load(task.file, kind)) for k, task in finished),
                  _kept(completed(_run, left, workers, limit), tasks))
    with tqdm(total=len(tasks), disable=progress is not True, unit="fit") as bar:
        for done, (k, outcome) in enumerate(found, start=1):
            yield outcome
            bar.set_description(tasks[k].what)
            bar.update()
            if callable(progress):
                progress(done, len(tasks), tasks[k].what)


def _run(function: Callable[..., Outcome], number: int, *arguments: Any) -> tuple[int, Outcome]:
    return number, function(*arguments)


def _kept(found: Iterator[tuple[int, Outcome]], tasks: Sequence[Task]
          ) -> Iterator[tuple[int, Outcome]]:
    """Store outcomes here: a worker of a cluster may see another disk."""
    for k, outcome in found:
        if tasks[k].file is not None and not outcome.error:
            store(outcome, tasks[k].file)
        yield k, outcome


@contextlib.contextmanager
def attempt(outcome: Outcome) -> Iterator[list[warnings.WarningMessage]]:
    """Record an error and all warnings of the block, so that other tasks can go on.

    Parameters
    ----------
    outcome : Outcome
        Receives the error and the note.

    Yields
    ------
    list
        The warnings, as they are issued. KeyboardInterrupt is not caught.
    """
    with recorded_warnings() as issued:
        try:
            yield issued
        except Exception as error:      # whatever a model raises
            outcome.error = f"{type(error).__name__}: {error}"
    told = (str(w.message) for w in issued
            if not issubclass(w.category, DeprecationWarning | FutureWarning))
    outcome.note = "; ".join(dict.fromkeys(told))


def fitted(model, ds: xr.Dataset, outcome: Outcome):
    """Fit a model and record the time.

    Parameters
    ----------
    model : model
        Anything with ``fit(ds)``.
    ds : xr.Dataset
        Bagged dataset.
    outcome : Outcome
        Receives the seconds.

    Returns
    -------
    Fit
        What the model returns.

    Raises
    ------
    KeyboardInterrupt
        If the fit was interrupted: an unfinished fit must not be scored.
    """
    start = time.perf_counter()
    fit = model.fit(ds)
    if getattr(fit, "cancelled", False):
        raise KeyboardInterrupt
    outcome.seconds = time.perf_counter() - start
    return fit


def model_name(model) -> str:
    """The name of a model in tables and plots."""
    return str(getattr(model, "name", None) or type(model).__name__)


def named(models, make: Callable[[str], object] | None = None) -> dict[str, object]:
    """Models by name.

    Parameters
    ----------
    models : model, list of models, or dict of str to model
        What the user gave.
    make : callable, optional
        Makes a model from its name, where text is allowed.

    Returns
    -------
    dict of str to model
        In the order given.

    Raises
    ------
    InputError
        If there is no model, or two of a list have the same name.
    """
    if isinstance(models, Mapping):
        pairs = [(str(name), model) for name, model in models.items()]
    else:
        several = models if isinstance(models, Iterable) and not isinstance(models, str) else [
            models]
        pairs = [(m if isinstance(m, str) else model_name(m), m) for m in several]
        require(len(dict(pairs)) == len(pairs), "two models share a name among "
                f"{[name for name, _ in pairs]}; give a dict of names")
    require(len(pairs) > 0, "give at least one model")
    return {name: make(model) if make is not None and isinstance(model, str) else model
            for name, model in pairs}


def data_key(ds: xr.Dataset) -> str:
    """Hash of everything that models may learn from: all variables, and attributes of ``value``."""
    digest = hashlib.sha256(json.dumps(ds["value"].attrs, sort_keys=True, default=str).encode())
    for name in sorted(str(n) for n in ds.variables):
        values = ds[name].values
        content = values.tobytes() if values.dtype != object else repr(values.tolist()).encode()
        digest.update(f"{name}{values.dtype}{values.shape}".encode() + content)
    return digest.hexdigest()


@cache
def code_key() -> str:
    """Hash of the package's own modules: results of other versions of the code are not reused."""
    digest, root = hashlib.sha256(), Path(workbench.__file__).parent
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + file.read_bytes())
    return digest.hexdigest()
