"""The command that opens the documentation."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import typer

from workbench.checks import InputError
from workbench.ui.serving import HOW_TO_BUILD, PAGE, PLACES, documentation


def built(folders: tuple[Path, ...] = PLACES) -> Path:
    """The first page of the built site, in the repository or below the current folder."""
    site = documentation(folders)
    if site is None:
        raise InputError(f"the documentation is not built; run in the repository: {HOW_TO_BUILD}")
    return site / PAGE.name


def docs() -> None:
    """Open the documentation in a browser; `make docs` builds it."""
    page = built()
    typer.echo(str(page))
    webbrowser.open(page.as_uri())
