"""Files written whole or not at all, and checked before anything is computed for them.

A result goes to a temporary file beside its target, is read back, and takes the target's name
last: an older file stays until then. A result that cannot go where it should is kept elsewhere.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from workbench.checks import InputError, choose, require

FIT_SUFFIX = ".wbfit"                               # of a fit in one file
# What maps and tables are written as: not every one holds every result.
_WRITTEN = (".nc", ".tif", ".tiff", ".gpkg", ".parquet", ".csv", ".zarr")
BLOCK = 1 << 24                                     # bytes that are read back at a time
_FOLDER = "workbench-kept-"                          # of results that could not go to their place
_BESIDE = ("-journal", "-wal", "-shm", ".aux.xml")  # what SQLite and GDAL leave beside a half file


class OutputError(InputError):
    """A result could not be written where it was to go; the message says where it is kept."""


def versions(*names: str) -> dict[str, str]:
    """Versions that a result depends on: of packages as installed, and of "python"."""
    found = {}
    for name in names:
        try:
            found[name] = platform.python_version() if name == "python" else version(name)
        except PackageNotFoundError:
            found[name] = "not installed as a package"
    return found


def unfinished(out: Path) -> Path:
    """Name of the file for a result that was stopped, so that it replaces no whole one."""
    return out.with_name(f"{out.stem}.partial{out.suffix}")


def check_output(path: Path, formats: Sequence[str] | None = None,
                 inputs: Iterable[str | Path | None] = (), beside: Iterable[Path] = ()) -> None:
    """Refuse an output that could not be written, or would replace an input, before any work.

    Parameters
    ----------
    path : Path
        The file to write.
    formats : sequence of str, optional
        Its possible suffixes, in lower case; capitals in the name are no other format.
    inputs : iterable of str, Path or None
        Files that are read; also `unfinished` of the output may be none of them.
    beside : iterable of Path
        Further files that are written with it, which may be no inputs either.

    Raises
    ------
    InputError
        If the output is an input (also by a link or another spelling), its format is unknown, its
        folder is missing or cannot be written to, it is a folder, or it is protected.
    """
    written = [path, unfinished(path), *beside]
    for given in inputs:
        for name in written:
            with_it = f" is written with {name.name!r}, which" if name in written[2:] else ""
            require(given is None or not same_file(name, given),
                    f"the output {str(path)!r}{with_it} would overwrite the input {str(given)!r}; "
                    "give another --out")
    if formats is not None:
        suffix = path.suffix.lower()
        require(suffix not in _WRITTEN or suffix in formats, f"the format of the output {suffix!r} "
                f"cannot hold this result; choose one of {', '.join(formats)}")
        choose("format of the output", suffix, formats)
    require(path.parent.is_dir(), f"the folder {str(path.parent)!r} of the output does not exist; "
            "make it first")
    require(not path.is_dir(), f"the output {str(path)!r} is a folder; name a file, or one that is "
            "not there yet")
    _try_folder(path)
    if path.exists():
        try:
            with path.open("r+b"):
                pass
        except OSError as error:
            raise InputError(f"the file {str(path)!r} exists and cannot be replaced "
                             f"({reason_of(error)}); give another --out") from error


def same_file(one: str | Path, other: str | Path) -> bool:
    """Whether two names lead to one file, also over links and relative paths."""
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):                   # one of them is not there (yet)
        return os.path.realpath(one) == os.path.realpath(other)


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file beside the target to write to, which takes its name at the end.

    A link is followed: the file it leads to is replaced. If the block raises, the temporary file is
    removed and the target is as it was.
    """
    target = Path(os.path.realpath(path))
    of = f"{os.getpid()}-{threading.get_ident()}"       # threads may write one file at once
    half = target.with_name(f".{target.stem}.{of}.half{target.suffix}")
    try:
        yield half
        with half.open("r+b") as stream:
            os.fsync(stream.fileno())               # a full disk may say so only here
        if target.exists():
            shutil.copymode(target, half)
        os.replace(half, target)
    finally:
        for left in (half, *(half.with_name(half.name + end) for end in _BESIDE)):
            with contextlib.suppress(OSError):
                left.unlink(missing_ok=True)


def write_bytes(path: str | Path, content: bytes | memoryview | str) -> None:
    """Write a file at once, and read it back before it takes its name.

    Libraries that write step by step may hide a full disk, or crash on it; so what they make is
    made in memory, and written here.

    Raises
    ------
    OSError
        If it cannot be written; the target is as it was.
    """
    content = memoryview(content.encode() if isinstance(content, str) else content).cast("B")
    with replacing(path) as half:
        with half.open("wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        with half.open("rb") as stream:
            for start in range(0, max(len(content), 1), BLOCK):
                if stream.read(BLOCK) != content[start:start + BLOCK]:
                    raise OSError("what was written does not read back the same")


def deliver(write: Callable[[Path], object], out: Path, spare: str | None = None) -> None:
    """Write a result to its file; one that cannot go there is kept elsewhere, and that is said.

    Parameters
    ----------
    write : callable
        Writes the result to a path, in the format of its suffix.
    out : Path
        Where it is to go.
    spare : str, optional
        Suffix of a format that holds anything, for a result that its own format cannot hold.

    Raises
    ------
    OutputError
        If it is not in ``out``; the message says why, and where it is.
    """
    try:
        write(out)
    except Exception as error:              # whatever a library raises, a long fit must not be lost
        failed = f"cannot write {out} ({reason_of(error)})"
        last: Exception = error
        for other in _elsewhere(out, spare):
            try:
                write(other)
            except Exception as again:
                last = again
                if other.parent.name.startswith(_FOLDER):
                    shutil.rmtree(other.parent, ignore_errors=True)
                continue
            raise OutputError(f"{failed}; the result is kept in {other}") from error
        raise OutputError(f"{failed}, and the result cannot be kept elsewhere "
                          f"({reason_of(last)}); make room and run again") from error


def reason_of(error: BaseException) -> str:
    """What an error says, in one line."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return " ".join(str(text).split())


def _elsewhere(out: Path, spare: str | None) -> Iterator[Path]:
    suffixes = [out.suffix] + [spare] * (spare is not None and spare != out.suffix.lower())
    for suffix in suffixes:
        beside = out.with_name(f"{out.stem}.kept{suffix}")
        if not beside.exists():
            yield beside
    for suffix in suffixes:
        with contextlib.suppress(OSError):
            yield Path(tempfile.mkdtemp(prefix=_FOLDER)) / f"{out.stem}{suffix}"


def _try_folder(path: Path) -> None:
    folder = Path(os.path.realpath(path)).parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise InputError(f"the folder {str(path.parent)!r} of the output cannot be written to "
                         f"({reason_of(error)}); give --out in another folder") from error
