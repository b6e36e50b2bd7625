"""Which model finds known areas again from merged totals, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from workbench.checks import choose, require
from workbench.cli.options import source, specs_of
from workbench.spec import Spec

OUTPUTS = (".nc", ".csv")


def recover(
    ctx: typer.Context,
    polygons: Annotated[Path | None, typer.Option(help="Areas: shapefile, GPKG, GeoJSON.")] = None,
    value: Annotated[str | None, typer.Option(help="Column of the areas that was counted.")] = None,
    covariates: Annotated[
        list[Path] | None, typer.Option(help="A covariate raster; repeat for more.")] = None,
    weight: Annotated[Path | None, typer.Option(help="Raster of population.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="Named dataset, or a bagged .nc, instead of files.")] = None,
    level: Annotated[str | None, typer.Option(help="Merge the areas up to this level.")] = None,
    areas: Annotated[int | None, typer.Option(help="Merge neighbours to this many areas.")] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="A model, as NAME or NAME:option=value,option=value; "
                                       "repeat to compare.")] = None,
    levels: Annotated[
        str | None, typer.Option(help="Numbers of groups or labels of the areas, with commas; "
                                 "default: a sixth, a quarter and a third of the areas.")] = None,
    draws: Annotated[int, typer.Option(min=1, help="Groupings of each level.")] = 4,
    samples: Annotated[int, typer.Option(min=2, help="Joint draws of the areas.")] = 500,
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    resume: Annotated[
        Path | None, typer.Option(help="Folder where finished fits are kept.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Result (.nc), or its table (.csv).")] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
) -> None:
    """Merge known areas, fit to the merged totals, and score how well the areas are found again.

    The split by weight ("constant") always stands beside the models. Options that are given as
    --option value go to every model that has them.

    Example: workbench recover --dataset korea --model vbagg:kernel=linear,overdispersion=area
    --model vbagg:kernel=matern32,overdispersion=area --workers 2 --out recovered.nc
    """
    from workbench import evaluation, pipeline

    if out is not None:
        _check_output(out)
    files = {"polygons": polygons, "value": value, "weight": weight,
             "covariates": covariates or None}
    name, options = source(dataset, {k: v for k, v in files.items() if v is not None})
    specs, _ = specs_of(ctx, model or ["vbagg"], name, options, level=level, areas=areas, seed=seed)
    models = {full: pipeline.model_of(spec) for full, spec in specs.items()}
    first = next(iter(specs.values()))
    if "constant" not in models:
        models["constant"] = pipeline.model_of(Spec(dataset=name, model="constant"))
    if not quiet:
        typer.echo(f"reading {name}", err=True)
    ds = pipeline.data_of(first)
    try:
        result = evaluation.recover(models, ds, group_levels(levels), draws, samples=samples,
                                    seed=seed, workers=workers, progress=not quiet, resume=resume)
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
        if stopped:
            out = out.with_name(f"{out.stem}.partial{out.suffix}")
        if out.suffix == ".csv":
            table.to_csv(out)
        else:
            result.to_netcdf(out, engine="h5netcdf")
        typer.echo(f"wrote {out}")
    if stopped:
        typer.echo(f"stopped: {stopped}", err=True)
        raise typer.Exit(130)


def _check_output(out: Path) -> None:
    choose("format of the output", out.suffix, OUTPUTS)
    require(out.parent.is_dir(), f"the folder {str(out.parent)!r} of the output does not exist; "
            "make it first")


def group_levels(text: str | None) -> list[int | str] | None:
    """Numbers of groups or labels of the areas, from text with commas."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    return [int(part) if part.isdigit() else part for part in parts]
