"""Which model to use, in one call: plain methods and others by three tests, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from workbench.checks import choose, require
from workbench.cli.options import source, specs_of
from workbench.cli.recovering import group_levels

OUTPUTS = (".html", ".nc", ".csv", ".txt")


def compare(
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
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    resume: Annotated[
        Path | None, typer.Option(help="Folder where finished fits are kept.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Report (.html, .txt), table (.csv) or all (.nc).")] = None,
    seed: Annotated[int, typer.Option(help="Seed of every random choice.")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bar.")] = False,
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
        choose("format of the output", out.suffix, OUTPUTS)
        require(out.parent.is_dir(), f"the folder {str(out.parent)!r} of the output does not "
                "exist; make it first")
    files = {"polygons": polygons, "value": value, "weight": weight,
             "covariates": covariates or None}
    name, options = source(dataset, {k: v for k, v in files.items() if v is not None})
    specs, data = specs_of(ctx, model or [], name, options, level=level, areas=areas, seed=seed)
    models = {full: pipeline.model_of(spec) for full, spec in specs.items()}
    models |= dict.fromkeys(without or [])
    if not quiet:
        typer.echo(f"reading {name}", err=True)
    ds = pipeline.data_of(data)
    try:
        result, stopped = evaluation.compare(
            ds, models, folds=folds, scheme=[part.strip() for part in scheme.split(",")],
            levels=group_levels(levels), draws=draws, samples=samples, seed=seed, workers=workers,
            progress=not quiet, resume=resume, effort=effort), ""
    except evaluation.Interrupted as stop:
        if stop.partial is None:
            raise
        result, stopped = stop.partial, str(stop)
    result.data.attrs["specs"] = json.dumps({full: spec.to_json(indent=None)
                                             for full, spec in specs.items()})
    typer.echo(result.to_text())
    if out is not None:
        if stopped:
            out = out.with_name(f"{out.stem}.partial{out.suffix}")
        _write(result, out)
        typer.echo(f"wrote {out}")
    if stopped:
        typer.echo(f"stopped: {stopped}", err=True)
        raise typer.Exit(130)


def _write(result, out: Path) -> None:
    if out.suffix == ".html":
        result.to_html(out)
    elif out.suffix == ".nc":
        result.to_netcdf(out)
    elif out.suffix == ".csv":
        result.table().to_csv(out)
    else:
        out.write_text(result.to_text() + "\n", encoding="utf-8")
