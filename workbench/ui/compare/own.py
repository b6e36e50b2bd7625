"""Data that *disaggregate* hands over: offered to one session, and forgotten with it."""

from __future__ import annotations

from workbench.ui.base import handover
from workbench.ui.base.handover import Handed
from workbench.ui.compare.catalogue import Data, offered

_TAKEN: dict[str, Data] = {}


def take(name: str) -> Data | None:
    """The data handed over under a name, which no other session gets.

    Parameters
    ----------
    name : str
        As of an address.

    Returns
    -------
    Data or None
        None if there are none, or another session has them.
    """
    handed = handover.claim(name)
    if handed is None:
        return None
    _TAKEN[name] = described(name, handed)
    return _TAKEN[name]


def described(name: str, handed: Handed) -> Data:
    """How the app offers data that were handed over."""
    from workbench.schema import counts_add_up

    ds = handed.data
    return Data(handed.title, name, fine="truth" in ds or "individual_value" in ds,
                counts=counts_add_up(ds), handed=handed)


def data_named(name: str) -> Data:
    """A dataset by its name in an address, of the catalogue or handed over."""
    return _TAKEN[name] if name in _TAKEN else offered()[name]


def is_taken(name: str) -> bool:
    """Whether a name is that of data handed over to a session that is still there."""
    return name in _TAKEN


def forget(name: str) -> None:
    """Let go of data that were handed over: their session is over."""
    _TAKEN.pop(name, None)
