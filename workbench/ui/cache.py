"""A bounded cache of results on small keys: made once however many ask, and never on arrays."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any


class Cache:
    """Keeps the most recently used results; threads that want the same one wait for it.

    Parameters
    ----------
    size : int
        Most results kept.
    """

    def __init__(self, size: int):
        self._size, self._kept = size, OrderedDict()
        self._lock, self._making = threading.Lock(), {}

    def __len__(self) -> int:
        return len(self._kept)

    def peek(self, key: Hashable) -> Any | None:
        """The result if it is there, None if not; never waits."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def keep(self, key: Hashable, result: Any) -> None:
        """Put a result in, and the least recently used one out if there are too many."""
        with self._lock:
            self._kept[key] = result
            self._kept.move_to_end(key)
            while len(self._kept) > self._size:
                self._kept.popitem(last=False)

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """The result of a key, made if it is not there; a failure is not kept."""
        found = self.peek(key)
        if found is not None:
            return found
        with self._lock:
            lock = self._making.setdefault(key, threading.Lock())
        with lock:
            found = self.peek(key)
            if found is None:
                found = make()
                self.keep(key, found)
        with self._lock:
            self._making.pop(key, None)
        return found
