"""Flags of the data, of comparisons and of output, and the Specs that come of them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.checks import InputError, choose, require
from workbench.cli.helping import (
    ADVANCED,
    DATA,
    OUTPUT,
    USUAL,
    dataset_flags,
    has_hyperparameters,
    model_flags,
)
from workbench.cli.region import flags_at
from workbench.gp.models.retired import refuse_retired
from workbench.pipeline import flags
from workbench.pipeline.spec import Spec

Quiet = Annotated[bool, typer.Option("--quiet", rich_help_panel=ADVANCED, help="No progress bar.")]
Threads = Annotated[int, typer.Option(
    min=1, rich_help_panel=ADVANCED,
    help="Threads for linear algebra; more threads pay only on millions of pixels.")]
Workers = Annotated[int, typer.Option(
    "--workers", "--jobs", min=0, rich_help_panel=ADVANCED, help="Processes; 0 is one.")]
Scheduler = Annotated[str | None, typer.Option(
    rich_help_panel=ADVANCED, help="Do the fits on the workers of a Dask cluster: the address of "
    "its scheduler, or processes; in place of --workers.")]

OF_DATA = ("dataset", "dataset_options", "level", "areas", "model")    # fields that are no flags


@contextlib.contextmanager
def computing_on(scheduler: str | None, workers: int) -> Iterator[int]:
    """Within it fits are done on a cluster, if one is named.

    Parameters
    ----------
    scheduler : str, optional
        See `workbench.geo.scheduled`.
    workers : int
        Processes without one; 0 is left to the work.

    Yields
    ------
    int
        How many workers to ask for.
    """
    if scheduler is None:
        yield workers
        return
    from workbench.evaluation.parallel import active_client
    from workbench.geo import scheduled

    with scheduled(scheduler):
        yield max(2, sum(active_client().nthreads().values()))


def data_flags(
    polygons: Annotated[Path | None, typer.Option(
        rich_help_panel=DATA, help="Areas: shapefile, GPKG, GeoJSON, or a coarse grid (.nc, "
        ".tif) of observed means, whose cells they are.")] = None,
    value: Annotated[str | None, typer.Option(
        rich_help_panel=DATA, help="Column of the areas that was counted or measured; of a "
        "grid its variable.")] = None,
    trials: Annotated[str | None, typer.Option(
        rich_help_panel=DATA, help="Column of how many were tested, of whom --value were "
        "positive.")] = None,
    totals: Annotated[Path | None, typer.Option(
        rich_help_panel=DATA, help="Table (.csv, .parquet) with --value, joined to the polygons "
        "by --join.")] = None,
    join: Annotated[str | None, typer.Option(
        rich_help_panel=DATA, help="Column of --totals with the areas' ids (of the polygons: --id, "
        "or the same name).")] = None,
    covariates: Annotated[list[Path] | None, typer.Option(
        rich_help_panel=DATA, help="A covariate raster, or of --children a column; repeat for "
        "more. Without any the map follows place alone.")] = None,
    weight: Annotated[Path | None, typer.Option(
        rich_help_panel=DATA, help="Raster of population, or of --children a column; or area "
        "(km² of each pixel, the default), or uniform.")] = None,
    children: Annotated[Path | None, typer.Option(
        rich_help_panel=DATA, help="Small polygons inside the areas, in the place of pixels; "
        "--parent is their column with the area's id.")] = None,
    parent: Annotated[str | None, typer.Option(
        rich_help_panel=DATA, help="Column of --children with the id of the larger area.")] = None,
    points: Annotated[Path | None, typer.Option(
        rich_help_panel=DATA, help="Table (.csv, .parquet) or layer (.gpkg, .shp, .geojson) of "
        "points with --value, in the place of areas; columns x and y or lon and lat, else --x and "
        "--y.")] = None,
    dataset: Annotated[str | None, typer.Option(
        rich_help_panel=DATA, help="Named dataset, or a bagged .nc, instead of files.")] = None,
    level: Annotated[str | None, typer.Option(
        rich_help_panel=DATA, help="Merge the areas up to this level.")] = None,
    areas: Annotated[int | None, typer.Option(
        rich_help_panel=DATA, help="Merge neighbours to this many areas.")] = None,
) -> dict[str, Any]:
    """The fields of a Spec that say what its data are, from --dataset or from files.

    Returns
    -------
    dict
        dataset, dataset_options, level and areas.

    Raises
    ------
    InputError
        If both are given, or files are missing.
    """
    given = {"polygons": polygons, "value": value, "trials": trials, "totals": totals,
             "join": join, "weight": weight, "covariates": covariates, "children": children,
             "parent": parent, "points": points}
    files = {name: one for name, one in given.items() if one is not None and one != []}
    merging = {"level": level, "areas": areas}
    if dataset is not None:
        if files:
            raise InputError(f"--dataset and --{next(iter(files))} both give data; keep one")
        return {"dataset": dataset, "dataset_options": {}, **merging}
    if "points" in files:
        require("value" in files, "missing --value; give the column of --points that was measured")
        wrong = [f"--{name}" for name in ("polygons", "totals", "join", "children", "parent")
                 if name in files]
        require(not wrong, f"--points and {', '.join(wrong)} both give data; keep one")
        return {"dataset": "points", "dataset_options": files, **merging}
    if "children" in files:
        missing = [f"--{name}" for name in ("parent", "value") if name not in files]
        require(not missing, f"missing {' and '.join(missing)}; give --children FILE, --parent "
                "COLUMN of the areas' ids, and --value COLUMN of the children, of --totals or of "
                "--polygons")
        return {"dataset": "children", "dataset_options": {
            name: [str(c) for c in one] if name == "covariates" else one
            for name, one in files.items()}, **merging}
    require("parent" not in files, "--parent is a column of small polygons; give --children FILE")
    missing = [f"--{name}" for name in ("polygons", "value") if name not in files]
    if missing:
        raise InputError(f"missing {' and '.join(missing)}; give --polygons FILE and --value "
                         "COLUMN (--covariates and --weight may be left out: place alone, every "
                         "km² alike), or --dataset NAME")
    return {"dataset": "polygons", "dataset_options": files, **merging}


def output_flags(
    out: Annotated[Path, typer.Option(
        rich_help_panel=OUTPUT, help="File to write: .nc, .gpkg, .parquet or .csv; maps of pixels "
        "also .tif and .cog.tif.")],
    report: Annotated[Path | None, typer.Option(
        rich_help_panel=OUTPUT, help="Also write all that is known of the map as one page, "
        ".html.")] = None,
    spec_only: Annotated[bool, typer.Option(
        "--spec-only", rich_help_panel=OUTPUT,
        help="Write the Spec to OUT (.json); fit nothing.")] = False,
    save_fit: Annotated[Path | None, typer.Option(
        rich_help_panel=OUTPUT, help="Write the fit, too (.wbfit), for workbench predict.")] = None,
    quiet: Quiet = False,
    threads: Threads = 1,
) -> dict[str, Any]:
    """Where a map goes, and how its making is shown.

    Returns
    -------
    dict
        out, report, spec_only, save_fit, quiet and threads.
    """
    return {"out": out, "report": report, "spec_only": spec_only, "save_fit": save_fit,
            "quiet": quiet, "threads": threads}


def further(ctx: typer.Context, groups: dict[str, dict[str, flags.Flag]],
            models: Iterable[str] = ()) -> dict[str, dict]:
    """The values of flags that the command does not declare itself.

    Parameters
    ----------
    ctx : typer.Context
        Of the command.
    groups : dict
        Flags by name, for each group that may know them.
    models : iterable of str
        Models whose options are among them.

    Returns
    -------
    dict
        For each group, values by name.
    """
    require(not (ctx.params.get("children") and any(
        one == "--time" or one.startswith("--time=") for one in ctx.args)), "--time is of areas "
        "over a raster: totals of several periods go with --polygons and --weight, not with "
        "--children; map one period of small polygons at a time, or write who lives in them as a "
        "raster")
    own = [text.lstrip("-").replace("-", "_") for p in ctx.command.params for text in p.opts]
    return flags.assign(flags.pairs(ctx.args), groups, own, models)


def default_model(arguments: list[str], fixed: bool, default: str = "auto") -> str:
    """The model where none is named: auto or vbagg, whichever options are given of.

    Parameters
    ----------
    arguments : list of str
        Flags that the command does not know itself.
    fixed : bool
        Whether hyperparameters are fixed, which a mixture has none of.
    default : {"auto", "vbagg"}
        The model without such options.

    Returns
    -------
    str
        Registry name.
    """
    other = USUAL if default == "auto" else "auto"
    given = flags.pairs(arguments)
    theirs = given.keys() & model_flags(other).keys() - model_flags(default).keys()
    if not theirs and not (fixed and other == USUAL):
        return default
    named = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(theirs)) or "--fix"
    typer.echo(f"model {other}, as {named} is an option of it (default: {default})", err=True)
    return other


def regions(at: dict[str, Any]) -> list[str]:
    """Options of how files of another region are read, as typed, for what has no use for them."""
    return [f"--{name.replace('_', '-')} {value}" for name, value in at.items()]


def specs_of(ctx: typer.Context, models: list[str], data: dict[str, Any], seed: int,
             fixed: dict[str, Any] | None = None) -> tuple[dict[str, Spec], Spec, list[str]]:
    """Specs of models written as NAME or NAME:option=value,..., by that text, and that of the data.

    Parameters
    ----------
    ctx : typer.Context
        Whose other arguments are options of the dataset, or of all models that have them.
    models : list of str
        As written.
    data : dict
        From `data_flags`.
    seed : int
        Of all Specs.
    fixed : dict, optional
        Hyperparameters that are fixed, of all models that have hyperparameters.

    Returns
    -------
    dict of Spec
        By the text of the model.
    Spec
        Of the data, with the flat model.
    list of str
        Options of another region, which are not used.

    Raises
    ------
    InputError
        If a model or an option is unknown, or a model is given twice.
    """
    chosen = [text.partition(":")[::2] for text in models]
    known = {kind: model_flags(kind) for kind, _ in chosen}
    together = {flag: one for flags_ in reversed(known.values()) for flag, one in flags_.items()}
    extra = further(ctx, {"options": together, "dataset_options": dataset_flags(data["dataset"]),
                          "at": flags_at()}, known)
    shared = data | {"seed": seed,
                     "dataset_options": data["dataset_options"] | extra["dataset_options"]}
    specs = {}
    for (kind, text), full in zip(chosen, models, strict=True):
        given = {k: v for k, v in extra["options"].items() if k in known[kind]}
        require(full not in specs, f"--model {full} is given twice; give it once")
        specs[full] = Spec(model=kind, options=given | _own_options(kind, text, known[kind]),
                           hyperparameters=fixed if fixed and has_hyperparameters(kind) else {},
                           **shared)
    return specs, Spec(model="constant", **shared), regions(extra["at"])


def _own_options(kind: str, text: str, known: dict) -> dict:
    found = {}
    for pair in filter(None, text.split(",")):
        name, given, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not given:
            raise InputError(f"--model {kind}:{pair} has no value; write {kind}:option=value")
        if name not in known:
            refuse_retired(kind, {name: value})
        choose(f"option of model {kind!r}", name, known)
        found[name] = flags.convert(known[name], value.strip())
    return found
