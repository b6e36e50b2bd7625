"""From a Spec to a file on the command line: nothing that was finished is lost on the way."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer

from workbench.checks import require
from workbench.interrupt import Interrupt
from workbench.outputs import check_output, deliver, unfinished
from workbench.spec import Spec


def make_map(spec: Spec, out: Path, quiet: bool, made_from: Path | None = None,
             workers: int = 1) -> None:
    """Run a Spec and write its map; with cross-validation first the map, then its scores.

    Parameters
    ----------
    spec : Spec
        What to do.
    out : Path
        File to write. While cross-validation runs, the folder ``OUT.resume`` beside it keeps what
        is finished; the same command goes on from there.
    quiet : bool
        Whether to show no progress.
    made_from : Path, optional
        The file that the Spec comes from, which may not be overwritten.
    workers : int
        Processes that share the folds of cross-validation.

    Raises
    ------
    InputError
        If the output cannot be written, or anything of the input cannot be used.
    typer.Exit
        If the run was stopped: 128 + the signal's number, or 1 if cross-validation could not go on.
    """
    check_output(out, _formats(), inputs(spec, made_from))
    from workbench import pipeline, results

    resume = results.resume_folder(out) if spec.folds else None
    if resume is not None:
        require(not resume.is_file(), f"{str(resume)!r} is a file, but finished folds are kept in "
                "a folder of this name; move it, or give another --out")
    areas = pipeline.own_columns(spec, out)
    written: list[Path] = []

    def write(maps) -> None:
        written[:] = pipeline.save(maps, out, areas)
        if not quiet:
            typer.echo(f"wrote {out}; cross-validation follows, and adds its scores", err=True)

    if not quiet:
        typer.echo(f"reading {spec.dataset}", err=True)
    with Interrupt() as interrupt:
        try:
            maps = pipeline.run(spec, progress=not quiet, callback=interrupt.callback, out=out,
                                finished=write, resume=resume, workers=workers)
            _show(maps)
            stopped, whole = maps.attrs.get("partial"), bool(written)
            if stopped and not whole:
                out = unfinished(out)
            written[:] = pipeline.save(maps, out, areas)
        except KeyboardInterrupt as error:
            if not written:
                raise
            typer.echo(f"stopped at once; the finished map is in {out}, without scores", err=True)
            raise typer.Exit(interrupt.code) from error
    if stopped:
        kept = "the finished map" if whole else "the best so far"
        further = "; the same command goes on from the finished folds" if whole else ""
        typer.echo(f"stopped: {stopped}; {kept} is kept in {out}{further}", err=True)
        raise typer.Exit(interrupt.code)
    results.clear(resume)
    typer.echo("\n".join(f"wrote {file}" for file in written))


def deliver_map(maps, out: Path, stopped: bool) -> Path:
    """Write a map, under another name if its fit was stopped; return where it is."""
    from workbench import geo

    out = unfinished(out) if stopped else out
    deliver(lambda path: geo.write(maps, path), out, spare=".nc")
    return out


def inputs(spec: Spec, made_from: Path | None = None) -> list[Path]:
    """The files that a run reads."""
    from workbench.results import input_files

    return [*input_files(spec), *([made_from] if made_from is not None else [])]


def data_files(*given: str | Path | Iterable[Path] | None) -> list[Path]:
    """The files among the values of options: one path, several, or a dataset's name."""
    files: list[Path] = []
    for one in given:
        several = one if isinstance(one, list | tuple) else [one] if one is not None else []
        files += [Path(path) for path in several]
    return [path for path in files if path.is_file()]


def _formats() -> tuple[str, ...]:
    from workbench.results import OUTPUTS

    return OUTPUTS


def _show(maps) -> None:
    from workbench import pipeline

    if maps.attrs.get("treatments", "none") != "none":
        typer.echo(f"what was done to the input:\n{maps.attrs['treatments']}\n")
    typer.echo(maps.attrs["summary"])
    scored = any(str(name).startswith(pipeline.CROSS_VALIDATION) for name in maps.data_vars)
    if scored:
        from workbench.evaluation import table

        shown = table(pipeline.scores(maps)).T.map("{:g}".format)
        typer.echo(f"\n{shown.to_string()}\n\n{maps.attrs[pipeline.COMPARISON]}\n")
