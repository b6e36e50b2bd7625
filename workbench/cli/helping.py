"""Help of the commands: options in groups, and by ``--help-all`` also those of data and models."""

from __future__ import annotations

import re
import textwrap
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from workbench.checks import choose
from workbench.pipeline import flags

DATA, MODEL, OUTPUT, ADVANCED = "Data", "Model", "Output", "Advanced"
USUAL = "vbagg"         # whose options are shown where models share some, and choose it
PASS_ON = {"allow_extra_args": True}
WIDTH = 100            # columns of help, where the terminal has them
_BAGGING = ("How polygons and rasters are read and repaired, and what a named dataset is made of, "
            "are options, too: --help-all, and workbench datasets NAME.")
_KINDS = {"path": "FILE", "str": "NAME", "int": "NUMBER", "float": "NUMBER"}    # of Python's types
_TYPE = re.compile(r"<(?:list\[)?(?i:(path|str|int|float))(?: range)?\]?>")
_MODELS = "Every option of the model is one here, such as --kernel: workbench models NAME."


class GroupedCommand(TyperCommand):
    """A command whose help shows its options in groups, and the derived ones by ``--help-all``.

    Options that it does not declare, of its data and models, are left in ``ctx.args``.
    """

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:
        """Parse what is declared; a positional argument takes none of the other options."""
        declared = {text for param in self.get_params(ctx)
                    for text in (*param.opts, *param.secondary_opts)}
        own, others, into = [], [], None
        for text in args:
            if text.startswith("--"):
                into = own if text.partition("=")[0] in declared else others
                into.append(text)
                into = None if "=" in text else into
            else:
                (own if into is None else into).append(text)
                into = None
        ctx.args = [*super().parse_args(ctx, own), *others]
        return ctx.args

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:
        """Write the options group by group."""
        groups: dict[str, list] = {name: [] for name in (DATA, MODEL, OUTPUT, ADVANCED)}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                names = _TYPE.sub(lambda found: _KINDS[found[1].lower()], record[0])
                groups[getattr(param, "rich_help_panel", None) or ADVANCED].append(
                    (names, record[1]))
        short = {MODEL: _MODELS} | ({DATA: _BAGGING} if _has_polygons(ctx) else {})
        for name, records in groups.items():
            if records:
                with formatter.section(name):
                    formatter.write_dl(records, col_max=28)
                    if name in short and not ctx.meta.get("all"):
                        formatter.write_text(short[name])


def show_all(ctx: typer.Context, wanted: bool) -> None:
    """Show the help of a command with every option of its data and models, and end it.

    Parameters
    ----------
    ctx : typer.Context
        Of the command.
    wanted : bool
        Whether it was asked for.
    """
    if not wanted:
        return
    ctx.meta["all"] = True
    told = [ctx.get_help()]
    if _has_polygons(ctx):
        lines = [flag.describe() for flag in dataset_flags("polygons").values()]
        told.append("\n".join(["Options of --polygons (see workbench.bag_polygons):", *lines]))
        shown = dataset_flags("polygons")
        for kind in ("children", "points"):
            lines = [flag.describe() for name, flag in dataset_flags(kind).items()
                     if name not in shown]
            told.append("\n".join([f"Further options of --{kind} (see workbench.bag_{kind}):",
                                   *lines]))
    if any(param.name == "at_polygons" for param in ctx.command.params):
        told.append("Options of --at-polygons: those of --polygons with at- before them, such as\n"
                    "--at-id, --at-nodata, and --at-value, a column to set beside the map.")
    told.append(models_help(str(ctx.command.name)))
    typer.echo("\n\n".join(filter(None, told)))
    raise typer.Exit


def _has_polygons(ctx: typer.Context) -> bool:
    return any(param.name == "polygons" for param in ctx.command.params)


HelpAll = Annotated[bool, typer.Option(
    "--help-all", is_eager=True, callback=show_all, rich_help_panel=ADVANCED,
    help="Show every option, also of data and models.")]


def models_help(command: str) -> str:
    """Help on the options of all models that a command can use.

    Parameters
    ----------
    command : str
        Its name.

    Returns
    -------
    str
        Lines of 100 columns; empty for a command without models.
    """
    from workbench.pipeline.problems import models_for

    names = sorted(models_for(command), key=lambda name: name != USUAL)
    if not names:
        return ""
    every = {name: model_flags(name) for name in names}
    lines = [f"Options of the models ({', '.join(every)}):"]
    for option in dict.fromkeys(o for found in every.values() for o in found):
        having = [name for name, found in every.items() if option in found]
        others = [name for name in every if name not in having]
        lines.append(every[having[0]][option].describe())
        if others:
            few = len(having) <= len(others)
            lines.append(f"of {', '.join(having)}" if few else f"of all but {', '.join(others)}")
            lines[-1] = textwrap.fill(lines[-1], WIDTH, initial_indent=" " * 25,
                                      subsequent_indent=" " * 25, break_on_hyphens=False)
    return "\n".join([textwrap.fill(lines[0], WIDTH, break_on_hyphens=False), *lines[1:]])


def model_help(name: str) -> str:
    """Help on the options of one model.

    Parameters
    ----------
    name : str
        As ``workbench models`` lists it.

    Returns
    -------
    str
        Lines of 100 columns.
    """
    from workbench.labelled import models

    title = (models()[name].__doc__ or "").strip().split("\n", 1)[0]
    return "\n".join([f"{name}: {title}", *(f.describe() for f in model_flags(name).values())])


def model_flags(model: str) -> dict[str, flags.Flag]:
    """Flags of a model's options, but for those that commands have themselves.

    Parameters
    ----------
    model : str
        Registry name; for an unknown one the nearest is suggested.

    Returns
    -------
    dict
        By name.
    """
    from workbench.labelled import models

    known = models()
    choose("model", model, known)
    found = flags.of_options(known[model].torch_model.options_type)
    return {name: flag for name, flag in found.items() if name not in ("seed", "hyperparameters")}


def has_hyperparameters(model: str) -> bool:
    """Whether a model, by its registry name, has hyperparameters that can be fixed."""
    from workbench.labelled import models

    return "hyperparameters" in flags.of_options(models()[model].torch_model.options_type)


def dataset_flags(name: str) -> dict[str, flags.Flag]:
    """Flags of a dataset's options, or of how polygons are bagged.

    Parameters
    ----------
    name : str
        Name of a dataset, a kind of files such as ``polygons``, or a stored file, which has none.

    Returns
    -------
    dict
        By name.
    """
    from workbench import datasets
    from workbench.pipeline.inputs import is_file
    from workbench.pipeline.own_files import KINDS, file_flags

    if name in KINDS:
        return file_flags(name)
    return {} if is_file(name) else flags.of_defaults(datasets.options(name))
