"""Which model to use, on the command line: by known areas found again, or by three tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.copied import line_of, not_the_map, tell_unused
from workbench.cli.helping import ADVANCED, MODEL, OUTPUT, USUAL
from workbench.cli.interrupt import Interrupt
from workbench.cli.mapping import disaggregate
from workbench.cli.options import (
    Quiet,
    Scheduler,
    Workers,
    computing_on,
    data_flags,
    default_model,
    specs_of,
)
from workbench.cli.sharing import takes
from workbench.cli.threads import set_threads
from workbench.outputs import check_output, deliver, unfinished, write_bytes
from workbench.pipeline import flags
from workbench.pipeline.spec import Spec

AUTO = "auto"
Groupings = Annotated[int, typer.Option(
    min=1, rich_help_panel=ADVANCED, help="Groupings of each level, each drawn anew.")]


def run_flags(
    levels: Annotated[str | None, typer.Option(
        rich_help_panel=ADVANCED, help="Numbers of groups to recover areas from, or labels of the "
        "areas, with commas; default: a sixth, a quarter and a third of the areas.")] = None,
    samples: Annotated[int, typer.Option(
        min=2, rich_help_panel=ADVANCED, help="Draws from each predictive distribution.")] = 500,
    workers: Workers = 1,
    scheduler: Scheduler = None,
    resume: Annotated[Path | None, typer.Option(
        rich_help_panel=ADVANCED, help="Folder where finished fits are kept.")] = None,
    seed: Annotated[int, typer.Option(
        rich_help_panel=ADVANCED, help="Seed of every random choice.")] = 0,
    fix: Annotated[list[str] | None, typer.Option(
        "--fix", rich_help_panel=MODEL, metavar="NAME=VALUE", help="Fix a hyperparameter of all "
        "models named that have any; repeat.")] = None,
    quiet: Quiet = False,
) -> dict[str, Any]:
    """How areas are recovered and fits are done: arguments of either function, and ``fixed``."""
    parts = None if levels is None else [part.strip() for part in levels.split(",")]
    groups = parts and [int(part) if part.isdigit() else part for part in parts]
    return {"levels": groups, "samples": samples, "workers": max(1, workers),
            "scheduler": scheduler, "resume": resume, "seed": seed, "progress": not quiet,
            "fixed": flags.named_values("--fix", fix or [])}


@line_of(disaggregate)
@takes(data=data_flags, run=run_flags)
def recover(
    ctx: typer.Context,
    data: dict[str, Any],
    model: Annotated[list[str] | None, typer.Option(
        rich_help_panel=MODEL, metavar="NAME[:OPTIONS]", help="A model, as NAME or "
        "NAME:option=value,option=value; repeat to compare; default: vbagg.")] = None,
    out: Annotated[Path | None, typer.Option(
        rich_help_panel=OUTPUT, help="Result (.nc), or its table (.csv).")] = None,
    groupings: Groupings = 4,
    *,
    run: dict[str, Any],
    unused: list[str],
) -> None:
    """Merge known areas, fit to the merged totals, and score how well the areas are found again.

    The split by weight ("constant") always stands beside the models. Options that are given as
    --option value go to every model that has them. Takes a line of `workbench disaggregate`.

    Example: workbench recover --dataset korea --model vbagg:kernel=linear,overdispersion=area
    --model vbagg:kernel=matern32,overdispersion=area --workers 2 --out recovered.nc
    """
    names = model or [default_model(ctx.args, bool(run["fixed"]), USUAL)]
    out = out and not_the_map(out, "recovery", (".nc", ".csv"))
    specs, models, ds = _prepared(ctx, names, data, run, out, (".nc", ".csv"), unused)
    if "constant" not in models:
        from workbench.labelled import Constant

        models["constant"] = Constant()
    from workbench import evaluation

    def write(result, path: Path) -> None:
        csv = path.suffix.lower() == ".csv"
        write_bytes(path, evaluation.recovery_table(result).to_csv() if csv
                    else result.to_netcdf(engine="h5netcdf"))

    def show(result) -> str:
        table = evaluation.recovery_table(result).T.map("{:g}".format)
        told = "\n".join(result.attrs[name] for name in ("sentence", "comparison", "caveat"))
        return f"{table.to_string()}\n\n{told}"

    _finish(lambda: _done(evaluation.recover, models, ds, draws=groupings, **run), specs, out,
            lambda result: result.attrs, show, write)


@line_of(disaggregate)
@takes(data=data_flags, run=run_flags)
def compare(
    ctx: typer.Context,
    data: dict[str, Any],
    model: Annotated[list[str] | None, typer.Option(
        rich_help_panel=MODEL, metavar="NAME[:OPTIONS]", help="A model beside those always "
        "compared, as NAME or NAME:option=value,option=value; repeat for more.")] = None,
    without: Annotated[list[str] | None, typer.Option(
        rich_help_panel=MODEL, metavar="NAME",
        help="A model to leave out, such as auto; repeat for more.")] = None,
    effort: Annotated[str, typer.Option(
        rich_help_panel=MODEL, help="Of the model auto: quick, normal or thorough.")] = "normal",
    out: Annotated[Path | None, typer.Option(
        rich_help_panel=OUTPUT, help="Report (.html, .txt), table (.csv) or all (.nc).")] = None,
    folds: Annotated[int, typer.Option(
        "--folds", "--cv", min=2, rich_help_panel=ADVANCED, help="Folds of held-out areas.")] = 10,
    scheme: Annotated[str, typer.Option(
        "--scheme", "--folds-scheme", rich_help_panel=ADVANCED, help="How areas are held out, with "
        "commas: random, blocks, stratified, or a label of the areas.")] = "random,blocks",
    groupings: Groupings = 2,
    only: Annotated[str | None, typer.Option(
        rich_help_panel=ADVANCED, help="Tests to do alone, with commas: individuals, recovered, or "
        "a scheme; default: all that the data allow.")] = None,
    *,
    run: dict[str, Any],
    unused: list[str],
) -> None:
    """Compare simple baselines, the default model and others, and say which one to use.

    Always compared are the population split, a GLM on totals, dasymetric classes, Poisson
    kriging and the model auto. Tests: areas held out, areas recovered from merged totals, and the
    individuals inside the areas where the dataset knows them. Options that are given as --option
    value go to every model named that has them. Takes a line of `workbench disaggregate`.

    Example: workbench compare --dataset korea --model vbagg:kernel=matern32 --workers 2
    --resume kept --out verdict.html
    """
    names = model or [default_model(ctx.args, bool(run["fixed"]))]
    names = [*([] if AUTO in (without or []) else [AUTO]), *(n for n in names if n != AUTO)]
    formats = (".html", ".nc", ".csv", ".txt")
    out = out and not_the_map(out, "comparison", formats)
    specs, models, ds = _prepared(ctx, names, data, run, out, formats, unused, effort)
    from workbench import comparison

    schemes = [part.strip() for part in scheme.split(",")]
    _finish(lambda: _done(
        comparison.compare, ds, models | dict.fromkeys(without or []), folds=folds,
        scheme=schemes, draws=groupings, effort=effort,
        only=only and [part.strip() for part in only.split(",")], **run), specs, out,
        lambda result: result.data.attrs,
        lambda result: result.to_text(), _write_verdict)


def _done(function: Callable[..., Any], *given: Any, scheduler: str | None, workers: int,
          **options: Any) -> Any:
    with computing_on(scheduler, workers) as many:
        return function(*given, workers=many, **options)


def _prepared(ctx: typer.Context, names: list[str], data: dict[str, Any],
              run: dict[str, Any], out: Path | None, formats: tuple[str, ...],
              unused: list[str], effort: str | None = None) -> tuple[dict, dict, Any]:
    """Specs and models by the text that asks for them, and the data."""
    from workbench.pipeline.inputs import data_of, input_files
    from workbench.pipeline.problems import model_of

    if out is not None:
        check_output(out, formats, input_files(Spec(**data)))
    specs, of_data, elsewhere = specs_of(ctx, names, data, run["seed"], run.pop("fixed"))
    tell_unused("a comparison", [*unused, *elsewhere])
    set_threads()
    if effort and AUTO in specs:
        options = specs[AUTO].options.plain() | {"effort": effort}
        specs[AUTO] = replace(specs[AUTO], options=options)
    # one process of auto: the fits of the comparison already share the processors
    models = {full: model_of(spec, 1 if full == AUTO and effort else None)
              for full, spec in specs.items()}
    if run["progress"]:
        typer.echo(f"reading {of_data.source}", err=True)
    return specs, models, data_of(of_data)


def _finish(work: Callable[[], Any], specs: dict[str, Spec], out: Path | None,
            attributes: Callable[[Any], dict], show: Callable[[Any], str],
            write: Callable[[Any, Path], None]) -> None:
    """Do the work, show its result and write it, under another name if it was stopped."""
    from workbench import evaluation

    stopped = ""
    with Interrupt() as interrupt:
        try:
            result = work()
        except evaluation.Interrupted as stop:
            if stop.partial is None:
                raise
            result, stopped = stop.partial, str(stop)
    texts = {full: spec.to_json(indent=None) for full, spec in specs.items()}
    attributes(result)["specs"] = json.dumps(texts)
    typer.echo(show(result))
    if out is not None:
        out = unfinished(out) if stopped else out
        deliver(lambda path: write(result, path), out)
        typer.echo(f"wrote {out}")
    if stopped:
        typer.echo(f"stopped: {stopped}", err=True)
        raise typer.Exit(interrupt.code)


def _write_verdict(result, out: Path) -> None:
    suffix = out.suffix.lower()
    if suffix == ".nc":
        result.to_netcdf(out)
    elif suffix == ".html":
        write_bytes(out, result.to_html())
    else:
        write_bytes(out, result.table().to_csv() if suffix == ".csv" else result.to_text() + "\n")
