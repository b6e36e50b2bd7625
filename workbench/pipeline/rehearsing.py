"""A rehearsal from its Spec to a file."""

from __future__ import annotations

import json
from pathlib import Path

import xarray as xr

from workbench.outputs import deliver, versions, write_bytes
from workbench.pipeline.inputs import data_of
from workbench.pipeline.problems import model_of
from workbench.pipeline.spec import RehearseSpec

OUTPUTS = (".nc", ".json", ".txt")
_PACKAGES = ("aggregate-workbench", "torch", "gpytorch", "xarray", "numpy", "python")


def rehearsed(spec: RehearseSpec, *, progress: bool = False, resume: Path | None = None,
              workers: int = 0) -> xr.Dataset:
    """Do what the Spec of a rehearsal says.

    Parameters
    ----------
    spec : RehearseSpec
        What to do.
    progress : bool
        Show a bar with the time left on standard error.
    resume : Path, optional
        Folder where finished truths are kept; a run of the same Spec goes on from there.
    workers : int
        Processes; 0 is one.

    Returns
    -------
    xr.Dataset
        As `workbench.rehearse` returns it, with the attributes spec, spec_key and versions, and
        ``partial`` (how many truths are finished) if it was stopped.

    Raises
    ------
    InputError
        If the data or an option cannot be used, or every truth failed.
    KeyboardInterrupt
        If it was stopped before any truth was finished.
    """
    from workbench import comparison, evaluation

    model, partial = model_of(spec), ""
    try:
        result = comparison.rehearse(
            data_of(spec), model, spec.truths, truth=spec.truth, hyperparameters=spec.at.plain(),
            samples=spec.samples, threshold=spec.skill, seed=spec.seed, workers=max(1, workers),
            progress=progress, resume=resume)
    except evaluation.Interrupted as stopped:
        if stopped.partial is None:
            raise
        result, partial = stopped.partial, f"stopped after {stopped.done} of {spec.truths} truths"
    result.attrs |= {"spec": spec.to_json(indent=None), "spec_key": spec.key,
                     "versions": json.dumps(versions(*_PACKAGES))}
    return result.assign_attrs(partial=partial) if partial else result


def save(result: xr.Dataset, out: Path) -> None:
    """Write a rehearsal; one that cannot go to its file is kept elsewhere, and that is said.

    Parameters
    ----------
    result : xr.Dataset
        From `rehearsed`.
    out : Path
        ``.nc`` holds everything, ``.json`` the tables and the verdict, ``.txt`` the same as text.

    Raises
    ------
    OutputError
        If it could not be written; the message says where the result is kept.
    """
    deliver(lambda path: write_bytes(path, _content(result, path.suffix.lower())), out, ".nc")


def _content(result: xr.Dataset, suffix: str) -> bytes | memoryview | str:
    from workbench.comparison import rehearsal_table, rehearsal_text

    if suffix == ".nc":
        return result.to_netcdf(engine="h5netcdf")
    if suffix == ".txt":
        return rehearsal_text(result) + "\n"
    tables = {name: json.loads(table.to_json(orient="index"))
              for name, table in rehearsal_table(result).items()}
    about = {name: result.attrs[name] for name in ("sentence", "finest", "about", "failed")}
    content = about | tables | {"spec": json.loads(result.attrs["spec"]),
                                "partial": result.attrs.get("partial", "")}
    return json.dumps(content, indent=2) + "\n"
