"""Which model to use, in one call: plain methods and others by three tests, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import (
    Areas,
    Covariates,
    Dataset,
    Level,
    Polygons,
    Quiet,
    Resume,
    Seed,
    Value,
    Weight,
    Workers,
    group_levels,
    source,
    specs_of,
)
from workbench.cli.running import data_files
from workbench.interrupt import Interrupt
from workbench.outputs import check_output, deliver, unfinished, write_bytes

OUTPUTS = (".html", ".nc", ".csv", ".txt")


def compare(
    ctx: typer.Context,
    polygons: Polygons = None,
    value: Value = None,
    covariates: Covariates = None,
    weight: Weight = None,
    dataset: Dataset = None,
    level: Level = None,
    areas: Areas = None,
    model: Annotated[
        list[str] | None, typer.Option(help="A model beside those always compared, as NAME or "
                                       "NAME:option=value,option=value; repeat for more.")] = None,
    without: Annotated[
        list[str] | None, typer.Option(help="A model to leave out, such as auto; repeat for more."
                                       )] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of held-out areas.")] = 10,
    scheme: Annotated[
        str, typer.Option(help="How areas are held out, with commas: random, blocks, stratified, "
                          "or a label of the areas.")] = "random,blocks",
    levels: Annotated[
        str | None, typer.Option(help="Numbers of groups to recover areas from, or labels of the "
                                 "areas, with commas; default: a sixth, a quarter and a third of "
                                 "the areas.")] = None,
    draws: Annotated[int, typer.Option(min=1, help="Groupings of each level.")] = 2,
    samples: Annotated[
        int, typer.Option(min=2, help="Draws from each predictive distribution.")] = 500,
    effort: Annotated[
        str, typer.Option(help="Of the model auto: quick, normal or thorough.")] = "normal",
    workers: Workers = 1,
    resume: Resume = None,
    out: Annotated[
        Path | None, typer.Option(help="Report (.html, .txt), table (.csv) or all (.nc).")] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Compare plain methods, the default model and others, and say which one to use.

    Always compared are the split by population, a GLM on totals, dasymetric classes, Poisson
    kriging and the model auto. Tests: areas held out, areas recovered from merged totals, and the
    individuals inside the areas where the dataset knows them. Options that are given as --option
    value go to every model named that has them.

    Example: workbench compare --dataset korea --model vbagg:kernel=matern32 --workers 2
    --resume kept --out verdict.html
    """
    from workbench import evaluation, pipeline

    if out is not None:
        check_output(out, OUTPUTS, data_files(dataset, polygons, weight, covariates))
    name, options = source(dataset, polygons=polygons, value=value, weight=weight,
                           covariates=covariates)
    specs, data = specs_of(ctx, model or [], name, options, level=level, areas=areas, seed=seed)
    models = {full: pipeline.model_of(spec) for full, spec in specs.items()}
    models |= dict.fromkeys(without or [])
    if not quiet:
        typer.echo(f"reading {name}", err=True)
    ds = pipeline.data_of(data)
    try:
        with Interrupt() as interrupt:
            result, stopped = evaluation.compare(
                ds, models, folds=folds, scheme=[part.strip() for part in scheme.split(",")],
                levels=group_levels(levels), draws=draws, samples=samples, seed=seed,
                workers=workers, progress=not quiet, resume=resume, effort=effort), ""
    except evaluation.Interrupted as stop:
        if stop.partial is None:
            raise
        result, stopped = stop.partial, str(stop)
    result.data.attrs["specs"] = json.dumps({full: spec.to_json(indent=None)
                                             for full, spec in specs.items()})
    typer.echo(result.to_text())
    if out is not None:
        out = unfinished(out) if stopped else out
        deliver(lambda path: _write(result, path), out)
        typer.echo(f"wrote {out}")
    if stopped:
        typer.echo(f"stopped: {stopped}", err=True)
        raise typer.Exit(interrupt.code)


def _write(result, out: Path) -> None:
    suffix = out.suffix.lower()
    if suffix == ".nc":
        result.to_netcdf(out)
    elif suffix == ".html":
        write_bytes(out, result.to_html())
    else:
        write_bytes(out, result.table().to_csv() if suffix == ".csv" else result.to_text() + "\n")
