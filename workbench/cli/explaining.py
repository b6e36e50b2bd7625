"""One pixel of a stored map in words, on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.checks import InputError, require


def explain(
    maps: Annotated[Path, typer.Argument(metavar="MAP", help="A map stored as .nc.")],
    at: Annotated[
        str | None, typer.Option(help="Place: x,y in the coordinates of the map.")] = None,
    pixel: Annotated[
        int | None, typer.Option(help="Or the position of the pixel in the map.")] = None,
    nearest: Annotated[int, typer.Option(min=0, help="Other areas to name.")] = 5,
) -> None:
    """Say why a map says what it says at one pixel: summands, exposure, its area, areas nearby.

    Summands are there if the map was made with --components.

    Example: workbench explain map.nc --at 46.9,-19.2
    """
    from workbench import geo
    from workbench.evaluation import explain as explained

    if (at is None) == (pixel is None):
        raise InputError("give a place, --at X,Y, or --pixel NUMBER, one of the two")
    stored = geo.read(maps)
    found = explained(stored, pixel if at is None else _place(at), nearest=nearest)
    typer.echo(found.attrs["summary"])
    if "component_mean" not in stored:
        typer.echo("\nthe map keeps no components of f; make it with --components to see them")


def _place(text: str) -> tuple[float, float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    require(len(numbers) == 2, f"--at takes two numbers with a comma, such as 46.9,-19.2, got "
            f"{text!r}")
    return numbers[0], numbers[1]
