"""What a value of an option must be: of its type, among its choices, within its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from numbers import Integral, Real

import torch
from gpytorch.kernels import Kernel

from workbench.checks import choose, reject
from workbench.gp.kernels.grammar import written

_BY_SOURCE = ("likelihoods", "links", "noises")


def check_options(options) -> None:
    """Refuse values outside the choices, types and bounds of an options dataclass.

    Raises
    ------
    InputError
        Naming the option and what it can be.
    """
    for entry in fields(options):
        value, about = getattr(options, entry.name), entry.metadata
        if about["choices"] is not None:
            choose(f"option {entry.name}", value, about["choices"])
        _require_type(entry, value)
        if about["bounds"] is not None and isinstance(value, (int, float)):
            low, high = about["bounds"]
            if not low <= value <= high:
                raise reject(f"option {entry.name} in [{low}, {high}]", repr(value),
                             "choose a value in this range")
    _require_device(options.device)


def _require_type(entry, value) -> None:
    """Numbers where numbers belong, whole ones where the default is whole."""
    default, name = entry.default, f"option {entry.name}"
    if entry.name in ("kernel", "mediator_kernel", "weight_kernel"):
        if not isinstance(value, (str, Kernel)):
            raise reject(f"{name} a name or a gpytorch kernel", repr(value),
                         "write kernel='linear+matern32'")
        if isinstance(value, str):
            written(value)
    elif name == "option average" and value == "auto":
        return
    elif isinstance(default, int) and (isinstance(value, bool) or not isinstance(value, Integral)):
        raise reject(f"{name} a whole number", repr(value), f"write {entry.name}={default}")
    elif isinstance(default, float) and (not isinstance(value, (Real, str)) or (
            isinstance(value, str) and entry.name != "nugget")):
        raise reject(f"{name} a number", repr(value), f"write {entry.name}={default}")
    elif entry.name in _BY_SOURCE and not isinstance(value, Mapping):
        raise reject(f"{name} a mapping from names of sources", repr(value),
                     f"write {entry.name}={{'stations': {value!r}}}, with the names that the "
                     "sources have in fit({'stations': ds, ...})")
    elif default is MISSING and not isinstance(value, Mapping):
        raise reject(f"{name} a mapping from hyperparameter names", repr(value),
                     f"write {entry.name}={{'matern32.lengthscale': ...}}")


def _require_device(device: str) -> None:
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        raise reject("a torch device that is there", repr(device),
                     f"use device='cpu' ({str(error).splitlines()[0]})") from error
