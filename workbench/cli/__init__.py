"""The command line: every command parses into a Spec or looks something up, nothing more.

Heavy packages are imported inside the commands, so that ``workbench --help`` answers at once.
Exit codes: 0 done; 1 a fault of ours (a log has the traceback), or of ``check`` an error found in
the data; 2 the input cannot be used (one message says why); 130 stopped by Ctrl-C, and 128 + n by
signal n.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from workbench.checks import InputError, choose, require
from workbench.cli import (
    checking,
    comparing,
    docs,
    explaining,
    mapping,
    papers,
    plotting,
    rehearsing,
    reporting,
    running,
)
from workbench.cli.boundary import guarded
from workbench.cli.helping import PASS_ON, WIDTH, GroupedCommand, dataset_flags, model_help
from workbench.cli.options import Quiet, Scheduler, Threads, Workers, computing_on
from workbench.cli.threads import set_threads
from workbench.pipeline.base import BaseSpec, existing
from workbench.pipeline.spec import RehearseSpec


class Guarded(TyperGroup):
    """The group of commands: whatever goes wrong ends in one message, not in a traceback."""

    def invoke(self, ctx: typer.Context) -> Any:
        """Run the command that was asked for."""
        return guarded(lambda: super(Guarded, self).invoke(ctx))


app = typer.Typer(
    name="workbench", cls=Guarded, no_args_is_help=True, add_completion=False,
    rich_markup_mode=None, pretty_exceptions_enable=False,
    context_settings={"max_content_width": WIDTH},
    help="Learn fine-scale fields from coarse (aggregate) data with Gaussian processes.",
)


def main() -> None:
    """Entry point of the console script."""
    warnings.formatwarning = lambda message, *where: f"warning: {message}\n"
    app(prog_name="workbench")


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"aggregate-workbench {version('aggregate-workbench')}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True,
                           help="Show the version.")] = False,
) -> None:
    pass


for command in (mapping.disaggregate, mapping.smooth, mapping.mediate, mapping.combine,
                mapping.aggregate, mapping.engines, comparing.compare, comparing.recover,
                rehearsing.rehearse, checking.check, mapping.predict):
    app.command(cls=GroupedCommand, context_settings=PASS_ON)(command)
app.command()(plotting.plot)
app.command()(reporting.report)
app.command()(reporting.notebook)
app.command()(explaining.explain)
app.command()(docs.docs)
app.command("experiments")(papers.describe)


@app.command()
def run(
    spec: Annotated[
        Path | None, typer.Argument(help="A Spec as JSON, or a map that carries its own.")] = None,
    experiment: Annotated[
        str | None, typer.Option(help="Do a paper's experiment; see `workbench experiments`.")
    ] = None,
    preset: Annotated[
        str, typer.Option(help="Of the experiment: quick, or paper for the full runs.")] = "quick",
    only: Annotated[
        list[str] | None,
        typer.Option(help="Of the experiment the runs with setting=value; repeat.")] = None,
    stale: Annotated[
        bool, typer.Option("--stale", help="Of the experiment: do runs again whose code has "
                           "changed since, or was not hashed then.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Of the experiment: do runs that OUT holds again, say "
                           "whether they are the same, and write nothing.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; default: SPEC, or EXPERIMENT-PRESET, with .nc.")] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also write all that is known of the map as one page, "
                                  ".html.")] = None,
    quiet: Quiet = False,
    threads: Threads = 1,
    workers: Workers = 1,
    scheduler: Scheduler = None,
) -> None:
    """Run a Spec, make a map again from the Spec that it carries, or do a paper's experiment.

    A map that is made again is compared with what it was: the same to the bit, or how far each
    variable is away. Runs of an experiment that OUT already holds are not done again, unless they
    failed, or --stale is given and their code has changed; without it they are listed.
    """
    if (spec is None) == (experiment is None):
        raise InputError("give a file with a Spec or --experiment NAME, one of the two")
    if experiment is not None:
        require(report is None, "--report is for maps; the results of experiments are in the docs")
        set_threads(threads)
        if check:
            papers.check(experiment, preset, only or [], out)
            return
        with computing_on(scheduler, workers) as many:
            papers.run(experiment, preset, only or [], out, quiet, stale, many)
        return
    if only or stale or check or preset != "quick":
        raise InputError("--preset, --only, --stale and --check are for --experiment")
    carried = existing("Spec", spec).suffix.lower() == ".nc"
    if carried and out is None:
        raise InputError(f"give --out: without it {spec} would be overwritten")
    with computing_on(scheduler, workers) as many:
        _repeat(spec, carried, out or spec.with_suffix(".nc"), quiet, threads, report, many)


def _repeat(path: Path, carried: bool, out: Path, quiet: bool, threads: int,
            report: Path | None, workers: int) -> None:
    if carried:
        from workbench.pipeline.run import spec_of

        spec = spec_of(path)
    else:
        spec = BaseSpec.read(path)
    if isinstance(spec, RehearseSpec):
        require(report is None, "--report is a page on a map, and a rehearsal makes none; leave "
                "it out")
        made = rehearsing.make_rehearsal(spec, out, quiet, workers, made_from=path,
                                         threads=threads)
    else:
        made = running.make_map(spec, out, quiet, threads, path, workers, report=report)
    if carried:
        from workbench import geo
        from workbench.pipeline.matching import matched

        typer.echo(matched(geo.read(path), made, str(path)))


@app.command("datasets")
def list_datasets(name: Annotated[str | None, typer.Argument(help="One dataset.")] = None) -> None:
    """List the datasets, or the options of one."""
    from workbench import datasets

    known = datasets.datasets()
    if name is None:
        for title, summary in known.items():
            typer.echo(f"{title:<20} {summary}")
        typer.echo("\n`workbench datasets NAME` lists its options.")
    else:
        choose("dataset", name, known)
        typer.echo(f"{name}: {known[name]}")
        for flag in dataset_flags(name).values():
            typer.echo(flag.describe())


@app.command("models")
def list_models(name: Annotated[str | None, typer.Argument(help="One model.")] = None) -> None:
    """List the models with their options: default, meaning, bounds, choices."""
    from workbench.labelled import models

    known = models()
    if name is not None:
        choose("model", name, known)
    typer.echo("\n\n".join(model_help(title) for title in known if name in (None, title)))


@app.command()
def serve(
    names: Annotated[list[str] | None, typer.Argument(help="Apps to serve; default: all.")] = None,
    port: Annotated[int, typer.Option(help="Port to listen on.")] = 5006,
    address: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    origin: Annotated[
        list[str] | None,
        typer.Option(help="HOST:PORT as browsers see it, needed beyond this machine.")] = None,
) -> None:
    """Serve the apps to browsers, by default on this machine alone."""
    from workbench.ui import serving

    serving.serve(names or [], port, address, origin or [])


if __name__ == "__main__":
    sys.exit(main())
