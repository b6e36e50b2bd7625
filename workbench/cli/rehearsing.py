"""Rehearsal on the command line: from a Spec to a file, kept where it is stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.checks import require
from workbench.cli.copied import line_of, not_the_map, tell_unused
from workbench.cli.helping import ADVANCED, MODEL, OUTPUT, USUAL, dataset_flags, model_flags
from workbench.cli.interrupt import Interrupt
from workbench.cli.mapping import disaggregate
from workbench.cli.options import (
    Quiet,
    Scheduler,
    Workers,
    computing_on,
    data_flags,
    default_model,
    further,
    regions,
)
from workbench.cli.region import flags_at
from workbench.cli.sharing import fields_of, takes
from workbench.cli.specs import write_spec
from workbench.cli.threads import set_threads
from workbench.outputs import check_output, unfinished
from workbench.pipeline import flags
from workbench.pipeline.spec import RehearseSpec

if TYPE_CHECKING:
    import xarray as xr

_OF_DATA = ("dataset", "dataset_options", "level", "areas")
_OF_MAPS = ("quantiles", "threshold", "model", "at")


@line_of(disaggregate)
@takes(data=data_flags, fields=fields_of(RehearseSpec, without=(*_OF_DATA, *_OF_MAPS)))
def rehearse(
    ctx: typer.Context,
    data: dict[str, Any],
    fields: dict[str, Any],
    out: Annotated[Path, typer.Option(
        rich_help_panel=OUTPUT, help="Result (.nc), or its tables (.json, .txt).")],
    at: Annotated[list[str] | None, typer.Option(
        rich_help_panel=MODEL, metavar="NAME=VALUE", help="Hyperparameters of the truths, which "
        "the model still learns; repeat.")] = None,
    model: Annotated[str | None, typer.Option(
        rich_help_panel=MODEL, help="vbagg (default; or auto if options of it are given), auto, "
        "centre-point, constant or aggregated-gp.")] = None,
    spec_only: Annotated[bool, typer.Option(
        "--spec-only", rich_help_panel=OUTPUT,
        help="Write the Spec to OUT as JSON; simulate nothing.")] = False,
    workers: Workers = 1,
    scheduler: Scheduler = None,
    resume: Annotated[Path | None, typer.Option(
        rich_help_panel=ADVANCED, help="Folder where finished truths are kept for good; default: "
        "OUT.resume, until all are done.")] = None,
    quiet: Quiet = False,
    *,
    unused: list[str],
) -> None:
    """Simulate truths on your own areas, refit, and say what such data can be trusted with.

    Takes a line of `workbench disaggregate`: options of its map are named, and not used.

    Example: workbench rehearse --polygons P.shp --value inc --covariates a.tif --weight pop.tif
    --truths 20 --jobs 2 --out rehearsal.nc
    """
    from workbench.pipeline import rehearsing

    model = model or default_model(ctx.args, bool(fields["hyperparameters"]), USUAL)
    known = {name: flag for name, flag in model_flags(model).items() if name not in fields}
    extra = further(ctx, {"options": known, "dataset_options": dataset_flags(data["dataset"]),
                          "at": flags_at()}, (model,))
    options = data.pop("dataset_options") | extra["dataset_options"]
    places = [text for text in at or [] if _is_place(text)]
    values = flags.named_values("--at", [text for text in at or [] if text not in places])
    spec = RehearseSpec(**data, **fields, at=values, dataset_options=options, model=model,
                        options=extra["options"])
    tell_unused("a rehearsal",
                [*(f"--at {text}" for text in places), *unused, *regions(extra["at"])])
    out = not_the_map(out, "rehearsal", (".json",) if spec_only else rehearsing.OUTPUTS)
    if not spec_only:
        with computing_on(scheduler, workers) as many:
            make_rehearsal(spec, out, quiet, many, resume)
        return
    write_spec(spec, out)


def _is_place(text: str) -> bool:
    """Whether ``--at`` names where a map is wanted, as of `workbench disaggregate`."""
    from workbench import datasets
    from workbench.pipeline.inputs import is_file

    return is_file(text) or Path(text).is_file() or text in datasets.datasets()


def make_rehearsal(spec: RehearseSpec, out: Path, quiet: bool, workers: int = 1,
                   resume: Path | None = None, made_from: Path | None = None,
                   threads: int = 1) -> xr.Dataset:
    """Rehearse and write the result; what is finished when it is stopped, too.

    Parameters
    ----------
    spec : RehearseSpec
        What to do.
    out : Path
        File to write.
    quiet : bool
        Whether to show no progress.
    workers : int
        Processes.
    resume : Path, optional
        Folder that keeps finished truths; without one it is beside ``out``, until all are done.
    made_from : Path, optional
        The file that the Spec comes from, which may not be overwritten.
    threads : int
        Threads for linear algebra.

    Returns
    -------
    xr.Dataset
        The result.

    Raises
    ------
    InputError
        If the output cannot be written, or anything of the input cannot be used.
    typer.Exit
        If it was stopped: 128 + the signal's number.
    """
    from workbench.comparison import rehearsal_text
    from workbench.pipeline import rehearsing, scoring
    from workbench.pipeline.inputs import input_files

    check_output(out, rehearsing.OUTPUTS, [*input_files(spec), made_from])
    folder = resume or scoring.resume_folder(out)
    require(not folder.is_file(), f"{str(folder)!r} is a file, but finished truths are kept in a "
            "folder of this name; move it, or give another --resume")
    set_threads(threads)
    if not quiet:
        typer.echo(f"reading {spec.source}", err=True)
    with Interrupt() as interrupt:
        result = rehearsing.rehearsed(spec, progress=not quiet, resume=folder, workers=workers)
    stopped = result.attrs.get("partial")
    typer.echo(rehearsal_text(result))
    out = unfinished(out) if stopped else out
    rehearsing.save(result, out)
    typer.echo(f"wrote {out}")
    if stopped:
        typer.echo(f"{stopped}; the same command goes on from them", err=True)
        raise typer.Exit(interrupt.code)
    if resume is None:
        scoring.clear(folder)
    return result
