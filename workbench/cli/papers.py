"""The papers' experiments on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.checks import InputError


def describe(name: Annotated[str | None, typer.Argument(help="One experiment.")] = None) -> None:
    """List the papers' experiments, or what one deviates in and what the paper prints."""
    from workbench.papers import PRESETS, experiment_named, experiments

    if name is None:
        for title, known in experiments().items():
            typer.echo(f"{title:<20} {known.title} ({known.source})")
        return
    chosen = experiment_named(name)
    typer.echo(f"{chosen.name}: {chosen.title}\n{chosen.source}\n\n{chosen.notes}\n")
    for preset in PRESETS:
        runs = chosen.runs(preset)
        typer.echo(f"{preset}: {len(runs)} runs; settings: {', '.join(runs[0])}")
    if chosen.paper:
        typer.echo("\nthe paper prints:")
        for row, value in chosen.paper.items():
            typer.echo(f"  {row}: {value}")


def run(name: str, preset: str, only: list[str], out: Path | None, quiet: bool,
        stale: bool = False) -> None:
    """Do the runs of an experiment that its file does not hold yet, and show its table."""
    from workbench.outputs import check_output
    from workbench.papers import experiment_named, run_experiment

    chosen = experiment_named(name)
    out = out or Path(f"{name}-{preset}.nc")
    check_output(out)
    if out.suffix.lower() != ".nc":
        raise InputError(f"results of experiments are written as .nc, got {out}")
    wanted = {}
    for pair in only:
        setting, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"--only {pair!r} is not setting=value")
        wanted[setting] = value
    results = run_experiment(chosen, preset, out=out, only=wanted, stale=stale,
                             progress=not quiet)
    failed = results["error"].values[results["error"].values != ""]
    if len(failed) < results.sizes["run"]:
        table = chosen.table(results).round(4).to_string()
        typer.echo(f"{chosen.title} ({chosen.source})\n{table}")
    typer.echo(f"wrote {out}: {results.sizes['run']} runs")
    for message in dict.fromkeys(failed):
        typer.echo(f"failed: {message}", err=True)
    if len(failed):
        raise typer.Exit(1)
