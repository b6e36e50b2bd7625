"""One task of cross-validation: fit without a fold and score it; and where that is kept."""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import xarray as xr

from workbench.evaluation.folds import subset
from workbench.evaluation.tasks import Outcome, attempt, fitted, written
from workbench.evaluation.units import judge


@dataclasses.dataclass
class HeldOut(Outcome):
    """What came of one model fitted without one fold."""

    model: str
    number: int                                         # of the fold
    units: dict[str, xr.Dataset] | None = None          # by target, or None if it failed
    warned: list[tuple] = dataclasses.field(default_factory=list)   # text, category, file, line


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
    with attempt(done) as said:
        fit = fitted(model, subset(ds, ~held_out), done)
        test = subset(ds, held_out)
        judged = judge(fit, test, targets, samples, seed + int(number))
        done.units = {target: one.reset_coords(drop=True) for target, one in judged.items()}
    done.warned = [(str(w.message), w.category, w.filename, w.lineno) for w in said]
    if file is not None and done.units is not None:
        keep(done, file)
    return done


def keep(done: HeldOut, file: Path) -> None:
    """Write a result, whole or not at all."""
    about = xr.Dataset(attrs={"seconds": done.seconds, "note": done.note,
                              "targets": json.dumps(list(done.units))})
    content = io.BytesIO()          # in memory, for HDF5 crashes the interpreter if a disk is full
    about.to_netcdf(content, engine="h5netcdf")
    for target, units in done.units.items():
        units.to_netcdf(content, group=target, mode="a", engine="h5netcdf")
    with written(file) as half:
        half.write_bytes(content.getbuffer())


def kept(name: str, number: int, file: Path) -> HeldOut:
    """Read what `keep` wrote."""
    with xr.open_dataset(file, engine="h5netcdf") as about:
        found = dict(about.attrs)
    units = {}
    for target in json.loads(found["targets"]):
        with xr.open_dataset(file, group=target, engine="h5netcdf") as stored:
            units[target] = stored.load()
    return HeldOut(name, number, units, seconds=float(found["seconds"]), note=found["note"])
