"""Skip loudly where data are not here: packages, and files that are not part of the repository."""

import importlib.util
import os
from pathlib import Path

import pytest

_SIBLING = Path(__file__).resolve().parents[3] / "shared" / "data"
REAL = Path(os.environ.get("WORKBENCH_DATA", _SIBLING))


def needs(package: str):
    """Mark that skips, with the reason, where a package is absent."""
    return pytest.mark.skipif(importlib.util.find_spec(package) is None,
                              reason=f"DATA PACKAGE {package} IS NOT INSTALLED")


def needs_files(name: str, *paths: str):
    """Mark that skips, with the reason, where none of some paths below `REAL` is there."""
    return pytest.mark.skipif(not any((REAL / path).exists() for path in paths),
                              reason=f"the {name} files are not here; set WORKBENCH_DATA")
