"""Skip loudly where a package of data is not installed."""

import importlib.util

import pytest


def needs(package: str):
    """Mark that skips, with the reason, where a package is absent."""
    return pytest.mark.skipif(importlib.util.find_spec(package) is None,
                              reason=f"DATA PACKAGE {package} IS NOT INSTALLED")
