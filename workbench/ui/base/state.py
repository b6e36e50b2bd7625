"""What the user has chosen: parameters only, readable from and written to the query of a URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from urllib.parse import parse_qsl, urlencode

import param


class State(param.Parameterized):
    """Choices that a URL carries; each is a selection of canonical values, or true or false."""

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

    def query(self) -> str:
        """The choices as the query part of a URL."""
        return urlencode({name: as_text(getattr(self, name)) for name in self.names()})

    def read(self, query: str) -> list[str]:
        """Take choices from a URL's query; return a sentence for each that could not be used."""
        given, problems = dict(parse_qsl(query.lstrip("?"), keep_blank_values=True)), []
        for name in self.names():
            if name in given:
                problems += self._read(name, given.pop(name))
        return problems + [f"{name} is not a setting of this app and was ignored" for name in given]

    def _read(self, name: str, text: str) -> list[str]:
        """Take one choice; what was wrong with it, if anything."""
        offered = self._offered(name)
        match = [value for value in offered if as_text(value) == text]
        if not match:
            return [f"{name}={text} is not offered here (offered: "
                    f"{', '.join(map(as_text, offered))}); "
                    f"{name}={as_text(getattr(self, name))} is used instead"]
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


def named(values: Sequence[float], form: str = "{}") -> dict[str, float]:
    """Numbers by their labels, such as "{} km"."""
    return {form.format(f"{value:,g}"): value for value in values}


def nearest(stops: Sequence[float], value: float) -> float:
    """The nearest of positive stops, by ratio."""
    return min(stops, key=lambda stop: abs(log(stop / max(value, 1e-300))))
