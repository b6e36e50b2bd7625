"""What the user has chosen: parameters only, readable from and written to the query of a URL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import log
from urllib.parse import parse_qsl, urlencode

import param

PLAIN = ",:/!"          # characters that a query may have as they are
LONGEST = 24            # characters of a bad value that are shown



class State(param.Parameterized):
    """Choices that a URL carries; each is a selection of canonical values, or true or false."""

    _together = 0       # how many blocks of `together` are open
    _heard = ()         # names that changed inside them
    _readers = ()       # what is called when all choices have been read

    @classmethod
    def names(cls) -> list[str]:
        """The choices, those that others depend on first."""
        return [name for name in cls.param if name != "name"]

    def choose(self, given: Mapping) -> None:
        """Make choices one by one, in the order of `names`: later ones may depend on earlier."""
        for name in self.names():
            if name in given:
                setattr(self, name, given[name])

    def offer(self, name: str, objects: Mapping | Sequence, default=None) -> None:
        """Change what can be chosen; a choice that is no longer offered returns to its default.

        Parameters
        ----------
        name : str
        objects : mapping of label to value, or sequence of values
        default : optional
            By default the first value.
        """
        slot, chosen = self.param[name], getattr(self, name)
        named = isinstance(objects, Mapping)
        values = list(objects.values() if named else objects)
        default = values[0] if default is None else default
        if (dict(slot.names or {}) if named else list(slot.objects)) != objects:
            slot.objects, slot.default = objects, default
        if chosen not in values:
            setattr(self, name, default)

    def listen(self, function: Callable, names: Sequence[str]) -> None:
        """Call a function with the events of choices that change; inside `together` once, later.

        Parameters
        ----------
        function : callable
            ``function(*events)``; none are given for what changed inside `together`.
        names : sequence of str
            Choices that matter to it.
        """
        def heard(*events) -> None:
            if self._together:
                self._heard = (*self._heard, function)
            else:
                function(*events)

        self.param.watch(heard, list(names))

    def when_read(self, function: Callable[[], None]) -> None:
        """Call a function whenever all choices have been read: from a URL, a session, or at reset.

        Parameters
        ----------
        function : callable
            Without arguments, called before what could not be used is known.
        """
        self._readers = (*self._readers, function)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Several choices as one: who listens hears of them at the end, and of the last only."""
        self._together += 1
        try:
            yield
        finally:
            self._together -= 1
            if not self._together:
                heard, self._heard = dict.fromkeys(self._heard), ()
                for function in heard:
                    function()

    def query(self) -> str:
        """The choices as the query part of a URL."""
        return urlencode({name: as_text(getattr(self, name)) for name in self.names()}, safe=PLAIN)

    def read(self, query: str) -> list[str]:
        """Take choices from a URL's query, as one.

        Parameters
        ----------
        query : str
            With or without its question mark; what it does not name stays.

        Returns
        -------
        list of str
            What could not be used, each in a few words with what was taken instead.
        """
        given, problems = dict(parse_qsl(query.lstrip("?"), keep_blank_values=True)), []
        with self.together():
            for name in self.names():
                if name in given:
                    problems += self._read(name, given.pop(name))
            problems += self._settle()
        for function in self._readers:
            function()
        return problems + [f"{short(name)} (no such setting)" for name in given]

    def impossible(self, name: str) -> dict:
        """Values of a choice that cannot be taken at present, each with the reason."""
        return {}

    def reset(self) -> None:
        """Make all choices as they are at first: the example."""
        self.read(type(self)().query())

    def _settle(self) -> list[str]:
        """Put right what was read and does not go together; what was wrong with it."""
        return []

    def _read(self, name: str, text: str) -> list[str]:
        """Take one choice; what was wrong with it, if anything."""
        match = [value for value in self._offered(name) if as_text(value) == text]
        if not match:
            return [f"{name}={short(text)} ({as_text(getattr(self, name))} used)"]
        setattr(self, name, match[0])
        return []

    def _offered(self, name: str) -> list:
        slot = self.param[name]
        if isinstance(slot, param.Boolean):
            return [False, True]
        return list(slot.names.values()) if slot.names else list(slot.objects)


def as_text(value: object) -> str:
    """A choice as a URL and a widget write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else f"{value:g}"


def short(text: str) -> str:
    """A text cut where it is long."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST - 1]}…"


def named(values: Sequence[float], form: str = "{}") -> dict[str, float]:
    """Numbers by their labels, such as "{} km"."""
    return {form.format(f"{value:,g}"): value for value in values}


def nearest(stops: Sequence[float], value: float) -> float:
    """The nearest of positive stops, by ratio."""
    return min(stops, key=lambda stop: abs(log(stop / max(value, 1e-300))))
