"""One task of coarsen and recover: merge, fit one model, draw the areas; and where it is kept."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import time
import warnings
import zlib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import joblib
import numpy as np
import xarray as xr

from workbench.checks import require
from workbench.evaluation.conditioning import area_draws, coarsen


@dataclasses.dataclass
class Recovery:
    """What came of one model fitted to the groups of one level and draw."""

    model: str
    level: int                          # positions among the levels and draws
    draw: int
    draws: np.ndarray | None = None     # (sample, area), or None if it failed
    seconds: float = float("nan")
    how: str = ""
    note: str = ""
    error: str = ""
    hyperparameters: str = ""           # of the fit, as JSON


def recover_one(place: tuple[str, int, int], model, ds: xr.Dataset, groups: np.ndarray,
                samples: int, seed: int, file: Path | None) -> Recovery:
    """Merge, fit, draw; errors of the model are kept in the result, and so are its warnings.

    Parameters
    ----------
    place : (str, int, int)
        Name of the model, level, draw.
    model : model
        Anything with ``fit(ds)``.
    ds : xr.Dataset
        Areas, `bare`.
    groups : int array (area,)
    samples, seed : int
        Draws of the areas, and the seed of all tasks.
    file : Path, optional
        Where to keep the result, if it did not fail.

    Raises
    ------
    KeyboardInterrupt
        If the fit was stopped: half a fit must not be scored.
    """
    done = Recovery(*place)
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            merged = coarsen(ds, groups)
            fit = model.fit(merged)
            if getattr(fit, "cancelled", False):
                raise KeyboardInterrupt
            done.seconds = time.perf_counter() - start
            drawn, done.how = area_draws(fit, merged, samples, seed_of(seed, groups))
            require(bool(np.isfinite(drawn).all()), "draws of the areas are not all finite")
            done.draws = _small(drawn)
            done.hyperparameters = json.dumps(getattr(fit, "hyperparameters", {}), default=repr)
        except Exception as error:  # whatever a model raises, the other tasks must survive
            done.draws, done.error = None, f"{type(error).__name__}: {error}"
    told = (str(w.message) for w in said
            if not issubclass(w.category, DeprecationWarning | FutureWarning))
    done.note = "; ".join(dict.fromkeys(told))
    if file is not None and done.draws is not None:
        keep(done, file)
    return done


def seed_of(seed: int, groups: np.ndarray) -> int:
    """Seed of the draws for one grouping: the same for all models, in whatever order they come."""
    code = zlib.crc32(np.ascontiguousarray(groups, dtype=np.int64).tobytes())
    return int(np.random.SeedSequence([seed, code]).generate_state(1)[0] >> 1)


def started(model, name: str, values: Mapping):
    """The model, starting from hyperparameters by name, in natural units.

    Raises
    ------
    InputError
        If it has no option ``initial``.
    """
    options = getattr(model, "options", None)
    known = dataclasses.is_dataclass(options) and hasattr(options, "initial")
    require(known, f"the model {name!r} has no option 'initial', so it cannot start from given "
                   "hyperparameters; leave it out of warm")
    given = {f.name: getattr(options, f.name) for f in dataclasses.fields(options) if f.init}
    return type(model)(**given | {"initial": dict(given["initial"]) | dict(values)})


def data_key(ds: xr.Dataset) -> str:
    """Hash of all that models may learn from."""
    digest = hashlib.sha256(json.dumps(ds["value"].attrs, sort_keys=True, default=str).encode())
    for name in sorted(str(n) for n in ds.variables):
        values = ds[name].values
        content = values.tobytes() if values.dtype != object else repr(values.tolist()).encode()
        digest.update(f"{name}{values.dtype}{values.shape}".encode() + content)
    return digest.hexdigest()


def task_key(data: str, model, groups: np.ndarray, samples: int, seed: int) -> str:
    """Hash of data, model, groups, number of draws, seed and version: equal tasks, equal keys."""
    try:
        ours = version("aggregate-workbench")
    except PackageNotFoundError:
        ours = ""
    shown = repr(model)                 # of our models: all options that are not the default
    if " at 0x" in shown:
        shown = joblib.hash(model)
    content = [data, type(model).__qualname__, shown, joblib.hash(np.asarray(groups, np.int64)),
               samples, seed, ours]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


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


def keep(done: Recovery, file: Path) -> None:
    """Write a result, whole or not at all."""
    half = file.with_suffix(f".{os.getpid()}.half")
    about = {"seconds": done.seconds, "how": done.how, "note": done.note,
             "hyperparameters": done.hyperparameters}
    with half.open("wb") as stream:
        np.savez_compressed(stream, draws=done.draws, about=np.array(json.dumps(about)))
    os.replace(half, file)


def kept(place: tuple[str, int, int], file: Path) -> Recovery:
    """Read what `keep` wrote."""
    with np.load(file) as stored:
        return Recovery(*place, draws=stored["draws"], **json.loads(str(stored["about"])))


def _small(drawn: np.ndarray) -> np.ndarray:
    """Single precision, where nothing is lost by it: whole numbers up to 16 million."""
    half = drawn.astype(np.float32)
    return half if (half == drawn).all() else drawn
