"""One task of cross-validation: fit without a fold and score it; and where that is kept."""

from __future__ import annotations

import dataclasses
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.evaluation.folds import subset
from workbench.evaluation.units import judge


@dataclasses.dataclass
class HeldOut:
    """What came of one model fitted without one fold."""

    model: str
    number: int                                         # of the fold
    units: dict[str, xr.Dataset] | None = None          # by target, or None if it failed
    seconds: float = float("nan")
    error: str = ""
    warned: list[tuple] = dataclasses.field(default_factory=list)

    @property
    def note(self) -> str:
        """Warnings of the fit, each once."""
        return "; ".join(dict.fromkeys(text for text, category, *_ in self.warned if not
                                       issubclass(category, DeprecationWarning | FutureWarning)))


def hold_out(name: str, model, number: int, ds: xr.Dataset, fold: np.ndarray, targets: list[str],
             samples: int, seed: int, file: Path | None) -> HeldOut:
    """Fit without a fold and score it; errors of the model are kept in the result.

    Parameters
    ----------
    name : str
        Of the model.
    model : model
        Anything with ``fit(ds)``.
    number : int
        The fold that is held out.
    ds : xr.Dataset
        Bagged dataset.
    fold : int array (bag,)
    targets : list of str
        What is scored, see `workbench.evaluation.units`.
    samples, seed : int
        Draws from each predictive distribution, and the seed of all tasks.
    file : Path, optional
        Where to keep the result, if it did not fail.

    Raises
    ------
    KeyboardInterrupt
        If the fit was stopped: half a fit must not be scored.
    """
    done, held_out = HeldOut(name, number), fold == number
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            fit = model.fit(subset(ds, ~held_out))
            if getattr(fit, "cancelled", False):    # Ctrl-C inside the fit, which kept its best
                raise KeyboardInterrupt
            done.seconds = time.perf_counter() - start
            test = subset(ds, held_out)
            judged = judge(fit, test, targets, samples, seed + int(number))
            done.units = {target: one.reset_coords(drop=True) for target, one in judged.items()}
        except Exception as error:  # whatever a model raises, the other folds must survive
            done.units, done.error = None, f"{type(error).__name__}: {error}"
    done.warned = [(str(w.message), w.category, w.filename, w.lineno) for w in said]
    if file is not None and done.units is not None:
        keep(done, file)
    return done


def keep(done: HeldOut, file: Path) -> None:
    """Write a result, whole or not at all."""
    half = file.with_suffix(f".{os.getpid()}.half")
    about = xr.Dataset(attrs={"seconds": done.seconds, "note": done.note,
                              "targets": json.dumps(list(done.units))})
    about.to_netcdf(half, engine="h5netcdf")
    for target, units in done.units.items():
        units.to_netcdf(half, group=target, mode="a", engine="h5netcdf")
    os.replace(half, file)


def kept(name: str, number: int, file: Path) -> HeldOut:
    """Read what `keep` wrote."""
    with xr.open_dataset(file, engine="h5netcdf") as about:
        found = dict(about.attrs)
    units = {}
    for target in json.loads(found["targets"]):
        with xr.open_dataset(file, group=target, engine="h5netcdf") as stored:
            units[target] = stored.load()
    warned = [(found["note"], UserWarning, "", 0)] if found["note"] else []
    return HeldOut(name, number, units, float(found["seconds"]), warned=warned)
