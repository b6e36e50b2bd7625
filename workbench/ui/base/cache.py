"""A bounded cache of results on small keys: made once however many ask, and never on arrays."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

from cachetools import LRUCache


class Cache:
    """Keeps the most recently used results; threads that want the same one wait for it.

    Parameters
    ----------
    size : int
        Most results kept.
    """

    def __init__(self, size: int):
        self._kept, self._lock, self._making = LRUCache(size), threading.Lock(), {}

    def __len__(self) -> int:
        return len(self._kept)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._kept

    def peek(self, key: Hashable) -> Any | None:
        """The result if it is there, None if not; never waits."""
        with self._lock:
            return self._kept.get(key)

    def keep(self, key: Hashable, result: Any) -> None:
        """Put a result in, and the least recently used one out if there are too many."""
        with self._lock:
            self._kept[key] = result

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
