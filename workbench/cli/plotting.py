"""A picture of a stored map, on the command line."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from workbench.checks import InputError, package, require
from workbench.outputs import check_output, deliver, write_bytes

FORMATS = (".png", ".html")


def plot(
    maps: Annotated[Path, typer.Argument(metavar="MAP", help="A map stored as .nc.")],
    out: Annotated[
        Path | None, typer.Option(help="Picture to write: .html, or .png, which takes a Chromium; "
                                  "default: MAP.png, or without a Chromium MAP.html.")] = None,
    log: Annotated[bool, typer.Option("--log", help="Logarithmic colours of the rate.")] = False,
    axes: Annotated[
        str, typer.Option(help="Coordinates that make the map, for data without geography.")
    ] = "x,y",
    size: Annotated[
        int, typer.Option(min=100, max=2000, help="Pixels along the longer side of a map.")] = 340,
    period: Annotated[
        str | None, typer.Option(help="Period of a map over time; default: the last.")] = None,
) -> None:
    """Draw a stored map: observed areas, mean, sd, exceedance, extrapolation; or other results.

    The HTML page opens without a network.

    Example: workbench plot map.nc --out map.png
    """
    if out is not None:
        check_output(out, FORMATS, [maps])
    package("holoviews", extra="plots")
    from workbench import geo, plots

    if out is None:
        out = maps.with_suffix(".png" if _can_draw() else ".html")
        check_output(out, FORMATS, [maps])
    named = tuple(name.strip() for name in axes.split(","))
    require(len(named) == 2, f"--axes takes two names with a comma, got {axes!r}")
    stored = _of_period(geo.read(maps), period)
    if "rehearsal" in stored.attrs:
        picture = plots.rehearsal_picture(stored)
    else:
        draw = plots.engines if "engine" in stored.dims else plots.map_picture
        picture = draw(stored, log=log, size=size, axes=named)
    content = _drawn(picture, out.suffix.lower(), maps.stem)
    deliver(lambda path: write_bytes(path, content), out)
    typer.echo(f"wrote {out}")


def _of_period(maps, period: str | None):
    """A map of one period as it is; of a map over time the period asked for, else the last."""
    from workbench import geo

    if period is None and "individual_period" not in maps.coords:
        return maps
    if period is None:
        period = str(max(dict.fromkeys(maps["individual_period"].values.tolist())))
        typer.echo(f"period {period}; --period chooses another", err=True)
    return geo.at_period(maps, period)


def _can_draw() -> bool:
    from workbench.plots.images import browser

    try:
        browser()
        package("playwright", extra="test")
    except (ImportError, InputError):
        return False
    return True


def _drawn(picture, suffix: str, title: str) -> bytes:
    from workbench import plots

    if suffix == ".png" and not _can_draw():
        raise InputError("a .png takes a Chromium and playwright (apt install chromium, or set "
                         "WORKBENCH_CHROMIUM; pip install playwright); --out with .html needs none")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"picture{suffix}"
        if suffix == ".png":
            plots.save_png(picture, file)
        else:
            plots.save_html(picture, file, title)
        return file.read_bytes()
