"""Cross-validation of a Spec's model beside a flat one, and what of it is kept while it runs."""

from __future__ import annotations

import copy
import errno
import hashlib
import json
from functools import partial
from pathlib import Path

import xarray as xr

from workbench.checks import require
from workbench.gp.optimisation import checkpoint
from workbench.labelled import Constant
from workbench.outputs import reason_of
from workbench.pipeline.problems import model_of
from workbench.pipeline.spec import Spec

CROSS_VALIDATION, COMPARISON = "cv_", "comparison"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def with_scores(maps: xr.Dataset, ds: xr.Dataset, spec: Spec, *, progress: bool, callback,
                resume: Path | None, workers: int) -> xr.Dataset:
    """A finished map with the scores of cross-validation.

    Parameters
    ----------
    maps : xr.Dataset
        The map.
    ds : xr.Dataset
        Bagged dataset that it was learnt from.
    spec : Spec
        With folds.
    progress, callback, resume, workers
        As of `workbench.pipeline.run.run`.

    Returns
    -------
    xr.Dataset
        With variables ``cv_...``; if it was stopped, the attribute ``partial`` says so, and the
        scores are of the folds that were finished.
    """
    from workbench import comparison, evaluation

    try:
        result = comparison.cross_validate(
            _stoppable(spec, callback, workers), ds, folds=spec.folds, scheme=spec.folds_scheme,
            seed=spec.seed, progress=progress, constant=flat_beside(model_of(spec)),
            workers=max(1, workers), resume=resume)
    except evaluation.Interrupted as stopped:
        maps.attrs["partial"] = f"cross-validation {stopped}".replace(
            "; they are kept in .partial", "")
        result = stopped.partial
        if result is None:
            return maps
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        maps.attrs["partial"] = f"cross-validation could not go on ({reason_of(error)})"
        return maps
    maps.attrs[COMPARISON] = result.attrs[COMPARISON]
    kept = [n for n, v in result.data_vars.items() if not {"quantile", "individual"} & set(v.dims)]
    result = result[kept]
    result = result.drop_vars([n for n in result.coords if n in maps.variables])
    return maps.merge(result.rename({n: f"{CROSS_VALIDATION}{n}" for n in kept}))


def _stoppable(spec: Spec, callback, workers: int):
    """The model that is scored, of the same class and options however it is run.

    By these finished folds are found again. A callback does not reach other processes, nor have
    these processes of their own.
    """
    model = model_of(spec, min(workers, 1) or None)
    if workers > 1:
        return model
    scored = copy.copy(model)
    scored.fit = partial(model.fit, callback=callback)
    return scored


def flat_beside(model) -> Constant:
    """The flat model to compare with: with the likelihood and overdispersion of the other.

    Beside a model without overdispersion, too, counts get the effects that any model has by
    default: one rate and Poisson counts are beaten by anything. A nugget that is learnt is left to
    the flat model, which has one as the values ask for it: see `workbench.Constant`.

    Parameters
    ----------
    model : LabelledModel
        What is scored.

    Returns
    -------
    Constant
    """
    names = ("likelihood", "overdispersion", "nugget")
    if not all(hasattr(model.options, name) for name in names):
        return Constant()
    options = {name: getattr(model.options, name) for name in names}
    if options["overdispersion"] == "none":
        options |= {"overdispersion": "auto", "nugget": "auto"}
    if options["nugget"] == "learn" and options["likelihood"] in ("auto", "normal"):
        options["nugget"] = "auto"
    return Constant(**options)


def is_scored(maps: xr.Dataset) -> bool:
    """Whether a result of `workbench.pipeline.run.run` has scores of cross-validation."""
    return any(str(name).startswith(CROSS_VALIDATION) for name in maps.data_vars)


def scores(maps: xr.Dataset) -> xr.Dataset:
    """The scores of cross-validation in a result, as `evaluation.table` reads them.

    Parameters
    ----------
    maps : xr.Dataset
        From `workbench.pipeline.run.run`.

    Returns
    -------
    xr.Dataset
        As `workbench.cross_validate` returns it, without what is known of individuals.

    Raises
    ------
    InputError
        If the run made none.
    """
    require(is_scored(maps), "this result has no scores; run its Spec with folds=10")
    names = [str(n) for n in maps.data_vars if str(n).startswith(CROSS_VALIDATION)]
    return maps[names].rename({n: n.removeprefix(CROSS_VALIDATION) for n in names})


def resume_folder(out: Path) -> Path:
    """The folder beside a result where finished folds are kept until their scores are in it."""
    return out.with_name(f"{out.name}.resume")


def kept_map(folder: Path, ds: xr.Dataset, spec: Spec) -> Path:
    """Where a finished map is kept: equal data, Spec and code have an equal name.

    Parameters
    ----------
    folder : Path
        From `resume_folder`.
    ds : xr.Dataset
        Bagged dataset that the map is learnt from.
    spec : Spec
        What asks for it.

    Returns
    -------
    Path
    """
    from workbench.evaluation.tasks import code_key, data_key
    from workbench.schema import GEOMETRY

    content = [data_key(ds.drop_vars(GEOMETRY, errors="ignore")), spec.to_json(), code_key()]
    return folder / f"map-{hashlib.sha256(json.dumps(content).encode()).hexdigest()}.nc"


def clear(folder: Path) -> None:
    """Remove what was kept beside an output: maps, folds, steps of a fit; other files stay.

    Parameters
    ----------
    folder : Path
        From `resume_folder`.
    """
    for file in (*folder.glob("*.nc"), *folder.glob("*.npz")):
        file.unlink(missing_ok=True)
    checkpoint.clear(folder)
