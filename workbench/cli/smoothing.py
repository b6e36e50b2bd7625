"""Maps from tables of summaries on the command line."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from workbench.checks import require
from workbench.cli.options import Quiet
from workbench.cli.running import deliver_map
from workbench.interrupt import Interrupt
from workbench.outputs import check_output


def smooth(
    table: Annotated[Path, typer.Argument(help="CSV or Parquet, one row per area.")],
    statistic: Annotated[str, typer.Option(help="Column of the statistic.")],
    count: Annotated[str, typer.Option(help="Column of the number of observations behind it.")],
    x: Annotated[str, typer.Option(help="Column of the centre's x or longitude.")],
    y: Annotated[str, typer.Option(help="Column of the centre's y or latitude.")],
    out: Annotated[Path, typer.Option(help="Map to write: .nc, .tif or .gpkg.")],
    variance: Annotated[str | None, typer.Option(help="Column of the sample variance.")] = None,
    name: Annotated[str | None, typer.Option(help="Column that names the areas.")] = None,
    is_a: Annotated[str, typer.Option(help="mean, median or proportion.")] = "mean",
    likelihood: Annotated[str, typer.Option(help="Of single observations.")] = "auto",
    kernel: Annotated[str, typer.Option(help="See `workbench models`.")] = "matern32",
    boundary: Annotated[str, typer.Option(help="Zero counts: refuse, half, drop.")] = "refuse",
    cells: Annotated[int, typer.Option(help="Pixels along the longer side.")] = 100,
    crs: Annotated[str | None, typer.Option(help="Of x and y, such as EPSG:4326.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Map P(above it).")] = None,
    quiet: Quiet = False,
) -> None:
    """Turn a table of summaries (centre, statistic, count) into a map on a grid.

    Example: workbench smooth areas.csv --statistic mean --count n --x lon --y lat --out map.nc
    """
    columns = {"statistic": statistic, "count": count, "x": x, "y": y, "variance": variance,
               "name": name, "is_a": is_a}
    options = {"likelihood": likelihood, "kernel": kernel, "boundary": boundary}
    _map(table, columns, options, cells, crs, out, threshold, quiet)


def _map(table: Path, columns: dict, options: dict, cells: int, crs: str | None, out: Path,
         threshold: float | None, quiet: bool) -> None:
    """Read a table of summaries, fit the quasi-likelihood GP, write its map on a grid."""
    import torch

    from workbench.bagging import from_summaries, grid_places
    from workbench.bagging.separators import separated
    from workbench.geo.centres import place
    from workbench.labelled import QuasiLikelihoodGP
    from workbench.pipeline import OUTPUTS

    torch.set_num_threads(1)        # small matrices gain nothing from threads that wait
    check_output(out, OUTPUTS, [table])
    model = QuasiLikelihoodGP(**options)
    ds = place(from_summaries(table, **columns), crs, columns["y"])
    if not quiet:
        typer.echo(f"read {ds.sizes['bag']} areas from {table.name}{separated(table)}", err=True)
    require(ds.sizes["bag"] > 1, f"{table.name} has one area, which says nothing of how values "
            "vary in space: there is nothing to smooth; give a table of several areas")
    places = grid_places(ds, cells)
    with Interrupt() as interrupt, warnings.catch_warnings():
        warnings.simplefilter("ignore")         # the summary says whether it converged
        fit = model.fit(ds, progress=not quiet, callback=interrupt.callback)
    typer.echo(fit.summary())
    maps = fit.to_dataset(places, threshold=threshold)
    ours = [n for n in ("value", "bag_mean", "bag_std", "bag_quantile") if n in maps]
    out = deliver_map(maps.drop_vars(ours).assign_attrs(
        {"summaries": str(table.name), "areas": ds.sizes["bag"]}), out, fit.cancelled)
    typer.echo(f"wrote {out}: {places.sizes['individual']} pixels")
    if fit.cancelled:
        raise typer.Exit(interrupt.code)
