"""Check data before anything is fitted, on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.checks import InputError
from workbench.cli.helping import ADVANCED, DATA, MODEL, OUTPUT, dataset_flags, model_flags
from workbench.cli.options import Quiet, data_flags, default_model, further
from workbench.cli.sharing import takes
from workbench.outputs import check_output, deliver, write_bytes
from workbench.pipeline.spec import Spec

FORMATS = (".html", ".json", ".csv", ".txt")


@takes(data=data_flags)
def check(
    ctx: typer.Context,
    data: dict[str, Any],
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
    seed: Annotated[int, typer.Option(
        rich_help_panel=ADVANCED, help="Seed of the model.")] = 0,
    quiet: Quiet = False,
) -> None:
    """Check data before anything is fitted: all that is wrong or odd, in one table.

    Takes the data that `workbench disaggregate` takes, and goes on after an error. Exit code: 0 if
    there is no error, 1 if there is one, 2 if the options cannot be used.

    Example: workbench check --polygons P.shp --value inc --covariates a.tif --weight pop.tif
    """
    if (parents is None) != (parent_label is None):
        raise InputError("--parents (their values) and --parent-label (the label of the areas that "
                         "names them) belong together; give both")
    model = model or default_model(ctx.args, False)
    known = {name: flag for name, flag in model_flags(model).items() if name != "workers"}
    extra = further(ctx, {"options": known, "dataset_options": dataset_flags(data["dataset"])},
                    [model])
    options = data.pop("dataset_options") | extra["dataset_options"]
    spec = Spec(**data, dataset_options=options, model=model, options=extra["options"], seed=seed)
    from workbench.pipeline.inputs import input_files

    if out is not None:
        check_output(out, FORMATS, [*input_files(spec), *([parents] if parents else [])])
    if not quiet:
        typer.echo(f"reading {title_of(spec)}", err=True)
    found = checked(spec, parents, parent_label)
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


def checked(spec: Spec, parents: Path | None = None, parent_label: str | None = None):
    """The check of the data of a Spec, with the cost of its model.

    Parameters
    ----------
    spec : Spec
        Of ``disaggregate``.
    parents, parent_label
        As of `workbench.check`.

    Returns
    -------
    Check
    """
    from workbench.pipeline.inputs import data_of
    from workbench.pipeline.problems import model_of
    from workbench.preflight import looked_over

    return looked_over(lambda: data_of(spec), title_of(spec), model_of(spec), parents,
                       parent_label)


def _write(found, out: Path) -> None:
    suffix = out.suffix.lower()
    if suffix == ".csv":
        table = found.table()
        text = table.assign(where=table["where"].map("; ".join)).to_csv(index=False)
    else:
        text = {".html": found.to_html, ".json": found.to_json}.get(suffix, found.__str__)()
    write_bytes(out, text if suffix == ".csv" else f"{text}\n")
