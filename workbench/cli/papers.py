"""The papers' experiments on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from workbench.checks import InputError, choose, require


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
        stale: bool = False, workers: int = 1) -> None:
    """Do the runs of an experiment that its file does not hold yet, and show its table."""
    from workbench.cli.interrupt import Interrupt
    from workbench.outputs import check_output
    from workbench.papers import experiment_named, run_experiment
    from workbench.papers.tools.running import FAILED_AGAIN

    chosen = experiment_named(name)
    out = out or Path(f"{name}-{preset}.nc")
    check_output(out)
    if out.suffix.lower() != ".nc":
        raise InputError(f"results of experiments are written as .nc, got {out}")
    with Interrupt():           # by any signal: runs that are done are written before the end
        results = run_experiment(chosen, preset, out=out, only=_wanted(only), stale=stale,
                                 progress=not quiet, workers=workers)
    failed = results["error"].values[results["error"].values != ""]
    if len(failed) < results.sizes["run"]:
        table = chosen.table(results).round(4).to_string()
        typer.echo(f"{chosen.title} ({chosen.source})\n{table}")
    typer.echo(f"wrote {out}: {results.sizes['run']} runs")
    for message in dict.fromkeys(failed):
        typer.echo(f"failed: {message}", err=True)
    if len(failed) or FAILED_AGAIN in results.attrs:      # of the latter a warning was given
        raise typer.Exit(1)


def check(name: str, preset: str, only: list[str], stored: Path | None) -> None:
    """Do stored runs of an experiment again, and say whether they are what is stored."""
    from workbench.papers import frame, read_results, repeat_run
    from workbench.pipeline.base import existing

    path = existing("results", stored or Path(f"{name}-{preset}.nc"))
    results = read_results(path)
    require(results.attrs["experiment"] == name, f"{path} holds results of "
            f"{results.attrs['experiment']!r}; name that experiment, or give its file as --out")
    runs = frame(results)
    names = json.loads(results.attrs["settings"])
    for setting, value in _wanted(only).items():
        choose("setting of the experiment", setting, names)
        runs = runs[runs[setting].astype(str) == value]
    require(len(runs) > 0, f"no run of {path} that did not fail has all of {only}")
    other = 0
    for settings in runs[names].to_dict("records"):
        found = repeat_run(results, **{k: v for k, v in settings.items() if not _nothing(v)})
        gap = (found["now"] - found["stored"]).abs()
        moved = found[(gap > 0) | (found["now"].isna() != found["stored"].isna())]
        other += len(moved) > 0
        typer.echo(" ".join(f"{k}={v}" for k, v in settings.items() if not _nothing(v)) + ": " + (
            "the same to the bit" if moved.empty else f"{len(moved)} of {len(found)} numbers "
            f"differ\n{moved.assign(difference=gap).to_string()}"))
    typer.echo(f"{len(runs) - other} of {len(runs)} runs are the same to the bit")
    if other:
        raise typer.Exit(1)


def _nothing(value: object) -> bool:
    """Whether a run has no such setting."""
    return value == "" or value != value


def _wanted(only: list[str]) -> dict[str, str]:
    wanted = {}
    for pair in only:
        setting, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"--only {pair!r} is not setting=value")
        wanted[setting] = value
    return wanted
