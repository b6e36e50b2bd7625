"""Values that a Spec may hold: checked by the types of its fields, plain, and unable to change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from workbench.checks import reject, require

_TYPES = {          # what a field may hold by its annotation, and how an error names it
    "str": ((str,), "a name"),
    "str | None": ((str, type(None)), "a name, or null"),
    "int": ((int,), "a whole number"),
    "int | None": ((int, type(None)), "a whole number, or null"),
    "float": ((int, float), "a number"),
    "float | None": ((int, float, type(None)), "a number, or null"),
    "bool": ((bool,), "true or false"),
}
_SEVERAL = "float | tuple[float, ...] | None"


class Settings(Mapping):
    """An immutable, hashable mapping of names to plain values (numbers, text, tuples, mappings).

    Parameters
    ----------
    items : Mapping or iterable of pairs
        Lists become tuples and nested mappings become Settings, so that nothing in it can change.
    """

    def __init__(self, items: Any = ()):
        plain = dict(items)
        for name in plain:
            require(isinstance(name, str), f"names of settings are text, got {name!r}")
        self._items = {name: _freeze(name, plain[name]) for name in sorted(plain)}

    def __getitem__(self, name: str) -> Any:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(tuple(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)

    def plain(self) -> dict[str, Any]:
        """The same as dictionaries and lists of the caller's own."""
        return thaw(self)


def checked(name: str, value: Any, annotation: str) -> Any:
    """The value of a field, frozen.

    Parameters
    ----------
    name : str
        Of the field.
    value : object
        What was given for it.
    annotation : str
        Type of the field, as written in its class.

    Returns
    -------
    object
        Mappings as `Settings`, lists as tuples, paths as text.

    Raises
    ------
    InputError
        If the value is of another type, or is nothing that JSON can hold.
    """
    if annotation == "Mapping":
        if not isinstance(value, Mapping):
            raise reject(f"{name} as a mapping of names to values", repr(value),
                         'write {"name": value}')
        return Settings(value)
    value = _freeze(name, value)
    if annotation == "tuple[float, ...]":
        return _levels(name, value)
    if annotation == _SEVERAL:
        return _one_or_several(name, value)
    if annotation == "tuple[str, ...]":
        if not isinstance(value, tuple):
            raise reject(f"{name} as a list of names", repr(value), 'write ["name"]')
        for part in value:
            _require_type(name, part, "str")
        return value
    _require_type(name, value, annotation)
    return float(value) if annotation.startswith("float") and value is not None else value


def thaw(value: Any) -> Any:
    """A frozen value of a Spec as JSON can hold it: dictionaries and lists of the caller's own."""
    if isinstance(value, Mapping):
        return {name: thaw(v) for name, v in value.items()}
    return [thaw(v) for v in value] if isinstance(value, tuple) else value


def _freeze(name: str, value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping):
        return Settings(value)
    if isinstance(value, list | tuple):
        return tuple(_freeze(name, v) for v in value)
    if isinstance(value, float) and not math.isfinite(value):
        raise reject(f"a finite number for {name}", str(value), "leave it out, or use null")
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise reject(f"a number, text, list or mapping for {name}", type(value).__name__,
                 "a Spec holds only what JSON can")


def _require_type(name: str, value: Any, annotation: str) -> None:
    types, expected = _TYPES[annotation]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise reject(f"{name} as {expected}", repr(value), "change it in the Spec")


def _one_or_several(name: str, value: Any) -> float | tuple[float, ...] | None:
    """Numbers in ascending order; one by itself, so that there is one way to write it."""
    if not isinstance(value, tuple):
        return checked(name, value, "float | None")
    found = sorted(checked(name, one, "float") for one in value)
    require(bool(found), f"{name} is an empty list; give a number, or leave it out")
    require(len(set(found)) == len(found), f"{name} has a number twice, got {found}; give each "
            "once")
    return found[0] if len(found) == 1 else tuple(found)


def _levels(name: str, levels: Any) -> tuple[float, ...]:
    if not isinstance(levels, tuple):
        raise reject(f"{name} as a list of levels", repr(levels), "write [0.05, 0.5, 0.95]")
    for level in levels:
        if isinstance(level, bool) or not isinstance(level, int | float):
            raise reject(f"{name} as numbers between 0 and 1", repr(level), "change it in the Spec")
    inside = all(0 < level < 1 for level in levels)
    require(inside and list(levels) == sorted(set(levels)),
            f"{name} must lie strictly between 0 and 1 and ascend, got {list(levels)}")
    return tuple(float(level) for level in levels)
