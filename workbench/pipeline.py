"""The line from data to map: load or read, bag, fit, label, score; one `Spec` in, one Dataset out.

Nothing is decided here: every choice is in the Spec, and the result carries it, with the versions
of the packages and a hash of the data, so that it can be made again and told from another.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path

import xarray as xr

from workbench import bagging, datasets, flags, geo, schema
from workbench.checks import InputError, choose, option, require
from workbench.geo.grids import is_word
from workbench.labelled import make_model
from workbench.labelled.mapping import flat_beside, mapped
from workbench.labelled.timing import cost_told
from workbench.links import link_named
from workbench.outputs import check_output, reason_of
from workbench.results import (
    COMPARISON,
    CROSS_VALIDATION,
    OUTPUTS,
    input_files,
    kept_map,
    own_columns,
    save,
    scores,
)
from workbench.spec import Spec, existing

POLYGONS = "polygons"
UNSCORED = "cross-validation has not finished"
Callback = Callable[[int, float, float], None]

__all__ = [
    "COMPARISON", "CROSS_VALIDATION", "OUTPUTS", "POLYGONS", "check_output", "data_of",
    "input_files", "is_file", "model_of", "named_or_file", "own_columns", "polygon_flags", "run",
    "save", "scores", "spec_of",
]


def run(spec: Spec, progress: bool = False, callback: Callback | None = None,
        out: Path | None = None, finished: Callable[[xr.Dataset], object] | None = None,
        resume: Path | None = None, workers: int = 1) -> xr.Dataset:
    """Do what a Spec says: load or read, bag, fit, label, and score on held-out areas.

    Parameters
    ----------
    spec : Spec
        What to do.
    progress : bool
        Show bars on standard error.
    callback : callable, optional
        ``callback(step, objective, fraction)`` at every step of every fit; it may raise
        `workbench.interrupt.Cancelled` to stop, and what is finished by then is returned.
    out : Path, optional
        Where the result will be written: a format that cannot hold it is refused before the fit.
    finished : callable, optional
        Called with the finished map before cross-validation begins, to write it.
    resume : Path, optional
        Folder where the map and finished folds are kept while cross-validation runs; a run of the
        same Spec on the same data goes on from there.
    workers : int
        Processes that share the folds of cross-validation; results do not depend on it.

    Returns
    -------
    xr.Dataset
        The maps of ``Fit.to_dataset``; with ``spec.folds``, also the scores of cross-validation
        beside the constant model, as variables ``cv_...`` (`scores` takes them out again).
        Attributes: those of the data and of the fit (versions, data_sha256), spec, spec_key,
        summary, ``comparison`` (on which bags the scores compare the models, and what failed), and
        ``partial`` (what is missing, and why) if the run was stopped.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says what to change.

    Examples
    --------
    >>> maps = run(Spec("swiss-roll", options=dict(link="square", max_steps=5)))
    >>> maps.attrs["spec_key"] == Spec.from_json(maps.attrs["spec"]).key
    True
    """
    model = model_of(spec)                      # first, so that a wrong option costs no loading
    _check_threshold(spec.threshold, model)
    ds = data_of(spec)
    if out is not None:
        geo.check_format(ds, out)
    require(spec.folds <= ds.sizes["bag"],
            f"expected 2 to {ds.sizes['bag']} folds, one area each at most, got {spec.folds}")
    if spec.folds:          # a scheme that the data do not allow is refused before the fit
        from workbench import evaluation  # here: it takes a second to load, and few runs need it

        evaluation.folds(ds, spec.folds, spec.folds_scheme, spec.seed)
    if progress and (spec.folds or not hasattr(model, "estimate")):     # which tells it itself
        told = cost_told(model, ds, spec.folds, workers)
        print(told, file=sys.stderr) if told else None
    stored = kept_map(resume, ds, model, spec) if spec.folds and resume is not None else None
    if stored is not None and stored.exists():
        maps = geo.read(stored)
    else:
        maps = _map(spec, model, ds, progress, callback)
    if not spec.folds or "partial" in maps.attrs:
        return maps
    if stored is not None and not stored.exists():
        with contextlib.suppress(OSError):      # only the next run would miss it
            stored.parent.mkdir(exist_ok=True)
            geo.write(maps, stored)
    if finished is not None:
        finished(maps.assign_attrs(partial=UNSCORED))
    return _with_scores(maps, model, ds, spec, progress, callback, resume, workers)


def _map(spec, model, ds, progress, callback) -> xr.Dataset:
    fit = model.fit(ds, progress=progress, callback=callback)
    maps = mapped(fit, ds, spec)
    maps.attrs |= {"spec": spec.to_json(indent=None), "spec_key": spec.key,
                   "summary": fit.summary()}
    if fit.cancelled:
        maps.attrs["partial"] = f"the fit was stopped after {len(fit.history)} steps"
        if spec.folds:
            maps.attrs["partial"] += "; there was no cross-validation"
    return maps


def data_of(spec: Spec) -> xr.Dataset:
    """The bagged dataset of a Spec, merged to its level or number of areas.

    Raises
    ------
    InputError
        If the dataset or an option is unknown, or a file is missing or cannot be used.
    """
    options = spec.dataset_options.plain()
    if spec.dataset == POLYGONS:
        ds = _bag_files(options, spec.level)
    elif is_file(spec.dataset):
        require(not options, f"a stored dataset has no options, got {', '.join(options)}")
        ds = schema.check(geo.read(existing("dataset", spec.dataset)))
    else:
        ds = datasets.load(spec.dataset, **options)
    if spec.level is not None and spec.level != ds.attrs.get("level"):
        ds = bagging.merge(ds, spec.level)
    if spec.areas is not None:
        ds = bagging.merge_to(ds, spec.areas)
    if spec.level is not None or spec.areas is not None:
        ds.attrs.pop("sanity", None)        # said of the areas before they were merged
    return bagging.looked_at(ds)


def model_of(spec: Spec, alone: bool = False) -> object:
    """The model of a Spec, ready to fit; ``alone`` in one process, whatever its options say."""
    options = {"seed": spec.seed} | spec.options.plain()
    if alone and hasattr(make_model(spec.model).options, "workers"):
        options["workers"] = 1
    if spec.hyperparameters:
        require("hyperparameters" not in options,
                "the Spec gives hyperparameters twice, also in its options; keep one of them")
        options["hyperparameters"] = spec.hyperparameters.plain()
    return make_model(spec.model, **options)


def named_or_file(dataset: str) -> xr.Dataset:
    """A dataset by name, or the bagged one in a NetCDF file; bags may be without values."""
    if is_file(dataset):
        return schema.check(geo.read(existing("dataset", dataset)), valued=False)
    return datasets.load(dataset)


def is_file(dataset: str) -> bool:
    """Whether a Spec's dataset is a stored file rather than a name."""
    return Path(dataset).suffix.lower() == ".nc"


