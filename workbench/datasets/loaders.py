"""Loaders by name: each a module with a function ``load``, imported when it is asked for."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping

from workbench.checks import choose, number, whole


class Loaders:
    """Modules that load one dataset each.

    Parameters
    ----------
    kind : str
        What they load, for messages.
    modules : mapping of str to str
        Names, and modules below `workbench.datasets`.
    """

    def __init__(self, kind: str, modules: Mapping[str, str]):
        self.kind, self.modules = kind, modules

    def load(self, name: str, **options: object):
        """What the loader of that name makes of its options.

        Raises
        ------
        InputError
            If the name or an option is unknown, where the nearest is suggested; or if an option
            that is a number, or a whole one, is given anything else.
        """
        known = self._parameters(name)
        for option, value in options.items():
            choose(f"option of dataset {name!r}", option, known)
            kind, told = str(known[option].annotation), f"{option} of dataset {name!r}"
            if kind == "int":
                options[option] = whole(told, value)
            elif kind == "float":
                number(told, value)
        found = self._loader(name)(**options)
        found.attrs.setdefault("dataset", name)
        return found

    def summaries(self) -> dict[str, str]:
        """Every name, and a line on what it is."""
        return {name: (inspect.getdoc(self._loader(name)) or "").split("\n", 1)[0]
                for name in self.modules}

    def options(self, name: str) -> dict[str, object]:
        """The options of a dataset with their defaults."""
        return {p.name: p.default for p in self._parameters(name).values()}

    def _parameters(self, name: str) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self._loader(name)).parameters

    def _loader(self, name: str) -> Callable:
        choose(self.kind, name, self.modules)
        return importlib.import_module(f"workbench.datasets.{self.modules[name]}").load
