"""How long the fits that are left will take, by those that are done."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from workbench.labelled.timing import duration

_STORED = 0.05          # seconds below which a fit was only read


class Clock:
    """Time left of many fits of several models, of which some take much longer than others.

    What passes between the end of one fit and of the next is counted of the model that has ended:
    with several processes, too, these times add up to what has passed.

    Parameters
    ----------
    left : mapping of str to int
        Fits by model.
    guesses : mapping of str to float
        Seconds of a fit, of models that have none finished; of others nothing is guessed.
    now : callable
        The present time in seconds.

    Examples
    --------
    >>> times = iter([0.0, 1.0, 31.0])
    >>> clock = Clock({"split": 3, "auto": 3}, {"auto": 40.0}, lambda: next(times))
    >>> clock.done("split")
    >>> clock.left()
    122.0
    >>> clock.done("auto")
    >>> clock.told()
    'about 62 s left'
    """

    def __init__(self, left: Mapping[str, int], guesses: Mapping[str, float],
                 now: Callable[[], float] = time.perf_counter) -> None:
        self._left, self._guesses = dict(left), dict(guesses)
        self._spent: dict[str, list[float]] = {name: [] for name in left}
        self._now, self._last = now, now()

    def done(self, name: str) -> None:
        """One fit of a model has ended.

        Parameters
        ----------
        name : str
            Of the model.
        """
        now = self._now()
        self._left[name] -= 1
        if now - self._last > _STORED:
            self._spent[name].append(now - self._last)
        self._last = now

    def left(self) -> float:
        """Seconds until all fits are done."""
        return sum(count * self._each(name) for name, count in self._left.items())

    def told(self) -> str:
        """The same in words."""
        return f"about {duration(self.left())} left"

    def _each(self, name: str) -> float:
        spent = self._spent[name]
        return sum(spent) / len(spent) if spent else self._guesses.get(name, 0.0)
