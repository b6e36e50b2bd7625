"""Maps from bags and targets that share covariates alone, on the command line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import Quiet
from workbench.cli.running import data_files, deliver_map
from workbench.interrupt import Interrupt
from workbench.outputs import check_output


def mediate(
    bags: Annotated[str, typer.Argument(help="Bagged .nc with mediators, or a named dataset.")],
    targets: Annotated[Path, typer.Argument(help="CSV or Parquet, one row per target.")],
    value: Annotated[str, typer.Option(help="Column of the observed means.")],
    out: Annotated[Path, typer.Option(help="Map to write: .nc or .tif.")],
    mediators: Annotated[
        list[str] | None, typer.Option(help="Mediators to take as means over the bags, where the "
                                       "bags have none; repeat for more.")] = None,
    noise_variance: Annotated[
        str | None, typer.Option(help="Column of known variances of the values.")] = None,
    model: Annotated[str, typer.Option(help="cmp, s-cmp or var-cmp.")] = "cmp",
    kernel: Annotated[str, typer.Option(help="Of the field; see `workbench models`.")] = "matern32",
    mediator_kernel: Annotated[str, typer.Option(help="On the mediators.")] = "rbf",
    threshold: Annotated[float | None, typer.Option(help="Map P(above it).")] = None,
    quiet: Quiet = False,
) -> None:
    """Turn bags of fine covariates and targets that belong to none of them into a fine map.

    Bags and targets need the same mediators: covariates that are known of both.

    Example: workbench mediate bags.nc targets.csv --value temperature --out map.nc
    """
    import numpy as np
    import torch

    from workbench.bagging import add_mediators, targets_from_table
    from workbench.bagging.summaries import read_table
    from workbench.checks import choose, require
    from workbench.labelled import make_model
    from workbench.pipeline import OUTPUTS, named_or_file

    torch.set_num_threads(1)
    check_output(out, OUTPUTS, data_files(bags, targets))
    choose("model", model, ("cmp", "s-cmp", "var-cmp"))
    options = {"noise": "known"} if noise_variance else {}
    chosen = make_model(model, kernel=kernel, mediator_kernel=mediator_kernel, **options)
    ds = named_or_file(bags)
    if mediators:
        ds = add_mediators(ds, mediators)
    require("mediators" in ds, "the bags have no mediators; name covariates whose means they are "
            "with --mediators")
    names = [str(m) for m in ds["mediator"].values]
    given = targets_from_table(read_table(targets), value, names, noise_variance=noise_variance)
    with Interrupt() as interrupt, warnings.catch_warnings():
        warnings.simplefilter("ignore")         # the summary says whether it converged
        fit = chosen.fit(ds, given, progress=not quiet, callback=interrupt.callback)
    typer.echo(fit.summary())
    maps = fit.to_dataset(ds, threshold=threshold).drop_vars("value", errors="ignore")
    maps = maps.assign_attrs({"targets": targets.name, "target_count": given.sizes["target"]})
    out = deliver_map(maps, out, fit.cancelled)
    mean = float(np.mean(maps["mean"]))
    typer.echo(f"wrote {out}: {ds.sizes['individual']} individuals, mean {mean:.4g}")
    if fit.cancelled:
        raise typer.Exit(interrupt.code)
