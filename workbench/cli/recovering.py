"""Which model finds known areas again from merged totals, on the command line."""

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
from workbench.spec import Spec

OUTPUTS = (".nc", ".csv")


def recover(
    ctx: typer.Context,
    polygons: Polygons = None,
    value: Value = None,
    covariates: Covariates = None,
    weight: Weight = None,
    dataset: Dataset = None,
    level: Level = None,
    areas: Areas = None,
    model: Annotated[
        list[str] | None, typer.Option(help="A model, as NAME or NAME:option=value,option=value; "
                                       "repeat to compare.")] = None,
    levels: Annotated[
        str | None, typer.Option(help="Numbers of groups or labels of the areas, with commas; "
                                 "default: a sixth, a quarter and a third of the areas.")] = None,
    draws: Annotated[int, typer.Option(min=1, help="Groupings of each level.")] = 4,
    samples: Annotated[int, typer.Option(min=2, help="Joint draws of the areas.")] = 500,
    workers: Workers = 1,
    resume: Resume = None,
    out: Annotated[
        Path | None, typer.Option(help="Result (.nc), or its table (.csv).")] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
) -> None:
    """Merge known areas, fit to the merged totals, and score how well the areas are found again.

    The split by weight ("constant") always stands beside the models. Options that are given as
    --option value go to every model that has them.

    Example: workbench recover --dataset korea --model vbagg:kernel=linear,overdispersion=area
    --model vbagg:kernel=matern32,overdispersion=area --workers 2 --out recovered.nc
    """
    from workbench import evaluation, pipeline

    if out is not None:
        check_output(out, OUTPUTS, data_files(dataset, polygons, weight, covariates))
    name, options = source(dataset, polygons=polygons, value=value, weight=weight,
                           covariates=covariates)
    specs, _ = specs_of(ctx, model or ["vbagg"], name, options, level=level, areas=areas, seed=seed)
    models = {full: pipeline.model_of(spec) for full, spec in specs.items()}
    first = next(iter(specs.values()))
    if "constant" not in models:
        models["constant"] = pipeline.model_of(Spec(dataset=name, model="constant"))
    if not quiet:
        typer.echo(f"reading {name}", err=True)
    ds = pipeline.data_of(first)
    try:
        with Interrupt() as interrupt:
            result = evaluation.recover(
                models, ds, group_levels(levels), draws, samples=samples, seed=seed,
                workers=workers, progress=not quiet, resume=resume)
        stopped = ""
    except evaluation.Interrupted as stop:
        if stop.partial is None:
            raise
        result, stopped = stop.partial, str(stop)
    result.attrs["specs"] = json.dumps({full: spec.to_json(indent=None)
                                        for full, spec in specs.items()})
    table = evaluation.recovery_table(result)
    typer.echo(f"{table.T.map('{:g}'.format).to_string()}\n\n{result.attrs['sentence']}\n"
               f"{result.attrs['comparison']}\n{result.attrs['caveat']}")
    if out is not None:
        out = unfinished(out) if stopped else out
        deliver(lambda path: write_bytes(path, table.to_csv() if path.suffix.lower() == ".csv"
                                         else result.to_netcdf(engine="h5netcdf")), out)
        typer.echo(f"wrote {out}")
    if stopped:
        typer.echo(f"stopped: {stopped}", err=True)
        raise typer.Exit(interrupt.code)
