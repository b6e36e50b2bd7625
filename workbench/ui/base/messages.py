"""Sentences that every app shows."""

from __future__ import annotations

READY = "ready"
CANCEL = "Cancel"
UNEXPECTED = "Something went wrong that should not"


def resolution(ratio: float, units: str) -> tuple[str, str]:
    """What a lengthscale means that is so many cells or blocks, and a colour for it."""
    if ratio < 0.5:
        return f"finer than {units} can resolve", "error"
    return ("borderline", "warning") if ratio < 2 else ("recoverable", "success")
