"""A file of results that is written as runs end, and whatever ends them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import xarray as xr

from workbench.outputs import write_bytes

PAUSE = 20              # between two writings of the file, in times of what one takes


@contextlib.contextmanager
def kept(out: Path | None, results: Callable[[], xr.Dataset]) -> Iterator[Callable[[], None]]:
    """Yield what is to be called after each run: it writes, unless the last time is too near.

    A file of a thousand runs takes a third of a second, as long as many a run. What has not been
    written is when the block ends, also by an error or an interrupt; the command line makes one of
    every signal that can be caught.

    Parameters
    ----------
    out : Path, optional
        Nothing is written without it.
    results : callable
        All there is to write.
    """
    due, waiting = 0.0, False

    def write() -> None:
        nonlocal due, waiting
        started = time.perf_counter()
        # Replaced in one step: a stop in the middle must not lose what the file held.
        write_bytes(out, results().to_netcdf(engine="h5netcdf"))
        ended = time.perf_counter()
        due, waiting = ended + PAUSE * (ended - started), False

    def keep() -> None:
        nonlocal waiting
        waiting = out is not None
        if waiting and time.perf_counter() >= due:
            write()

    try:
        yield keep
    finally:
        if waiting:
            write()
