"""Versions of the packages that a result depends on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

_PACKAGES = ("aggregate-workbench", "torch", "gpytorch", "xarray", "numpy")


def versions() -> dict[str, str]:
    """Version of each package and of Python."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed as a package"
    return found | {"python": platform.python_version()}
