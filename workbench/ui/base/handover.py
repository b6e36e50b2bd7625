"""Data that one session hands to another of the same server: by a name that no one can guess, once.

Nothing is written: what is handed over are data in memory, and whoever takes them has them alone.
"""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import xarray as xr

#: How names of data of one's own begin, in addresses of the session that has them.
PREFIX = "handed-"


@dataclass(frozen=True, eq=False)
class Handed:
    """Bagged data, and how a program has them.

    Parameters
    ----------
    title : str
        Their name for people.
    data : xr.Dataset
    program : str
        Python that leaves them as ``ds``, beside the files that it names.
    needed : str
        Which files these are.
    """

    title: str
    data: xr.Dataset = field(repr=False)
    program: str = ""
    needed: str = ""


_WAITING: dict[str, Handed] = {}
_LOCK = threading.Lock()


def offer(handed: Handed) -> str:
    """Put data down for one session to take; the name to give to it."""
    name = PREFIX + secrets.token_hex(16)
    with _LOCK:
        _WAITING[name] = handed
    return name


def claim(name: str) -> Handed | None:
    """Take what was put down under a name; None if nothing was, or it was taken or withdrawn."""
    with _LOCK:
        return _WAITING.pop(name, None)


def withdraw(name: str) -> None:
    """Take back what nobody has claimed."""
    claim(name)
