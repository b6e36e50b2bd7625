"""A file of plain facts and arrays: a zip of JSON and safetensors, in which no code can hide.

An archive has two members, ``fit.json`` and ``tensors.safetensors``; any other is refused, and so
is what unpacks to more than a limit. Nothing is ever unpacked to a name that the file gives.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from workbench.checks import InputError, reading, require
from workbench.outputs import write_bytes

FACTS, TENSORS = "fit.json", "tensors.safetensors"
#: Bytes that an archive may unpack to, unless a reader is told otherwise.
LIMIT = 4 * 2**30
_MOST_FACTS = 256 * 2**20
_EPOCH = (1980, 1, 1, 0, 0, 0)      # the same fit makes the same file


def write_archive(path: str | Path, facts: Mapping, tensors: Mapping[str, np.ndarray]) -> None:
    """Write facts and arrays to one file; an old one of that name is replaced at the end.

    Parameters
    ----------
    path : str or Path
        Where.
    facts : mapping
        What JSON knows.
    tensors : mapping of str to ndarray
        Numbers of any shape.
    """
    from safetensors.numpy import save

    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (
                (FACTS, json.dumps(facts, indent=1).encode()),
                (TENSORS, save({k: np.asarray(v, order="C") for k, v in tensors.items()}))):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, content)
    write_bytes(path, packed.getbuffer())


def read_archive(path: str | Path, limit: int = LIMIT) -> tuple[dict, dict[str, np.ndarray]]:
    """Facts and arrays of a file that `write_archive` wrote.

    Parameters
    ----------
    path : str or Path
        The file.
    limit : int
        Most bytes that it may unpack to.

    Returns
    -------
    facts : dict
    tensors : dict of str to ndarray

    Raises
    ------
    InputError
        If it is no such file, holds anything else, or unpacks to more than the limit.
    """
    from safetensors.numpy import load

    path = Path(path)
    require(path.is_file(), f"there is no file {str(path)!r}; check the name and the folder")
    with reading(path, "a stored fit", "a file that fit.save or --save-fit wrote"):
        with zipfile.ZipFile(path) as archive:
            held = {info.filename: info for info in archive.infolist()}
            require(held.keys() == {FACTS, TENSORS} and len(archive.infolist()) == 2,
                    f"{str(path)!r} is no stored fit: expected {FACTS} and {TENSORS} in it, found "
                    f"{', '.join(sorted(held)[:5]) or 'nothing'}")
            size = sum(info.file_size for info in held.values())
            require(size <= limit and held[FACTS].file_size <= _MOST_FACTS,
                    f"{str(path)!r} unpacks to {size / 2**20:,.0f} MiB, more than the limit of "
                    f"{limit / 2**20:,.0f} MiB; if it is yours, pass a larger limit")
            facts, tensors = _json(archive.read(FACTS)), load(archive.read(TENSORS))
    require(isinstance(facts, dict), f"{FACTS} in {str(path)!r} holds no JSON object")
    return facts, tensors


def _json(content: bytes) -> object:
    try:
        return json.loads(content)
    except RecursionError as error:
        raise InputError(f"{FACTS} is nested too deeply to be a fit") from error


def plain(value: object, role: str) -> object:
    """A value as JSON has it; arrays and tuples become lists.

    Parameters
    ----------
    value : object
        Numbers, text, and collections of them.
    role : str
        What it is, for the message.

    Raises
    ------
    InputError
        If it holds anything else, such as a kernel object or a function.
    """
    if isinstance(value, Mapping):
        return {str(k): plain(v, f"{role}[{k!r}]") for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v, role) for v in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), role)
    require(value is None or isinstance(value, str | bool | int | float),
            f"{role} is a {type(value).__name__}, which a file without code cannot hold; give it "
            "as text or numbers (kernels: kernel='linear+matern32') and fit again")
    return value
