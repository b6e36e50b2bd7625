"""The command line: every command parses into a Spec or looks something up, nothing more.

Heavy packages are imported inside the commands, so that ``workbench --help`` answers at once.
Exit codes: 0 done; 1 a fault of ours (a log has the traceback); 2 the input cannot be used (one
message says why); 130 stopped by Ctrl-C, and 128 + n by signal n.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from workbench import flags
from workbench.checks import InputError, choose
from workbench.cli import (
    combining,
    comparing,
    mediating,
    papers,
    plotting,
    recovering,
    running,
    smoothing,
)
from workbench.cli.boundary import guarded
from workbench.cli.options import (
    Areas,
    Covariates,
    Dataset,
    Level,
    Polygons,
    Quiet,
    Seed,
    Value,
    Weight,
    bagging_help,
    dataset_flags,
    default_model,
    model_flags,
    model_help,
    models_help,
    source,
)
from workbench.outputs import check_output, write_bytes
from workbench.spec import Spec, existing

PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


class Guarded(TyperGroup):
    """The group of commands: whatever goes wrong ends in one message, not in a traceback."""

    def invoke(self, ctx: typer.Context) -> Any:
        """Run the command that was asked for."""
        return guarded(lambda: super(Guarded, self).invoke(ctx))


class WithModelOptions(TyperCommand):
    """A command whose help ends with the options of the models, taken from the registry."""

    def get_help(self, ctx: typer.Context) -> str:
        """Help of the command, then one line for each option of each model."""
        return f"{super().get_help(ctx)}\n\n{bagging_help()}\n\n{models_help()}"


app = typer.Typer(
    name="workbench", cls=Guarded, no_args_is_help=True, add_completion=False,
    rich_markup_mode=None, pretty_exceptions_enable=False,
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


@app.command(cls=WithModelOptions, context_settings=PASS_ON)
def disaggregate(
    ctx: typer.Context,
    out: Annotated[Path, typer.Option(help="File to write: .nc, .tif or .gpkg.")],
    polygons: Polygons = None,
    value: Value = None,
    covariates: Covariates = None,
    weight: Weight = None,
    dataset: Dataset = None,
    level: Level = None,
    areas: Areas = None,
    model: Annotated[str | None, typer.Option(
        help="See `workbench models`; default auto, or vbagg if options of it are given.")] = None,
    fix: Annotated[
        list[str] | None, typer.Option(help="Hold a hyperparameter: name=value; repeat.")] = None,
    quantiles: Annotated[str, typer.Option(help="Levels of the quantile maps.")] = "0.05,0.5,0.95",
    threshold: Annotated[
        float | None, typer.Option(help="Map the probability that the rate exceeds it.")] = None,
    area_effect: Annotated[
        bool, typer.Option("--area-effect", help="Include what is particular to each area.")
    ] = False,
    cv: Annotated[int, typer.Option(help="Folds of held-out-area cross-validation.")] = 0,
    folds_scheme: Annotated[str, typer.Option(
        help="Of --cv: random, blocks (compact on the map), stratified, or a label.")] = "random",
    rescale_to_totals: Annotated[bool, typer.Option(
        "--rescale-to-totals", help="Let the map add up to observed totals.")] = False,
    workers: Annotated[int, typer.Option(min=0, help="Processes of auto and of --cv; 0: own.")] = 0,
    seed: Seed = 0,
    spec_only: Annotated[
        bool, typer.Option("--spec-only", help="Write the Spec to OUT as JSON; fit nothing.")
    ] = False,
    quiet: Quiet = False,
    threads: Annotated[int, typer.Option(
        min=1, help="Threads for linear algebra; more help on millions of pixels only.")] = 1,
) -> None:
    """Turn totals of areas into a fine map, with its uncertainty.

    Example: workbench disaggregate --polygons P.shp --value inc --covariates a.tif
    --covariates b.tif --weight pop.tif --out map.nc
    """
    _set_threads(threads)
    name, options = source(dataset, polygons=polygons, value=value, weight=weight,
                           covariates=covariates)
    if model is None:
        model = default_model(ctx.args, bool(fix))
    groups = {"options": model_flags(model), "dataset_options": dataset_flags(name)}
    known = [p.name for p in ctx.command.params if p.name]
    extra = flags.assign(flags.pairs(ctx.args), groups, known)
    if workers and "workers" in groups["options"]:
        extra["options"]["workers"] = workers
    spec = Spec(
        dataset=name, dataset_options=options | extra["dataset_options"], level=level, areas=areas,
        model=model, options=extra["options"],
        hyperparameters=flags.named_values("--fix", fix or []),
        quantiles=flags.convert(flags.Flag("quantiles", (tuple,), ()), quantiles),
        threshold=threshold, area_effect=area_effect, folds=cv, seed=seed,
        folds_scheme=folds_scheme, rescale_to_totals=rescale_to_totals,
    )
    if spec_only:
        check_output(out, inputs=running.inputs(spec))
        write_bytes(out, spec.to_json() + "\n")
        typer.echo(f"wrote {out}; run it with: workbench run {out}")
    else:
        running.make_map(spec, out, quiet, workers=max(1, workers))


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
    out: Annotated[
        Path | None,
        typer.Option(help="File to write; default: SPEC, or EXPERIMENT-PRESET, with .nc.")] = None,
    quiet: Quiet = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads for linear algebra.")] = 1,
) -> None:
    """Run a Spec, make a map again from the Spec that it carries, or do a paper's experiment.

    Runs of an experiment that OUT already holds are not done again.
    """
    if (spec is None) == (experiment is None):
        raise InputError("give a file with a Spec or --experiment NAME, one of the two")
    _set_threads(threads)
    if experiment is not None:
        papers.run(experiment, preset, only or [], out, quiet)
        return
    if only or preset != "quick":
        raise InputError("--preset and --only are for --experiment")
    if existing("Spec", spec).suffix.lower() == ".nc":
        from workbench.pipeline import spec_of

        if out is None:
            raise InputError(f"give --out: without it {spec} would be overwritten")
        running.make_map(spec_of(spec), out, quiet, made_from=spec)
    else:
        running.make_map(Spec.read(spec), out or spec.with_suffix(".nc"), quiet, made_from=spec)


@app.command("experiments")
def list_experiments(
    name: Annotated[str | None, typer.Argument(help="One experiment.")] = None
) -> None:
    """List the papers' experiments, or what one deviates in and what the paper prints."""
    papers.describe(name)


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
    typer.echo("\n\n".join(model_help(title, known[title])
                           for title in known if name in (None, title)))


app.command()(smoothing.smooth)
app.command()(mediating.mediate)
app.command()(combining.combine)
app.command()(plotting.plot)
app.command(cls=WithModelOptions, context_settings=PASS_ON)(recovering.recover)
app.command(cls=WithModelOptions, context_settings=PASS_ON)(comparing.compare)


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
    from workbench import serving

    serving.serve(names or [], port, address, origin or [])


def _set_threads(threads: int) -> None:
    # Small matrices gain nothing from threads that wait for each other, and on a busy machine
    # they lose much.
    import torch

    torch.set_num_threads(threads)


if __name__ == "__main__":
    sys.exit(main())
