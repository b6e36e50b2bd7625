"""What commands share: options of the data, and flags of models, datasets and bagging."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench import flags
from workbench.checks import InputError, choose, require
from workbench.spec import Spec

# Options that several commands have.
Polygons = Annotated[Path | None, typer.Option(help="Areas: shapefile, GPKG, GeoJSON.")]
Value = Annotated[str | None, typer.Option(help="Column of the areas that was counted.")]
Covariates = Annotated[list[Path] | None, typer.Option(
    help="A covariate raster; repeat for more. Without any the map follows place alone.")]
Weight = Annotated[Path | None, typer.Option(
    help="Raster of population; or area (km² of each pixel, the default), or uniform.")]
Dataset = Annotated[
    str | None, typer.Option(help="Named dataset, or a bagged .nc, instead of files.")]
Level = Annotated[str | None, typer.Option(help="Merge the areas up to this level.")]
Areas = Annotated[int | None, typer.Option(help="Merge neighbours to this many areas.")]
Workers = Annotated[int, typer.Option(min=1, help="Processes.")]
Resume = Annotated[Path | None, typer.Option(help="Folder where finished fits are kept.")]
Seed = Annotated[int, typer.Option(help="Seed of every random choice.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar.")]


def model_flags(model: str) -> dict[str, flags.Flag]:
    """Flags of a model's options; an unknown name suggests the nearest."""
    from workbench.labelled import models

    known = models()
    choose("model", model, known)
    return _own(flags.of_options(known[model].torch_model.options_type))


def default_model(arguments: list[str], fixed: bool) -> str:
    """The model where none is named: auto, or vbagg where options of it are given.

    Parameters
    ----------
    arguments : list of str
        Flags that the command does not know itself.
    fixed : bool
        Whether hyperparameters are held, which a mixture has none of.
    """
    given = flags.pairs(arguments)
    theirs = given.keys() & model_flags("vbagg").keys() - model_flags("auto").keys()
    if not theirs and not fixed:
        return "auto"
    named = ", ".join(f"--{name.replace('_', '-')}" for name in sorted(theirs)) or "--fix"
    typer.echo(f"model vbagg, as {named} is an option of it (default: auto)", err=True)
    return "vbagg"


def dataset_flags(name: str) -> dict[str, flags.Flag]:
    """Flags of a dataset's options, or of how polygons are bagged."""
    from workbench import datasets
    from workbench.pipeline import is_file, polygon_flags

    if name == "polygons":
        return polygon_flags()
    return {} if is_file(name) else flags.of_defaults(datasets.options(name))


def source(dataset: str | None, **given: Any) -> tuple[str, dict[str, Any]]:
    """Name of the dataset and its options, from --dataset or from what is given of files.

    Raises
    ------
    InputError
        If both are given, or files are missing.
    """
    files = {name: value for name, value in given.items() if value is not None and value != []}
    if dataset is not None:
        if files:
            raise InputError(f"--dataset and --{next(iter(files))} both give data; keep one")
        return dataset, {}
    missing = [f"--{name}" for name in ("polygons", "value") if name not in files]
    if missing:
        raise InputError(f"missing {' and '.join(missing)}; give --polygons FILE and --value "
                         "COLUMN (--covariates and --weight may be left out: place alone, every "
                         "km² alike), or --dataset NAME")
    return "polygons", files


def group_levels(text: str | None) -> list[int | str] | None:
    """Numbers of groups or labels of the areas, from text with commas."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    return [int(part) if part.isdigit() else part for part in parts]


def specs_of(ctx: typer.Context, models: list[str], dataset: str, options: dict[str, Any],
             **data: Any) -> tuple[dict[str, Spec], Spec]:
    """Specs of models written as NAME or NAME:option=value,..., by that text, and that of the data.

    Parameters
    ----------
    ctx : typer.Context
        Whose other arguments are options of the dataset, or of all models that have them.
    models : list of str
    dataset : str
    options : dict
        Of the dataset, from flags of the command itself.
    **data
        What all Specs share: level, areas, seed.

    Raises
    ------
    InputError
        If a model or an option is unknown, or a model is given twice.
    """
    chosen = [text.partition(":")[::2] for text in models]
    known = {kind: model_flags(kind) for kind, _ in chosen}
    together = {flag: one for flags_ in reversed(known.values()) for flag, one in flags_.items()}
    extra = flags.assign(flags.pairs(ctx.args), {"options": together,
                                                 "dataset_options": dataset_flags(dataset)},
                         [p.name for p in ctx.command.params if p.name])
    data |= {"dataset": dataset, "dataset_options": options | extra["dataset_options"]}
    specs = {}
    for (kind, text), full in zip(chosen, models, strict=True):
        shared = {k: v for k, v in extra["options"].items() if k in known[kind]}
        require(full not in specs, f"--model {full} is given twice; give it once")
        specs[full] = Spec(model=kind, options=shared | _own_options(kind, text, known[kind]),
                           **data)
    return specs, Spec(model="constant", **data)


def _own_options(kind: str, text: str, known: dict) -> dict:
    found = {}
    for pair in filter(None, text.split(",")):
        name, given, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not given:
            raise InputError(f"--model {kind}:{pair} has no value; write {kind}:option=value")
        choose(f"option of model {kind!r}", name, known)
        found[name] = flags.convert(known[name], value.strip())
    return found


def _own(found: dict[str, flags.Flag]) -> dict[str, flags.Flag]:
    """Without what the command has a flag of its own for: --seed, and --fix."""
    return {name: flag for name, flag in found.items() if name not in ("seed", "hyperparameters")}


def bagging_help() -> str:
    """Help on the flags of polygons."""
    lines = [flag.describe() for flag in dataset_flags("polygons").values()]
    return "\n".join(["Options of --polygons (see workbench.bag_polygons):", *lines])


def models_help() -> str:
    """Help on the options of all models."""
    from workbench.labelled import models

    every = {name: _own(flags.of_options(model.torch_model.options_type))
             for name, model in models().items()}
    lines = []
    for option in dict.fromkeys(o for found in reversed(every.values()) for o in found):
        having = [name for name, found in every.items() if option in found]
        lines.append(every[having[-1]][option].describe())
        if len(having) < len(every):
            lines.append(f"{'':25}for {', '.join(having)}")
    return "\n".join([f"Options of the models ({', '.join(every)}):", *lines])


def model_help(name: str, model: type) -> str:
    """Help on the options of one model."""
    title = (model.__doc__ or "").strip().split("\n", 1)[0]
    found = _own(flags.of_options(model.torch_model.options_type))
    lines = [flag.describe() for flag in found.values()]
    return "\n".join([f"{name}: {title}", *lines])
