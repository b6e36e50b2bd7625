"""A report on a stored map, and the notebook that makes it again, on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from workbench.checks import InputError, package, reading, require
from workbench.cli.threads import set_threads
from workbench.outputs import check_output, deliver

PAGES = (".html",)
Map = Annotated[Path, typer.Argument(metavar="MAP", help="A map stored as .nc.")]


def report(
    maps: Map,
    out: Annotated[Path | None, typer.Option(
        help="Page to write, .html; default: MAP.report.html.")] = None,
    compare: Annotated[Path | None, typer.Option(
        help="What `workbench compare` wrote as .nc, for a section of it.")] = None,
    recover: Annotated[Path | None, typer.Option(
        help="What `workbench recover` wrote as .nc, for a section of it.")] = None,
    title: Annotated[str | None, typer.Option(
        help="Title of the page; default: that of the data.")] = None,
    log: Annotated[bool, typer.Option("--log", help="Logarithmic colours of the rate.")] = False,
    axes: Annotated[
        str, typer.Option(help="Coordinates that make the map, for data without geography.")
    ] = "x,y",
) -> None:
    """Write all that is known of a map on one page: verdict, data, model, maps, scores, code.

    The page has no scripts and needs no network.

    Example: workbench report map.nc --compare verdict.nc --out report.html
    """
    from workbench import geo
    from workbench.pipeline.base import existing

    out = maps.with_name(f"{maps.stem}.report.html") if out is None else out
    check_page(out, [maps, compare, recover])
    named = tuple(name.strip() for name in axes.split(","))
    require(len(named) == 2, f"--axes takes two names with a comma, got {axes!r}")
    stored = geo.read(existing("map", maps))
    set_threads()
    write_page(stored, out, compare=_comparison(compare), recover=_recovery(recover), title=title,
               log=log, axes=named)
    typer.echo(f"wrote {out}")


def notebook(
    maps: Map,
    out: Annotated[Path | None, typer.Option(
        help="Notebook to write, .ipynb; default: MAP.ipynb.")] = None,
) -> None:
    """Write a notebook that makes a map again, and checks that the numbers are the same.

    Example: workbench notebook map.nc --out map.ipynb
    """
    from workbench import reporting

    out = maps.with_suffix(".ipynb") if out is None else out
    reporting.notebook(maps, out)
    typer.echo(f"wrote {out}")


def check_page(path: Path, inputs: Iterable[str | Path | None]) -> None:
    """Refuse a page that could not be written, before any work.

    Parameters
    ----------
    path : Path
        The page.
    inputs : iterable of str, Path or None
        Files that it may not overwrite.
    """
    check_output(path, PAGES, inputs)
    package("jinja2", extra="plots")
    package("holoviews", extra="plots")


def write_page(maps, path: Path, **options) -> Path:
    """Write the report of a map, with a check of the data that its Spec names.

    Parameters
    ----------
    maps : xr.Dataset
        A map.
    path : Path
        The page.
    **options
        Of `workbench.report`.

    Returns
    -------
    Path
        The page.
    """
    from workbench import reporting

    made = reporting.report(maps, check=_check(maps), **options)
    deliver(made.to_html, path)
    return path


def _check(maps):
    """The check of the data that the map was made of; in words why not, where they are not here."""
    from workbench.cli.checking import checked
    from workbench.pipeline.base import BaseSpec
    from workbench.pipeline.spec import Spec

    if "spec" not in maps.attrs:
        return None
    spec = BaseSpec.from_json(maps.attrs["spec"])
    if not isinstance(spec, Spec):
        return None
    try:
        found = checked(spec)
    except InputError as error:
        return f"The data could not be checked again: {error}"
    if found.data is None:
        return f"The data could not be checked again: {'; '.join(map(str, found.findings))}"
    return found


def _comparison(path: Path | None):
    if path is None:
        return None
    from workbench.comparison import Comparison
    from workbench.pipeline.base import existing

    with reading(existing("comparison", path), "a comparison",
                 "what workbench compare --out FILE.nc wrote"):
        return Comparison.read(path)


def _recovery(path: Path | None):
    if path is None:
        return None
    import xarray as xr

    from workbench.pipeline.base import existing

    with reading(existing("recovery", path), "a recovery",
                 "what workbench recover --out FILE.nc wrote"):
        with xr.open_dataset(path, engine="h5netcdf") as stored:
            found = stored.load()
        found["level_scores"], found.attrs["sentence"]       # what others lack
        return found
