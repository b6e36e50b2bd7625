"""Maps from several sources of one field, or of several, on the command line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from workbench import flags
from workbench.checks import InputError, choose, require
from workbench.cli.options import Quiet, model_flags
from workbench.cli.running import data_files, deliver_map
from workbench.interrupt import Interrupt
from workbench.outputs import check_output


def combine(
    sources: Annotated[
        list[str], typer.Argument(help="Bagged .nc files, each as NAME=FILE or FILE, the one that "
                                  "is wanted first; or one named dataset of several sources.")],
    out: Annotated[Path, typer.Option(help="Map to write: .nc or .tif.")],
    at: Annotated[
        Path | None, typer.Option(help="Bagged .nc where predictions are wanted; default: the "
                                  "first source, or the named dataset's target.")] = None,
    model: Annotated[
        str, typer.Option(help="mr-gp, mr-vbagg, mr-gprn, centre-point-gprn, mr-dgp, mr-cascade."
                          )] = "mr-gp",
    task: Annotated[str | None, typer.Option(help="Quantity to map, where sources differ.")] = None,
    trust: Annotated[
        list[str] | None, typer.Option(help="Power of a source's likelihood: NAME=VALUE; repeat."
                                       )] = None,
    option: Annotated[
        list[str] | None, typer.Option(help="Option of the model: NAME=VALUE; repeat.")] = None,
    fix: Annotated[
        list[str] | None, typer.Option(help="Hold a hyperparameter: NAME=VALUE; repeat.")] = None,
    quiet: Quiet = False,
) -> None:
    """Learn one map from several sources: stations and satellites, points and areas.

    Example: workbench combine stations=stations.nc satellite=cells.nc --at grid.nc
    --model mr-gp --option composite=ribatet --out map.nc
    """
    import torch
    import xarray as xr

    from workbench import datasets
    from workbench.labelled import make_model, models
    from workbench.pipeline import OUTPUTS, named_or_file

    torch.set_num_threads(1)
    check_output(out, OUTPUTS,
                 data_files(at, [Path(text.rpartition("=")[2]) for text in sources]))
    choose("model", model, [n for n, m in models().items() if m.torch_model.several])
    known = model_flags(model)
    options = {}
    for name, text in (pair.partition("=")[::2] for pair in option or []):
        choose(f"option of model {model!r}", name, known)
        options[name] = flags.convert(known[name], text)
    if fix:
        options["hyperparameters"] = flags.named_values("--fix", fix)
    if len(sources) == 1 and sources[0] in datasets.source_datasets():
        tree: xr.DataTree = datasets.load_sources(sources[0])
        data = {name: child.to_dataset() for name, child in tree["sources"].children.items()}
        grid = tree["target"].to_dataset()
    else:
        data = dict(_named(text) for text in sources)
        require(len(data) == len(sources), "two sources have one name; write NAME=FILE")
        grid = next(iter(data.values()))
    if at is not None:
        grid = named_or_file(str(at))
    powers = flags.named_values("--trust", trust or [])
    with Interrupt() as interrupt, warnings.catch_warnings():
        warnings.simplefilter("ignore")         # the summary says whether it converged
        fit = make_model(model, **options).fit(
            data, trust=powers, progress=not quiet, callback=interrupt.callback)
    typer.echo(fit.summary())
    weights = ", ".join(f"{n} {float(w):.3g}" for n, w in zip(
        fit.composite_weights["source"].values, fit.composite_weights.values, strict=True))
    typer.echo(f"weights of the sources: {weights}")
    out = deliver_map(fit.to_dataset(grid, task=task), out, fit.cancelled)
    typer.echo(f"wrote {out}: {grid.sizes['individual']} individuals")
    if fit.cancelled:
        raise typer.Exit(interrupt.code)


def _named(text: str):
    from workbench.pipeline import named_or_file

    name, given, path = text.rpartition("=")
    if given and not name:
        raise InputError(f"{text!r} has no name before the equals sign; write NAME=FILE")
    return name or Path(path).stem, named_or_file(path)
