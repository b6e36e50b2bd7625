"""Results of pure functions that several models ask for in turn, kept while they are recent.

The candidates of one mixture, and the groupings they are weighed by, look at the same standardised
inputs: clusters, inducing inputs and the flat model's objective of these are found once.
"""

from __future__ import annotations

import hashlib
import math
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from threading import Lock
from typing import TypeVar

from cachetools import LRUCache
from torch import Tensor

Found = TypeVar("Found")

# Bytes of arguments above which nothing is kept: the results may be as large.
_LARGEST = 200_000_000
_PLAIN = (str, bytes, int, float, type(None))


class ResultCache:
    """The last results of a pure function, by the content of its arguments.

    Parameters
    ----------
    most : int
        Results that are kept.
    """

    def __init__(self, most: int):
        self._found, self._lock = LRUCache(most), Lock()

    def get(self, compute: Callable[[], Found], *arguments) -> Found:
        """The kept result for equal arguments, or a new one. Nobody may change it in place.

        Parameters
        ----------
        compute : callable
            Of no arguments.
        *arguments
            All that the result depends on: tensors, numbers, texts, and dataclasses, tuples, lists
            and mappings of them. Of anything else, and of very large data, nothing is kept.
        """
        try:
            key = content_key(arguments, _LARGEST)
        except (TypeError, OverflowError):
            return compute()
        with self._lock:
            if key in self._found:
                return self._found[key]
        found = compute()
        with self._lock:
            self._found[key] = found
        return found


class LastResult:
    """The last result of a function of objects that are not copied, kept as long as they live."""

    def __init__(self):
        self._last: tuple[tuple[weakref.ref, ...], object] = (), None

    def get(self, compute: Callable[[], Found], *objects) -> Found:
        """The kept result for the very same objects, or a new one. Nobody may change it in place.

        Parameters
        ----------
        compute : callable
            Of no arguments.
        *objects
            All that the result depends on; nobody may change them in place either.
        """
        known, found = self._last
        if len(known) == len(objects) and all(
                ref() is one for ref, one in zip(known, objects, strict=True)):
            return found
        found = compute()
        self._last = tuple(weakref.ref(one) for one in objects), found
        return found

    def __reduce__(self):
        return LastResult, ()       # a copy, of other objects, begins with nothing


def content_key(arguments: tuple, largest: float = math.inf) -> str:
    """A name of all that tells arguments apart: hexadecimal digits.

    Parameters
    ----------
    arguments : tuple
        As of `ResultCache.get`.
    largest : float
        Bytes above which none is made.

    Raises
    ------
    TypeError
        If anything of another kind is among them.
    OverflowError
        If they are larger.
    """
    digest, size = hashlib.blake2b(digest_size=20), 0
    for part in _content(arguments):
        size += len(part)
        if size > largest:
            raise OverflowError
        digest.update(part)
    return digest.hexdigest()


def _content(one) -> Iterator[bytes | memoryview]:
    """All that tells one argument from another."""
    if isinstance(one, Tensor):
        yield f"tensor {one.dtype} {one.device} {tuple(one.shape)};".encode()
        yield one.detach().cpu().contiguous().numpy().reshape(-1).view("uint8").data
    elif isinstance(one, _PLAIN):
        yield f"{type(one).__name__} {one!r};".encode()
    elif is_dataclass(one) and not isinstance(one, type):
        yield f"{type(one).__qualname__}(".encode()
        for entry in fields(one):
            yield from _content(getattr(one, entry.name))
        yield b")"
    elif isinstance(one, tuple | list):
        yield f"{len(one)}[".encode()
        for entry in one:
            yield from _content(entry)
    elif isinstance(one, Mapping):
        yield f"{len(one)}{{".encode()
        for name, entry in one.items():
            yield from _content((name, entry))
    else:
        raise TypeError(f"{type(one).__name__} has no content to compare")
