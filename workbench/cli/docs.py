"""The command that opens the documentation."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import typer

import workbench
from workbench.checks import InputError

PAGE = Path("build", "docs", "index.html")


def built(folders: tuple[Path, ...] = (Path(workbench.__file__).parents[1], Path())) -> Path:
    """The first page of the built site, in the repository or below the current folder."""
    for folder in folders:
        if (folder / PAGE).is_file():
            return (folder / PAGE).resolve()
    raise InputError("the documentation is not built; run in the repository: make docs")


def docs() -> None:
    """Open the documentation in a browser; `make docs` builds it."""
    page = built()
    typer.echo(str(page))
    webbrowser.open(page.as_uri())
