"""What all tasks of scoring share: a fit whose errors and warnings are kept, and stored results."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import time
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import joblib
import numpy as np
import xarray as xr

import workbench
from workbench.checks import require


@dataclasses.dataclass(kw_only=True)
class Outcome:
    """How one fit went: its time, what it warned of, and why it failed (empty if it did not)."""

    seconds: float = float("nan")
    note: str = ""
    error: str = ""


@contextlib.contextmanager
def attempt(done: Outcome) -> Iterator[list[warnings.WarningMessage]]:
    """Keep an error and all warnings of the block in ``done``; other tasks must survive.

    Yields the warnings, as they come. Ctrl-C passes.
    """
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            yield said
        except Exception as error:      # whatever a model raises
            done.error = f"{type(error).__name__}: {error}"
    told = (str(w.message) for w in said
            if not issubclass(w.category, DeprecationWarning | FutureWarning))
    done.note = "; ".join(dict.fromkeys(told))


def fitted(model, ds: xr.Dataset, done: Outcome):
    """Fit a model and note the time.

    Raises
    ------
    KeyboardInterrupt
        If the fit was stopped and kept its best: half a fit must not be scored.
    """
    start = time.perf_counter()
    fit = model.fit(ds)
    if getattr(fit, "cancelled", False):
        raise KeyboardInterrupt
    done.seconds = time.perf_counter() - start
    return fit


def data_key(ds: xr.Dataset) -> str:
    """Hash of all that models may learn from."""
    digest = hashlib.sha256(json.dumps(ds["value"].attrs, sort_keys=True, default=str).encode())
    for name in sorted(str(n) for n in ds.variables):
        values = ds[name].values
        content = values.tobytes() if values.dtype != object else repr(values.tolist()).encode()
        digest.update(f"{name}{values.dtype}{values.shape}".encode() + content)
    return digest.hexdigest()


def task_key(data: str, model, groups: np.ndarray, samples: int, seed: int) -> str:
    """Hash of data, model, groups, number of draws, seed and code: equal tasks, equal keys."""
    shown = repr(model)                 # of our models: all options that are not the default
    if " at 0x" in shown:
        shown = joblib.hash(model)
    content = [data, type(model).__qualname__, shown, joblib.hash(np.asarray(groups, np.int64)),
               samples, seed, code_key()]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


@cache
def code_key() -> str:
    """Hash of the package's own modules: what other code made is not taken up."""
    digest, root = hashlib.sha256(), Path(workbench.__file__).parent
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + file.read_bytes())
    return digest.hexdigest()


def folder_of(resume: str | Path | None) -> Path | None:
    """The folder where finished tasks are kept, made if it is missing.

    Raises
    ------
    InputError
        If it is a file.
    """
    if resume is None:
        return None
    folder = Path(resume)
    require(not folder.is_file(), f"resume={str(folder)!r} is a file; give a folder")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def written(file: Path) -> Iterator[Path]:
    """A path to write to, which becomes ``file`` at the end: it is there whole or not at all."""
    half = file.with_suffix(f".{os.getpid()}.half")
    yield half
    os.replace(half, file)


def keep(done: Outcome, file: Path, array: str, *texts: str) -> None:
    """Write an array of a result, its time and note, and further texts, all by name."""
    about = {name: getattr(done, name) for name in ("seconds", "note", *texts)}
    with written(file) as half, half.open("wb") as stream:
        np.savez_compressed(stream, about=np.array(json.dumps(about)),
                            **{array: getattr(done, array)})


def kept(file: Path) -> dict[str, object]:
    """Read what `keep` wrote, by name."""
    with np.load(file) as stored:
        arrays = {name: stored[name] for name in stored.files if name != "about"}
        return arrays | json.loads(str(stored["about"]))