def polygon_flags() -> dict[str, flags.Flag]:
    """How polygons and rasters may be read and treated: arguments of `workbench.bag_polygons`."""
    inputs = ("polygons", "covariates", "weight", "value", "attrs")
    return flags.of_signature(geo.bag_polygons, inputs) | flags.of_options(geo.Treatments)


def spec_of(path: str | Path) -> Spec:
    """The Spec that a stored result carries.

    Raises
    ------
    InputError
        If the file is missing or carries none.
    """
    with xr.open_dataset(existing("result", path), engine="h5netcdf") as maps:
        require("spec" in maps.attrs, f"{path} carries no Spec; was it written by this workbench?")
        return Spec.from_json(maps.attrs["spec"])


def _check_threshold(threshold: float | None, model: object) -> None:
    # A model without a choice of link has the identity, under which rates may be negative.
    link = link_named(getattr(model.options, "link", "identity"))
    require(threshold is None or threshold >= 0 or not link.positive,
            f"the threshold {threshold} is negative, but under link {link.name!r} every rate is "
            "positive and exceeds it; give a threshold of zero or more, or link='identity'")


def _bag_files(options: dict, level: str | None) -> xr.Dataset:
    missing = [repr(name) for name in ("polygons", "value") if name not in options]
    require(not missing, f"the dataset {POLYGONS!r} needs {' and '.join(missing)} among "
            "dataset_options (covariates and weight may be left out)")
    covariates = options.get("covariates", [])
    if isinstance(covariates, str):
        covariates = options["covariates"] = [covariates]
    paths = covariates.values() if isinstance(covariates, dict) else covariates
    weight = options.get("weight")
    files = [("polygons", options["polygons"]), *(("covariate", path) for path in paths)]
    for role, path in files if is_word(weight) else [*files, ("weight", weight)]:
        existing(role, path, directory=role == "polygons")
    known = flags.of_signature(geo.bag_polygons) | flags.of_options(geo.Treatments)
    for name in options:
        choose("option of bag_polygons", name, known)
    labels = {**(options.get("labels") or {}), **({"bag_name": 0} if "name" in options else {})}
    if level is not None and level not in labels:
        raise InputError(
            f"level {level!r} is no label of the areas: {', '.join(labels) or 'they have none'}; "
            f"pass {option('labels', {level: 'COLUMN'})} with the column of the polygons "
            f"that names the {level} of each area")
    return geo.bag_polygons(**options)


def _with_scores(maps, model, ds, spec, progress, callback, resume, workers) -> xr.Dataset:
    from workbench import evaluation

    scored = _AllOrNothing(model, callback)
    if workers > 1:         # a callback does not reach other processes, nor do processes of theirs
        scored = model_of(spec, alone=True)
    try:
        result = evaluation.cross_validate(
            scored, ds, folds=spec.folds, scheme=spec.folds_scheme, seed=spec.seed,
            progress=progress, constant=flat_beside(model), workers=workers, resume=resume,
        )
    except evaluation.Interrupted as stopped:
        maps.attrs["partial"] = f"cross-validation {stopped}".replace(
            "; they are kept in .partial", "")
        result = stopped.partial
        if result is None:
            return maps
    except OSError as error:                    # a full disk: finished folds cannot be kept
        maps.attrs["partial"] = f"cross-validation could not go on ({reason_of(error)})"
        return maps
    maps.attrs[COMPARISON] = result.attrs[COMPARISON]
    kept = [n for n, v in result.data_vars.items() if not {"quantile", "individual"} & set(v.dims)]
    result = result[kept]
    result = result.drop_vars([n for n in result.coords if n in maps.variables])
    return maps.merge(result.rename({n: f"{CROSS_VALIDATION}{n}" for n in kept}))


class _AllOrNothing:
    """A model whose stopped fits raise, because half a fit must not be scored."""

    def __init__(self, model: object, callback: Callback | None) -> None:
        self._model, self._callback = model, callback
        self.name = getattr(model, "name", type(model).__name__)

    def __repr__(self) -> str:
        """That of the model, by which finished folds are found again."""
        return repr(self._model)

    def fit(self, ds: xr.Dataset) -> object:
        fit = self._model.fit(ds, callback=self._callback)
        if fit.cancelled:
            raise KeyboardInterrupt
        return fit
