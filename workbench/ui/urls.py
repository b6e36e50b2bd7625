"""A state of an app as the query of a URL, and back: every choice by a canonical text."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

import param


class Linked(param.Parameterized):
    """Parameters that a URL carries; each is a selection of canonical values, or true or false."""

    @classmethod
    def names(cls) -> list[str]:
        """The choices, those that others depend on first."""
        return [name for name in cls.param if name != "name"]

    def query(self) -> str:
        """The choices as the query part of a URL."""
        return urlencode({name: as_text(getattr(self, name)) for name in self.names()})

    def read(self, query: str) -> list[str]:
        """Take choices from a URL's query; return a sentence for each that could not be used."""
        given, problems = dict(parse_qsl(query.lstrip("?"), keep_blank_values=True)), []
        for name in self.names():
            if name in given:
                problems += self._read(name, given.pop(name))
        return problems + [f"{name} is no setting of this app and was ignored" for name in given]

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
