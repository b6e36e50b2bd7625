"""Folders of servers that were killed, and so could not remove them: the next server does."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

#: How names of folders begin, before the number of the process that made them.
OWN, COMPARED = "workbench-own-", "workbench-compare-"
_NAME = re.compile(rf"(?:{OWN}|{COMPARED})(\d+)-\w+")


def folder(beginning: str) -> tempfile.TemporaryDirectory:
    """A folder of this process, gone when the process ends, or removed by the next server.

    Parameters
    ----------
    beginning : str
        Of its name.
    """
    return tempfile.TemporaryDirectory(prefix=f"{beginning}{os.getpid()}-",
                                       ignore_cleanup_errors=True)


def remove() -> list[Path]:
    """Remove what ended servers of this user left in the temporary folder.

    Only folders of this user with a name of this app and the number of a process that is gone.

    Returns
    -------
    list of Path
        What was removed.
    """
    gone = []
    for path in Path(tempfile.gettempdir()).glob("workbench-*"):
        named = _NAME.fullmatch(path.name)
        if named and _is_ours(path) and not _runs(int(named[1])):
            shutil.rmtree(path, ignore_errors=True)
            gone.append(path)
    return gone


def _is_ours(path: Path) -> bool:
    try:
        owner = path.lstat().st_uid
    except OSError:             # gone meanwhile
        return False
    return path.is_dir() and not path.is_symlink() and (
        not hasattr(os, "getuid") or owner == os.getuid())


def _runs(process: int) -> bool:
    """Whether a process is there; where nobody can tell, as if it were."""
    if os.name != "posix":
        return True             # there, to ask would end it
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
