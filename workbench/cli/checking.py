"""Check data before anything is fitted, on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.checks import InputError
from workbench.cli.copied import MAPS, line_of, tell_unused
from workbench.cli.helping import ADVANCED, DATA, MODEL, OUTPUT, dataset_flags, model_flags
from workbench.cli.mapping import disaggregate
from workbench.cli.options import OF_DATA, Quiet, Threads, data_flags, default_model, further
from workbench.cli.region import asked_at, flags_at, region_flags
from workbench.cli.sharing import fields_of, takes
from workbench.cli.threads import set_threads
from workbench.outputs import check_output, deliver, write_bytes
from workbench.pipeline.spec import Spec

FORMATS = (".html", ".json", ".csv", ".txt")


@line_of(disaggregate)
@takes(data=data_flags, fields=fields_of(Spec, without=(*OF_DATA, "at_options")),
       region=region_flags)
def check(
    ctx: typer.Context,
    data: dict[str, Any],
    fields: dict[str, Any],
    region: dict[str, Any],
    parents: Annotated[Path | None, typer.Option(
        rich_help_panel=DATA, help="Table (.csv, .parquet) of published values of the larger "
        "areas: ids in its first column.")] = None,
    parent_label: Annotated[str | None, typer.Option(
        rich_help_panel=DATA, help="Label of the areas that names the larger one, of "
        "--labels.")] = None,
    model: Annotated[str | None, typer.Option(
        rich_help_panel=MODEL, help="Whose time and memory are estimated; default auto.")] = None,
    out: Annotated[Path | None, typer.Option(
        rich_help_panel=OUTPUT, help="Report (.html, .txt), findings (.csv) or all (.json).")
    ] = None,
    as_json: Annotated[bool, typer.Option(
        "--json", rich_help_panel=OUTPUT, help="Print JSON instead of the table.")] = False,
    workers: Annotated[int, typer.Option(
        "--workers", "--jobs", min=0, rich_help_panel=ADVANCED,
        help="Processes that --cv would have.")] = 0,
    quiet: Quiet = False,
    threads: Threads = 1,
    *,
    unused: list[str],
) -> None:
    """Check data before anything is fitted: all that is wrong or odd, in one table.

    Takes what `workbench disaggregate` takes, so that its line can be checked by another verb, and
    goes on after an error. Folds (--cv), a threshold and another region (--at) are looked at, too;
    no map is written. Exit code: 0 if there is no error, 1 if there is one, 2 if the options
    cannot be used.

    Example: workbench check --polygons P.shp --value inc --covariates a.tif --weight pop.tif
    """
    if (parents is None) != (parent_label is None):
        raise InputError("--parents (their values) and --parent-label (the label of the areas that "
                         "names them) belong together; give both")
    model = model or default_model(ctx.args, bool(fields["hyperparameters"]))
    known = {name: flag for name, flag in model_flags(model).items() if name != "workers"}
    extra = further(ctx, {"options": known, "dataset_options": dataset_flags(data["dataset"]),
                          "at": flags_at()}, [model])
    options = data.pop("dataset_options") | extra["dataset_options"]
    spec = Spec(**data, **asked_at(fields, region, extra["at"]), dataset_options=options,
                model=model, options=extra["options"])
    if out is not None and out.suffix.lower() in MAPS and out.suffix.lower() not in FORMATS:
        unused, out = [f"--out {out}", *unused], None
    from workbench.pipeline.inputs import input_files

    if out is not None and out.suffix.lower() == ".csv" and out.is_file():
        _check_not_a_map(out)
    if out is not None:
        check_output(out, FORMATS, [*input_files(spec), *([parents] if parents else [])])
    if not quiet:
        typer.echo(f"reading {title_of(spec)}", err=True)
    tell_unused("a check", unused)
    set_threads(threads)
    found = checked(spec, parents, parent_label, workers)
    typer.echo(found.to_json() if as_json else str(found))
    if out is not None:
        deliver(lambda path: _write(found, path), out)
        typer.echo(f"wrote {out}", err=as_json)
    raise typer.Exit(0 if found.ok else 1)


def title_of(spec: Spec) -> str:
    """What is checked, in a word: the name of the dataset, or of the file of the areas."""
    from workbench.pipeline.own_files import KINDS

    own = spec.dataset_options.plain().get(spec.dataset) if spec.dataset in KINDS else None
    return Path(str(own)).name if own else spec.dataset


def checked(spec: Spec, parents: Path | None = None, parent_label: str | None = None,
            workers: int = 0):
    """The check of the data of a Spec, of its folds and other region, with the cost of its model.

    Parameters
    ----------
    spec : Spec
        Of ``disaggregate``.
    parents, parent_label
        As of `workbench.check`.
    workers : int
        Processes of cross-validation.

    Returns
    -------
    Check
    """
    from workbench.pipeline.inputs import data_of
    from workbench.pipeline.problems import model_of
    from workbench.pipeline.run import check_folds, check_threshold
    from workbench.pipeline.transfer import elsewhere
    from workbench.preflight import looked_over

    model = model_of(spec, workers or None)
    looks = {"threshold": lambda ds: check_threshold(spec.threshold, model, ds)}
    if spec.folds:
        looks["folds"] = lambda ds: check_folds(spec, ds)
    if spec.at is not None:
        looks["region"] = lambda ds: elsewhere(spec, ds)
    return looked_over(lambda: data_of(spec), title_of(spec), model, parents, parent_label,
                       looks=looks, folds=spec.folds, workers=workers,
                       fold_model=model_of(spec, min(workers, 1) or None))


def _check_not_a_map(out: Path) -> None:
    """`disaggregate --out` writes CSV files, too, which a check of its line is to leave alone."""
    with out.open("rb") as file:
        header = file.readline(2000).decode("utf-8", "replace").strip().split(",")
    if header[:2] != ["severity", "code"]:
        raise InputError(f"{out} is there and holds no findings of a check, perhaps a map; give "
                         "another --out, or remove it")


def _write(found, out: Path) -> None:
    suffix = out.suffix.lower()
    if suffix == ".csv":
        table = found.table()
        text = table.assign(where=table["where"].map("; ".join)).to_csv(index=False)
    else:
        text = {".html": found.to_html, ".json": found.to_json}.get(suffix, found.__str__)()
    write_bytes(out, text if suffix == ".csv" else f"{text}\n")
