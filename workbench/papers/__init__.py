"""The papers' experiments: every table and figure as runs that can be made again, and its scores.

``workbench run --experiment NAME --preset quick`` does a small version in minutes at most; the
``paper`` preset the full one. Results are one small NetCDF file.
"""

import importlib

# Imported on first use: the samplers and theorems of one paper need nothing of the others.
_HOME = {
    "PRESETS": "tools.base",
    "Experiment": "tools.base",
    "experiment_named": "registry",
    "experiments": "registry",
    "fingerprint": "tools.fingerprint",
    "frame": "tools.running",
    "objections": "tools.stored",
    "read_results": "tools.running",
    "refresh_texts": "tools.texts",
    "repeat_run": "again",
    "run_experiment": "tools.running",
    "signed_rank": "tools.significance",
    "stored": "tools.stored",
}
__all__ = sorted(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
