"""From a Spec to a file on the command line: nothing that was finished is lost on the way."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from workbench.checks import require
from workbench.cli import reporting
from workbench.cli.interrupt import Interrupt
from workbench.cli.options import computing_on
from workbench.cli.threads import set_threads
from workbench.outputs import FIT_SUFFIX, check_output, unfinished
from workbench.pipeline.base import BaseSpec

if TYPE_CHECKING:
    import xarray as xr


def make_map(spec: BaseSpec, out: Path, quiet: bool, threads: int = 1,
             made_from: Path | None = None, workers: int = 0, save_fit: Path | None = None,
             report: Path | None = None, scheduler: str | None = None) -> xr.Dataset:
    """Run a Spec and write its map; with cross-validation first the map, then its scores.

    Parameters
    ----------
    spec : BaseSpec
        What to do, of any command.
    out : Path
        File to write. While a long fit or cross-validation runs, the folder ``OUT.resume`` beside
        it keeps what is finished; the same command goes on from there.
    quiet : bool
        Whether to show no progress.
    threads : int
        Threads for linear algebra.
    made_from : Path, optional
        The file that the Spec comes from, which may not be overwritten.
    workers : int
        Processes, see `workbench.pipeline.run.run`.
    save_fit : Path, optional
        File to write the fit to, too.
    report : Path, optional
        Page to write beside the map, see `workbench.report`; of a run that was stopped, too.
    scheduler : str, optional
        Where a map in blocks, or fits of cross-validation and of auto, are computed, see
        `workbench.geo.scheduled`.

    Returns
    -------
    xr.Dataset
        The map.

    Raises
    ------
    InputError
        If the output cannot be written, or anything of the input cannot be used.
    typer.Exit
        If the run was stopped: 128 + the signal's number, or 1 if cross-validation could not go on.
    """
    from workbench.pipeline import results, scoring
    from workbench.pipeline import run as pipeline
    from workbench.pipeline.inputs import input_files

    check_output(out, results.formats_of(spec), [*input_files(spec), made_from],
                 results.beside(out))
    if save_fit is not None:
        check_output(save_fit, (FIT_SUFFIX,), [*input_files(spec), made_from])
    if getattr(spec, "rasters", ()):
        require(report is None, "a report is of a map in memory, not of rasters in blocks; leave "
                "out --report")
        # GDAL keeps up to 5 % of a machine's memory of what it read, and blocks are read once.
        os.environ.setdefault("GDAL_CACHEMAX", "64")
    if report is not None:
        reporting.check_page(report, [out, *input_files(spec), made_from])
    set_threads(threads)
    resume = scoring.resume_folder(out)
    require(not resume.is_file(), f"{str(resume)!r} is a file, but steps of a fit and finished "
            "folds are kept in a folder of this name; move it, or give another --out")
    areas = results.own_columns(spec, out)
    written: list[Path] = []

    def write(maps) -> None:
        written[:] = results.save(maps, out, areas)
        if not quiet:
            typer.echo(f"wrote {out}; cross-validation follows, and adds its scores", err=True)

    if not quiet:
        typer.echo(f"reading {spec.source}", err=True)
    with Interrupt() as interrupt, computing_on(scheduler, workers) as many:
        try:
            maps = pipeline.run(spec, progress=not quiet, callback=interrupt.callback, out=out,
                                finished=write, resume=resume, workers=many,
                                save_fit=save_fit)
            _show(maps)
            stopped, whole = maps.attrs.get("partial"), bool(written)
            if stopped and not whole:
                out = unfinished(out)
            written[:] = results.save(maps, out, areas, progress=not quiet)
            if report is not None:
                page = unfinished(report) if stopped and not whole else report
                written.append(reporting.write_page(maps, page))
        except KeyboardInterrupt as error:
            if not written:
                raise
            typer.echo(f"stopped at once; the finished map is in {out}, without scores", err=True)
            raise typer.Exit(interrupt.code) from error
    if stopped:
        kept = "the finished map" if whole else "the best so far"
        further = "; the same command goes on from the finished folds" if whole else ""
        typer.echo(f"stopped: {stopped}; {kept} is kept in {out}{further}", err=True)
        raise typer.Exit(interrupt.code)
    scoring.clear(resume)
    saved = [save_fit] if save_fit is not None else []
    typer.echo("\n".join(f"wrote {file}" for file in [*written, *saved]))
    return maps


def _show(maps) -> None:
    from workbench.pipeline import scoring

    if maps.attrs.get("treatments", "none") != "none":
        typer.echo(f"what was done to the input:\n{maps.attrs['treatments']}\n")
    typer.echo(maps.attrs["summary"])
    if maps.attrs.get("extrapolates"):
        typer.echo(f"\n{maps.attrs['extrapolates']}\n")
    if "residual_check" in maps.attrs:
        typer.echo(f"\n{maps.attrs['residual_check']}\n")
    if "source_weights" in maps.attrs:
        weights = json.loads(maps.attrs["source_weights"]).items()
        told = ", ".join(f"{name} {weight:.3g}" for name, weight in weights)
        typer.echo(f"weights of the sources: {told}")
    if scoring.is_scored(maps):
        from workbench.evaluation import table

        shown = table(scoring.scores(maps)).T.map("{:g}".format)
        typer.echo(f"\n{shown.to_string()}\n\n{maps.attrs[scoring.COMPARISON]}\n")
