"""Whether two models were given the same, which arrays and kernels do not say by ``==``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass

import numpy as np
from torch import Tensor, nn


def alike(a: object, b: object) -> bool:
    """Whether two values of options say the same; a deep copy is like what it was made of.

    Parameters
    ----------
    a, b : object
        Numbers, text, functions, arrays, kernels, or mappings, sequences and dataclasses of these.

    Returns
    -------
    bool
        False where their types differ, but for numbers.

    Examples
    --------
    >>> alike({"mean": np.array([1.0, 2.0])}, {"mean": np.array([1.0, 2.0])})
    True
    """
    if a is b:
        return True
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(alike(a[name], b[name]) for name in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if isinstance(a, np.ndarray | Tensor) or isinstance(b, np.ndarray | Tensor):
        return type(a) is type(b) and a.shape == b.shape and bool((a == b).all())
    if isinstance(a, nn.Module):
        return type(a) is type(b) and alike(_said(a), _said(b))
    if is_dataclass(a):
        return type(a) is type(b) and all(
            alike(getattr(a, one.name), getattr(b, one.name)) for one in fields(a))
    return bool(a == b)


def _said(module: nn.Module) -> dict:
    """What a module holds, without hooks, which are bound to it."""
    return {name: value for name, value in vars(module).items() if "hook" not in name}
