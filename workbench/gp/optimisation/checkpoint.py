"""Where checkpoints of fits are kept, and which belongs to which fit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy
import torch

from workbench.gp.numerics.recent import content_key
from workbench.gp.optimisation.trails import Checkpoint

EVERY = 10.0                # seconds between two writings, and before the first
SUFFIX = ".ckpt"


@dataclass(frozen=True)
class Place:
    """Where checkpoints are kept: a folder, seconds between writings, and what they depend on."""

    folder: Path
    every: float
    depends: str = ""


_place: ContextVar[Place | None] = ContextVar("place", default=None)
_open: ContextVar[Checkpoint | None] = ContextVar("checkpoint", default=None)


def place() -> Place | None:
    """Where checkpoints are kept at present, as another process can take it; None if nowhere."""
    return _place.get()


@contextlib.contextmanager
def kept(where: Place | None) -> Iterator[None]:
    """Within it every fit keeps its searches there; nowhere for None."""
    token = _place.set(where)
    try:
        yield
    finally:
        _place.reset(token)


@contextlib.contextmanager
def checkpoints(folder: str | Path, every: float = EVERY) -> Iterator[None]:
    """Within it a fit that was killed goes on where it was, if the same code runs again.

    The result is that of a fit that was never killed, bit for bit, on one machine with one number
    of threads. What is kept belongs to the data, the options, the versions and the threads: others
    begin anew. This holds for searches by L-BFGS where all that a search carries is known: the
    variational models, those with a closed form, and the candidates of `Auto`; others (by adam,
    or over products of functions) begin anew. The command line does the same by itself, in the
    folder ``OUT.resume``. A block that ends removes its files.

    Parameters
    ----------
    folder : str or Path
        Where to keep them; it is made if it is missing.
    every : float
        Seconds between two writings, and before the first.

    Returns
    -------
    context manager
        Of nothing.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
    >>> with wb.checkpoints("kept-fits"):
    ...     fit = wb.VBAgg(kernel="linear").fit(ds)
    """
    folder = Path(folder)
    with kept(Place(folder, every)):
        yield
    clear(folder)


def clear(folder: Path) -> None:
    """Remove the checkpoints in a folder, and the folder if nothing else is in it."""
    for file in folder.glob(f"*{SUFFIX}"):
        file.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()


@contextlib.contextmanager
def opened(*depends) -> Iterator[None]:
    """Within it the searches of one fit are kept, if there is a place.

    Parameters
    ----------
    *depends
        All that the fit depends on, of the kinds of `content_key`. A fit that depends on others,
        such as a kernel object, is not kept.
    """
    where, found = _place.get(), None
    if where is not None:
        with contextlib.suppress(TypeError):
            found = Checkpoint(where.folder / f"fit-{_key(where, depends)}{SUFFIX}", where.every)
    token = _open.set(found)
    try:
        yield
    finally:
        _open.reset(token)


@contextlib.contextmanager
def unkept() -> Iterator[None]:
    """Within it the present fit is not kept."""
    token = _open.set(None)
    try:
        yield
    finally:
        _open.reset(token)


def current() -> Checkpoint | None:
    """The checkpoint of the present fit, None without one."""
    return _open.get()


def _key(where: Place, depends: tuple) -> str:
    if any(isinstance(one, str) and " at 0x" in one for one in depends):
        raise TypeError("an object without content")
    return content_key((where.depends, depends, torch.__version__, scipy.__version__,
                        np.__version__, torch.get_num_threads()))
