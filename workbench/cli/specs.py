"""What --spec-only writes."""

from __future__ import annotations

from pathlib import Path

import typer

from workbench.checks import InputError, require
from workbench.outputs import check_output, write_bytes
from workbench.pipeline.base import BaseSpec


def write_spec(spec: BaseSpec, out: Path) -> None:
    """Write a Spec as JSON and say how it is run.

    Parameters
    ----------
    spec : BaseSpec
        What would be run.
    out : Path
        File to write; its name must end in .json, as one that ends otherwise may be a finished
        map, which a Spec must not replace. Nor does it replace JSON that is no Spec.

    Raises
    ------
    InputError
        If the file has another ending, is there and is no Spec, cannot be written, or is one that
        the Spec reads.
    """
    from workbench.pipeline.inputs import input_files

    check_output(out, inputs=input_files(spec))
    require(out.suffix.lower() == ".json", f"--spec-only writes a Spec, which is JSON, and --out "
            f"{out} names a file of another format; give --out {out.with_suffix('.json')}, or "
            "leave out --spec-only to write the result itself")
    require(not out.is_file() or _may_go(out), f"{out} is there and is no Spec: it may be a "
            "result, which a Spec would replace; give --out another name, or remove it first")
    write_bytes(out, spec.to_json() + "\n")
    typer.echo(f"wrote {out}; run it with: workbench run {out}")


def _may_go(path: Path) -> bool:
    """Whether a file is empty, or a Spec."""
    try:
        text = path.read_text(encoding="utf-8")
        return not text.strip() or isinstance(BaseSpec.from_json(text), BaseSpec)
    except (InputError, UnicodeDecodeError, RecursionError):
        return False
