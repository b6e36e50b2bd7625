"""Where files of a dataset come from: a directory the user names, or a checked download."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from workbench.checks import InputError, package, require

VARIABLE = "WORKBENCH_DATA"


def locate(
    name: str,
    files: Mapping[str, str],
    directory: str | Path | None,
    urls: Mapping[str, str] | None = None,
    download: bool = False,
) -> Path:
    """Return the folder that holds all files of a dataset.

    Parameters
    ----------
    name : str
        Name of the dataset, and of its folder.
    files : mapping
        File names and their sha256.
    directory : str or Path, optional
        The folder itself or the one above it; ``WORKBENCH_DATA`` if not given.
    urls : mapping, optional
        Where each file can be downloaded.
    download : bool
        Whether to fetch the files when no directory is given.

    Returns
    -------
    Path
        The folder.

    Raises
    ------
    InputError
        If files are missing, or a download fails or has another checksum.
    """
    given = directory or os.environ.get(VARIABLE)
    if given:
        folder = Path(given)
        require(folder.is_dir(), f"{str(folder)!r} is not a directory; expected the files of "
                                 f"{name!r}: {', '.join(files)}")
        for candidate in (folder / name, folder):
            if all((candidate / file).is_file() for file in files):
                return candidate
        present = folder / name if (folder / name).is_dir() else folder
        absent = [file for file in files if not (present / file).is_file()]
        raise InputError(f"dataset {name!r}: {str(present)!r} lacks {', '.join(absent)}")
    if download:
        require(urls is not None, f"dataset {name!r} has no public download")
        return _fetch(name, files, urls)
    remedy = (f"pass directory=..., or set {VARIABLE} to a folder holding {name}/ with "
              f"{', '.join(files)}")
    if urls:
        remedy += "; or pass download=True to fetch them once from their public repository"
    raise InputError(f"dataset {name!r} is not shipped with the package; {remedy}")


def _fetch(name: str, files: Mapping[str, str], urls: Mapping[str, str]) -> Path:
    pooch = package("pooch", extra="data")
    store = pooch.create(
        path=pooch.os_cache("aggregate-workbench") / name, base_url="",
        registry={file: f"sha256:{digest}" for file, digest in files.items()}, urls=dict(urls),
    )
    for file in files:
        try:
            store.fetch(file)
        except Exception as error:  # every kind of network failure, and a wrong checksum
            raise InputError(
                f"dataset {name!r}: could not fetch {file} from {urls[file]} ({error}); get the "
                f"files by hand and pass directory=..."
            ) from error
    return Path(store.path)
