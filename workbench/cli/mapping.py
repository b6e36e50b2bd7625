"""The commands that make a map: each parses into its Spec."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.checks import choose, require
from workbench.cli import running
from workbench.cli.helping import ADVANCED, MODEL, USUAL, dataset_flags, model_flags
from workbench.cli.options import (
    OF_DATA,
    Scheduler,
    data_flags,
    default_model,
    further,
    output_flags,
)
from workbench.cli.region import asked_at, flags_at, region_flags
from workbench.cli.sharing import fields_of, takes
from workbench.cli.specs import write_spec
from workbench.pipeline.base import BaseSpec
from workbench.pipeline.spec import (
    AggregateSpec,
    CombineSpec,
    EnginesSpec,
    MediateSpec,
    PredictSpec,
    SmoothSpec,
    Spec,
)


@takes(data=data_flags, fields=fields_of(Spec, without=(*OF_DATA, "at_options")),
       region=region_flags, output=output_flags)
def disaggregate(
    ctx: typer.Context,
    data: dict[str, Any],
    region: dict[str, Any],
    output: dict[str, Any],
    fields: dict[str, Any],
    model: Annotated[str | None, typer.Option(
        rich_help_panel=MODEL, help="See `workbench models`; default auto, or vbagg if options of "
        "it are given.")] = None,
    workers: Annotated[int, typer.Option(
        "--workers", "--jobs", min=0, rich_help_panel=ADVANCED,
        help="Processes of auto and of --cv; 0: own.")] = 0,
    scheduler: Scheduler = None,
) -> None:
    """Turn totals of areas into a fine map, with its uncertainty.

    Example: workbench disaggregate --polygons P.shp --value inc --covariates a.tif
    --covariates b.tif --weight pop.tif --out map.nc
    """
    usual = (USUAL,) if model is None else ()
    model = model or default_model(ctx.args, bool(fields["hyperparameters"]))
    known = {name: flag for name, flag in model_flags(model).items() if name != "workers"}
    extra = further(ctx, {"options": known, "dataset_options": dataset_flags(data["dataset"]),
                          "at": flags_at()}, (model, *usual))
    options = data.pop("dataset_options") | extra["dataset_options"]
    fields = asked_at(fields, region, extra["at"])
    _make(Spec(**data, **fields, dataset_options=options, model=model, options=extra["options"]),
          **output, workers=workers, scheduler=scheduler)


@takes(fields=fields_of(SmoothSpec, ["table"], ["model"]), output=output_flags)
def smooth(ctx: typer.Context, output: dict[str, Any], fields: dict[str, Any]) -> None:
    """Turn a table of summaries (centre, statistic, count) into a map on a grid.

    Example: workbench smooth areas.csv --statistic mean --count n --x lon --y lat --out map.nc
    """
    _make(_with_options(ctx, SmoothSpec, fields), **output)


@takes(fields=fields_of(MediateSpec, ["bags", "targets"]), output=output_flags)
def mediate(ctx: typer.Context, output: dict[str, Any], fields: dict[str, Any]) -> None:
    """Turn bags of fine covariates and targets that belong to none of them into a fine map.

    Bags and targets need the same mediators: covariates that are known of both.

    Example: workbench mediate bags.nc targets.csv --value temperature --out map.nc
    """
    _make(_with_options(ctx, MediateSpec, fields), **output)


@takes(fields=fields_of(CombineSpec, ["sources"]), output=output_flags)
def combine(
    ctx: typer.Context,
    output: dict[str, Any],
    fields: dict[str, Any],
    option: Annotated[list[str] | None, typer.Option(
        hidden=True, help="Option of the model: NAME=VALUE, the same as --NAME VALUE.")] = None,
) -> None:
    """Learn one map from several sources: stations and satellites, points and areas.

    Example: workbench combine stations=stations.nc satellite=cells.nc --at grid.nc
    --model mr-gp --composite ribatet --out map.nc
    """
    ctx.args += [f"--{pair}" for pair in option or []]
    _make(_with_options(ctx, CombineSpec, fields), **output)


@takes(fields=fields_of(AggregateSpec, ["map"], ["model", "hyperparameters"]),
       output=output_flags)
def aggregate(
    ctx: typer.Context,
    output: dict[str, Any],
    fields: dict[str, Any],
    workers: Annotated[int, typer.Option(
        min=0, rich_help_panel=ADVANCED, help="Processes, if the model is fitted again.")] = 0,
) -> None:
    """Add a map up over new polygons, with intervals from joint draws.

    Example: workbench aggregate map.nc --to zones.gpkg --id name --out zones.csv
    """
    further(ctx, {})
    _make(AggregateSpec(**fields), **output, workers=workers)


@takes(data=data_flags, fields=fields_of(
    EnginesSpec, without=(*OF_DATA, "quantiles", "threshold")), output=output_flags)
def engines(ctx: typer.Context, data: dict[str, Any], output: dict[str, Any],
            fields: dict[str, Any]) -> None:
    """Compare engines on small data: closed form, variational inference, Markov chains.

    Example: workbench engines --polygons P.shp --value inc --areas 20 --draws 300 --out e.nc
    """
    extra = further(ctx, {"options": model_flags(USUAL),
                          "dataset_options": dataset_flags(data["dataset"])}, (USUAL,))
    options = data.pop("dataset_options") | extra["dataset_options"]
    _make(EnginesSpec(**data, **fields, dataset_options=options, options=extra["options"]),
          **output)


@takes(fields=fields_of(PredictSpec, ["fit"], ["model", "hyperparameters", "at_options"]),
       region=region_flags, output=output_flags)
def predict(
    ctx: typer.Context, region: dict[str, Any], output: dict[str, Any], fields: dict[str, Any],
    scheduler: Annotated[str | None, typer.Option(
        rich_help_panel=ADVANCED, help="Where --rasters are mapped: the address of a Dask "
        "scheduler, or processes; default: threads.")] = None,
) -> None:
    """Make a map of a stored fit, where it was fitted or elsewhere; nothing is trained.

    Example: workbench disaggregate ... --out map.nc --save-fit fit.wbfit; then
    workbench predict fit.wbfit --at elsewhere.nc --out there.nc
    """
    require(scheduler is None or bool(fields["rasters"]), "--scheduler is of maps in blocks; name "
            "rasters with --rasters")
    require(output["save_fit"] is None, "nothing is fitted, so there is no new fit to save; leave "
            f"out --save-fit, and copy {fields['fit']} if you want it twice")
    extra = further(ctx, {"at": flags_at()})
    _make(PredictSpec(**asked_at(fields, region, extra["at"])), **output, scheduler=scheduler)


def _with_options(ctx: typer.Context, kind: type[BaseSpec], fields: dict[str, Any]) -> BaseSpec:
    from workbench.pipeline.problems import models_for

    model = choose("model", fields.get("model", kind.model), models_for(kind.command))
    known = {name: flag for name, flag in model_flags(model).items() if name not in fields}
    return kind(**fields, options=further(ctx, {"options": known}, [model])["options"])


def _make(spec: BaseSpec, out: Path, report: Path | None, spec_only: bool, save_fit: Path | None,
          quiet: bool, threads: int, workers: int = 0, scheduler: str | None = None) -> None:
    if not spec_only:
        running.make_map(spec, out, quiet, threads, workers=workers, save_fit=save_fit,
                         report=report, scheduler=scheduler)
        return
    require(save_fit is None, "--spec-only fits nothing, so there is no fit to save; leave out "
            "one of --spec-only and --save-fit")
    require(report is None, "--spec-only fits nothing that --report could be about; give one of "
            "the two, or run the Spec with workbench run SPEC --report FILE")
    write_spec(spec, out)
