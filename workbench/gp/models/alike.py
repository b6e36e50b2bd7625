"""Whether two models were given the same, which arrays and kernels do not say by ``==``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import FunctionType, MethodType, ModuleType

import numpy as np
from torch import Tensor, nn
from torch.distributions import Distribution

Seen = frozenset[tuple[int, int]]


def alike(a: object, b: object) -> bool:
    """Whether two values of options say the same; a deep copy is like what it was made of.

    Parameters
    ----------
    a, b : object
        Numbers, text, functions, arrays, series, kernels with priors, objects of any class, or
        mappings, sequences and dataclasses of these.

    Returns
    -------
    bool
        False where their types differ, but for numbers, and where nothing can be told.

    Examples
    --------
    >>> alike({"mean": np.array([1.0, 2.0])}, {"mean": np.array([1.0, 2.0])})
    True
    """
    return _alike(a, b, frozenset())


def _alike(a: object, b: object, seen: Seen) -> bool:
    def same(one, other) -> bool:
        return _alike(one, other, seen)

    if a is b:
        return True
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray | Tensor) or isinstance(b, np.ndarray | Tensor):
        return type(a) is type(b) and a.shape == b.shape and bool((a == b).all())
    if type(a) is type(b) and (id(a), id(b)) in seen:     # met again inside itself
        return True
    seen |= {(id(a), id(b))}
    if isinstance(a, nn.Module):
        return type(a) is type(b) and same(_said(a), _said(b))
    if isinstance(a, MethodType) and isinstance(b, MethodType):
        return a.__func__ is b.__func__ and same(a.__self__, b.__self__)
    if is_dataclass(a) and not isinstance(a, type):
        return type(a) is type(b) and all(
            same(getattr(a, one.name), getattr(b, one.name)) for one in fields(a))
    if _equal(a, b):
        return True
    made = _made_of(a), _made_of(b)
    return None not in made and same(*made)


def _equal(a: object, b: object) -> bool:
    """By ``==``, or, where that is asked of each entry, as of pandas and xarray, by ``equals``."""
    if type(a) is type(b) and callable(getattr(a, "equals", None)):
        return bool(a.equals(b))
    try:
        return bool(a == b)
    except (TypeError, ValueError):
        return False


def _made_of(a: object) -> tuple | None:
    """What a copy of an object is made from; None if its class has ``==``, or none can be made.

    Functions and classes are copied as themselves.
    """
    if type(a).__eq__ is not object.__eq__ or isinstance(a, FunctionType | ModuleType | type):
        return None
    try:
        made = a.__reduce_ex__(4)
    except TypeError:       # of open files, locks and their like
        return None
    return made if isinstance(made, tuple) else None


def _said(module: nn.Module) -> dict:
    """What a module holds, without hooks, which are bound to it.

    A distribution holds its parameters as plain attributes or as buffers, and a copy has its parts
    in other places than the original.
    """
    if isinstance(module, Distribution):
        names = [*module.arg_constraints, "_transform"]
        return {name: getattr(module, name, None) for name in names} | dict(module.state_dict())
    return {name: value for name, value in vars(module).items() if "hook" not in name}
