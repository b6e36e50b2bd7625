"""The edge of the command line: whatever goes wrong ends in one message and an exit code.

Bad input is reported in a line (exit code 2), what nobody foresaw in a few (exit code 1), with the
path of a log that holds the traceback, the command and the versions: all that a report needs.
"""

from __future__ import annotations

import errno
import os
import platform
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from typing import Any

import typer

from workbench.checks import InputError, named_as_flags
from workbench.outputs import versions

_PACKAGES = ("aggregate-workbench", "torch", "numpy", "xarray", "geopandas", "pyogrio", "rasterio",
             "shapely", "h5netcdf")

_NO_MEMORY = ("error: not enough memory ({}); use coarser rasters, crop them to the areas, or take "
              "fewer inducing points")


def guarded(command: Callable[[], Any]) -> Any:
    """Run a command; its errors become messages that name flags, and exit codes.

    Parameters
    ----------
    command : callable
        Without arguments.

    Raises
    ------
    typer.Exit
        With code 2 for bad input, 128 + n for signal n (130 for Ctrl-C), 1 for a fault of ours.
    """
    try:
        with named_as_flags():
            return command()
    except (InputError, FileNotFoundError, PermissionError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt as error:
        kept = " ".join(getattr(error, "__notes__", []))
        typer.echo(f"stopped: {kept}" if kept else "stopped before there was anything to keep; no "
                   "file was written", err=True)
        stop = error if hasattr(error, "number") else error.__cause__
        raise typer.Exit(128 + getattr(stop, "number", signal.SIGINT)) from error
    except MemoryError as error:
        typer.echo(_NO_MEMORY.format(_line(error)), err=True)
        raise typer.Exit(1) from error
    except Exception as error:
        if _not_ours(error):
            raise
        if isinstance(error, RuntimeError) and "t allocate memory" in str(error):   # torch's own
            typer.echo(_NO_MEMORY.format(_line(error)), err=True)
            raise typer.Exit(1) from error
        if isinstance(error, ImportError) and "pip install" in str(error):
            typer.echo(f"error: {_line(error)}", err=True)
            raise typer.Exit(2) from error
        typer.echo(_unexpected(error), err=True)
        raise typer.Exit(1) from error


def _not_ours(error: Exception) -> bool:
    """Whether it is typer's own way of ending a command, or a reader that closed the pipe."""
    # The base of all complaints about arguments is not among the names that typer exports.
    usage = any(kind.__name__ == "ClickException" for kind in type(error).__mro__)
    ways = isinstance(error, typer.Exit | typer.Abort)
    return usage or ways or getattr(error, "errno", None) == errno.EPIPE


def _unexpected(error: Exception) -> str:
    told = f"error: unexpected {type(error).__name__}: {_line(error)}"
    try:
        log = _write_log(error)
    except OSError as full:
        return f"{told}\nno log could be written ({full})\n{''.join(_trace(error))}"
    return (f"{told}\nThis is a fault of the workbench, not of yours. The log {log} says where it "
            "happened; send it along if you report it.")


def _write_log(error: Exception) -> str:
    handle, path = tempfile.mkstemp(prefix=f"workbench-{time.strftime('%Y%m%d-%H%M%S')}-",
                                    suffix=".log")
    told = "\n".join(f"{name} {found}" for name, found in versions(*_PACKAGES).items())
    with os.fdopen(handle, "w", encoding="utf-8") as log:
        log.write(f"command: {' '.join(sys.argv)}\nfolder: {os.getcwd()}\n"
                  f"python {platform.python_version()} on {platform.platform()}\n"
                  f"{told}\n\n")
        log.writelines(_trace(error))
    return path


def _trace(error: Exception) -> list[str]:
    return traceback.format_exception(error)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split()) or "no message"
