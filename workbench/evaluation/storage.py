"""Outcomes of fits as files: values, arrays and Datasets in one .npz; nothing is unpickled."""

from __future__ import annotations

import builtins
import dataclasses
import io
import json
from pathlib import Path

import numpy as np
import xarray as xr

from workbench import checks
from workbench.outputs import replacing

_ABOUT, _ARRAY, _DATASET = "about", "array", "dataset"


def store(outcome, file: Path) -> None:
    """Write an outcome, whole or not at all.

    Parameters
    ----------
    outcome : dataclass
        Its fields are plain values, arrays, mappings of Datasets, or warnings as tuples of text
        and category.
    file : Path
        To write, with the suffix ``.npz``.
    """
    about, content = {}, {}
    for field in dataclasses.fields(outcome):
        value = getattr(outcome, field.name)
        if isinstance(value, np.ndarray):
            content[f"{_ARRAY} {field.name}"] = value
        elif isinstance(value, dict):
            about[field.name] = list(value)
            for name, one in value.items():
                content[f"{_DATASET} {field.name} {name}"] = np.frombuffer(
                    bytes(one.to_netcdf(engine="h5netcdf")), np.uint8)
        elif isinstance(value, list):
            about[field.name] = [[text, category.__name__] for text, category in value]
        else:
            about[field.name] = value
    with replacing(file) as half, half.open("wb") as stream:
        np.savez_compressed(stream, **{_ABOUT: np.array(json.dumps(about))}, **content)


def load(file: Path, kind: type):
    """Read what `store` wrote.

    Parameters
    ----------
    file : Path
        As given to `store`.
    kind : type
        The dataclass of the outcome.

    Returns
    -------
    kind
        An outcome equal to the stored one.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    with checks.reading(file, "a stored outcome", "to remove it and to run again: it is then "
                        "computed anew"), np.load(file, allow_pickle=False) as stored:
        values = json.loads(str(stored[_ABOUT]))
        for entry in stored.files:
            what, _, name = entry.partition(" ")
            if what == _ARRAY:
                values[name] = stored[entry]
        for name, value in values.items():
            if isinstance(value, list) and all(isinstance(one, list) for one in value):
                values[name] = [(text, _category(category)) for text, category in value]
            elif isinstance(value, list):
                values[name] = {one: xr.load_dataset(
                    io.BytesIO(stored[f"{_DATASET} {name} {one}"].tobytes()), engine="h5netcdf")
                    for one in value}
        return kind(**values)


def _category(name: str) -> type[Warning]:
    """The class of a warning by name; `FitWarning` for those of other packages."""
    found = getattr(checks, name, getattr(builtins, name, None))
    known = isinstance(found, type) and issubclass(found, Warning)
    return found if known else checks.FitWarning
