"""One conversion of a dataset for all that is asked of fits about it, one call after another."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import xarray as xr

from workbench import schema
from workbench.labelled.source import Converted

_LAST: ContextVar[dict[str, Converted] | None] = ContextVar("last", default=None)


@contextmanager
def converted_once() -> Iterator[None]:
    """Inside, calls one after another on one and the same dataset check and convert it once.

    The dataset must stay as it is meanwhile; only the last one is kept. Inside another it changes
    nothing.
    """
    if _LAST.get() is not None:
        yield
        return
    token = _LAST.set({})
    try:
        yield
    finally:
        _LAST.reset(token)


def converted(ds: xr.Dataset) -> Converted:
    """A dataset checked, with values or without, and converted; see `converted_once`."""
    last = _LAST.get()
    if last is not None and "data" in last and last["data"].ds is ds:
        return last["data"]
    data = Converted(schema.check(ds, valued=False))
    if last is not None:
        last["data"] = data
    return data
