"""What goes wrong while a file is read, in a line that says what else to try."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.checks.errors import InputError


@contextmanager
def reading(path: str | Path, kind: str, remedy: str) -> Iterator[None]:
    """Turn whatever a reader raises into one line: cannot read FILE as KIND: reason; try REMEDY.

    Parameters
    ----------
    path : str or Path
        The file.
    kind : str
        What it was read as.
    remedy : str
        What follows "try".

    Raises
    ------
    InputError
        For any exception but `InputError` itself, missing packages and too little memory.
    """
    try:
        yield
    except (InputError, ImportError, MemoryError):
        raise
    except Exception as error:
        raise unreadable(path, kind, _reason(path, error), remedy) from error


def unreadable(path: str | Path, kind: str, reason: str, remedy: str) -> InputError:
    """The error of a file that cannot be read as what it was given for (raised by the caller)."""
    return InputError(f"cannot read {str(path)!r} as {kind}: {reason}; try {remedy}")


def _reason(path: str | Path, error: Exception) -> str:
    """What a reader's exception says, in a line; a file without bytes needs no exception to say."""
    if Path(path).is_file() and Path(path).stat().st_size == 0:
        return "the file is empty (0 bytes)"
    if isinstance(error, UnicodeDecodeError):
        byte = error.object[error.start]
        return f"it is not {error.encoding.upper()} text (byte 0x{byte:02x})"
    deepest = error
    while deepest.__cause__ is not None and isinstance(deepest.__cause__, Exception):
        deepest = deepest.__cause__         # GDAL's own words lie below "see previous exception"
    text = " ".join(str(deepest).split()).partition("; It might help")[0] or type(error).__name__
    return (text if len(text) <= 200 else f"{text[:197]}...").rstrip(".;")
