"""What each command's model learns from, where its map is wanted, and how the map is labelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path

import xarray as xr

from workbench import bagging, datasets
from workbench.bagging.tables import read_table, separated
from workbench.checks import FitWarning, InputError, NotExact, choose, require, warn
from workbench.geo.centres import place
from workbench.geo.periods import at_period
from workbench.gp.models.registry import AUTO, ENTRIES, Entry
from workbench.labelled import load_fit, make_model, models
from workbench.pipeline.base import BaseSpec, existing
from workbench.pipeline.inputs import data_of, named_or_file
from workbench.pipeline.large import in_blocks, rasters_of
from workbench.pipeline.own_files import POINTS, places_of, region_of
from workbench.pipeline.spec import CombineSpec, MediateSpec, PredictSpec, SmoothSpec, Spec
from workbench.pipeline.transfer import elsewhere, region

_MODELS: dict[str, Callable[[Entry], bool]] = {     # which models a command can use, if not all
    "smooth": lambda entry: entry.name == "quasi-likelihood",
    "mediate": lambda entry: entry.mediated,
    "combine": lambda entry: entry.several,
    "aggregate": lambda entry: False,           # its model is that of the map
    "rehearse": lambda entry: entry.name in ("vbagg", "auto", "centre-point", "constant",
                                            "aggregated-gp"),
    "engines": lambda entry: entry.name == "vbagg",
}


@dataclass(frozen=True)
class Problem:
    """What a model learns from, and the map that is wanted of its fit.

    Parameters
    ----------
    learn : tuple
        Positional arguments of the model's ``fit``.
    ds : xr.Dataset
        Bagged dataset at whose individuals the map is wanted.
    label : callable
        ``label(fit)`` makes the map.
    keywords : Mapping
        Further arguments of ``fit``.
    told : str
        What was read, in a line; may be empty.
    fit : Fit, optional
        One that is there already: nothing is learnt.
    """

    learn: tuple
    ds: xr.Dataset
    label: Callable[[object], xr.Dataset]
    keywords: Mapping = field(default_factory=dict)
    told: str = ""
    fit: object = None


def models_for(command: str) -> list[str]:
    """Names of the models that a command can use.

    Parameters
    ----------
    command : str
        A command with Specs, or any other: all models.

    Returns
    -------
    list of str
        Registry names.
    """
    if command not in _MODELS:
        return list(models())
    return [entry.name for entry in (AUTO, *ENTRIES.values()) if _MODELS[command](entry)]


def model_of(spec: BaseSpec, workers: int | None = None) -> object:
    """The model of a Spec, ready to fit.

    Parameters
    ----------
    spec : BaseSpec
        Of any command.
    workers : int, optional
        Processes of a model that can use several, instead of what its options say.

    Returns
    -------
    LabelledModel

    Raises
    ------
    InputError
        If the command cannot use the model, or an option is unknown or given twice.
    """
    choose("model", spec.model, models_for(spec.command))
    options = {"seed": spec.seed} | spec.options.plain()
    if isinstance(spec, MediateSpec) and spec.noise_variance is not None:
        options = {"noise": "known"} | options
    if spec.hyperparameters and not spec.mixture:
        require("hyperparameters" not in options,
                "the Spec gives hyperparameters twice, also in its options; keep one of them")
        options["hyperparameters"] = spec.hyperparameters.plain()
    if workers is not None and hasattr(make_model(spec.model).options, "workers"):
        options["workers"] = workers
    return make_model(spec.model, **options)


@singledispatch
def problem_of(spec: BaseSpec) -> Problem:
    """Read what a Spec names: data to learn from, and where its map is wanted.

    Parameters
    ----------
    spec : BaseSpec
        Of any command.

    Returns
    -------
    Problem

    Raises
    ------
    InputError
        If the data cannot be used; the message says what to change.
    """
    raise TypeError(f"no command makes a map of a {type(spec).__name__}")


@problem_of.register
def _disaggregate(spec: Spec) -> Problem:
    ds = data_of(spec)
    if spec.dataset == POINTS:
        return _points(ds, spec)
    where = ds if spec.at is None else elsewhere(spec, ds)
    return Problem((ds,), where, lambda fit: _checked(
        fit, where, spec, _rescaled(fit, where, spec)))


def _points(ds: xr.Dataset, spec: Spec) -> Problem:
    require(not spec.rescale_to_totals, "points have no totals that a map of pixels could add up "
            "to; leave out rescale_to_totals")
    require(not (spec.residuals or spec.ranks), "residuals and ranks are of areas, and points are "
            "none; leave them out")
    require(spec.at is None, "points have places of their own to map: covariates or cells; leave "
            "out at")
    places = places_of(spec.dataset_options.plain(), ds)

    def label(fit) -> xr.Dataset:
        maps = fit.to_dataset(places, spec.quantiles, spec.threshold, **_further(spec))
        return maps.drop_dims("bag").drop_vars(["membership", "weight"], errors="ignore"
                                               ).assign_attrs(points=ds.sizes["bag"])

    return Problem((ds,), places, label, told=f"read {ds.sizes['bag']} points")


@problem_of.register
def _smooth(spec: SmoothSpec) -> Problem:
    table = existing("table", spec.table)
    ds = place(bagging.from_summaries(
        table, spec.statistic, spec.count, x=spec.x, y=spec.y, variance=spec.variance,
        name=spec.name, is_a=spec.is_a, encoding=spec.encoding), spec.crs, spec.y)
    require(ds.sizes["bag"] > 1, f"{table.name} has one area, which says nothing about how values "
            "vary in space: there is nothing to smooth; give a table of several areas")
    places = bagging.grid_places(ds, spec.cells)

    def label(fit) -> xr.Dataset:
        maps = fit.to_dataset(places, spec.quantiles, spec.threshold)
        of_places = ["value", "bag_mean", "bag_std", "bag_quantile"]    # each pixel is its own bag
        return maps.drop_vars(of_places, errors="ignore").assign_attrs(
            summaries=table.name, areas=ds.sizes["bag"])

    return Problem((ds,), places, label,
                   told=f"read {ds.sizes['bag']} areas from {table.name}{separated(table)}")


@problem_of.register
def _mediate(spec: MediateSpec) -> Problem:
    ds = named_or_file(spec.bags)
    if spec.mediators:
        ds = bagging.add_mediators(ds, list(spec.mediators))
    require("mediators" in ds, "the bags have no mediators; name covariates whose means they are "
            "with --mediators")
    table = existing("targets", spec.targets)
    targets = bagging.targets_from_table(
        read_table(table, encoding=spec.encoding), spec.value,
        [str(m) for m in ds["mediator"].values], noise_variance=spec.noise_variance)

    def label(fit) -> xr.Dataset:
        maps = fit.to_dataset(ds, spec.quantiles, spec.threshold)
        return maps.drop_vars("value", errors="ignore").assign_attrs(
            targets=table.name, target_count=targets.sizes["target"])

    return Problem((ds, targets), ds, label)


@problem_of.register
def _combine(spec: CombineSpec) -> Problem:
    if len(spec.sources) == 1 and spec.sources[0] in datasets.datasets(several=True):
        tree: xr.DataTree = datasets.load_sources(spec.sources[0])
        data = {name: child.to_dataset() for name, child in tree["sources"].children.items()}
        ds = tree["target"].to_dataset()
    else:
        data = dict(map(_source, spec.sources))
        require(len(data) == len(spec.sources), "two sources have one name; write NAME=FILE")
        ds = next(iter(data.values()))
    if spec.at is not None:
        ds = named_or_file(spec.at)
    return Problem((data,), ds, lambda fit: fit.to_dataset(
        ds, spec.quantiles, spec.threshold, spec.area_effect, spec.task),
        {"trust": spec.trust.plain()})


@problem_of.register
def _predict(spec: PredictSpec) -> Problem:
    fit = load_fit(existing("fit", spec.fit))
    told = f"read {fit!r} from {Path(spec.fit).name}"
    ds = _asked(fit, spec) if spec.at is not None else fit.data if (
        spec.period is None or spec.rasters) else at_period(fit.data, spec.period)
    require(spec.task is None or hasattr(fit, "tasks"),
            f"{fit.model.name} has one task, which needs no name; leave task out")
    if spec.rasters:
        return Problem((), rasters_of(spec), lambda fit: in_blocks(fit, spec), told=told, fit=fit)

    def label(fit) -> xr.Dataset:
        if hasattr(fit, "tasks"):
            require(not spec.rescale_to_totals, f"{fit.model.name} has no draws that add up to "
                    "totals; leave rescale_to_totals out")
            return fit.to_dataset(ds, spec.quantiles, spec.threshold, spec.area_effect, spec.task)
        return _rescaled(fit, ds, spec)

    return Problem((), ds, label, told=told, fit=fit)


def _asked(fit, spec: PredictSpec) -> xr.Dataset:
    """Where a stored fit is asked; one of several sources has no one set of covariates."""
    if not hasattr(fit, "tasks"):
        return region(spec, fit.data)
    return region_of(spec.at_options.plain()) if spec.at_options else named_or_file(str(spec.at))


def _source(text: str) -> tuple[str, xr.Dataset]:
    name, given, path = text.rpartition("=")
    if given and not name:
        raise InputError(f"{text!r} has no name before the equals sign; write NAME=FILE")
    return name or Path(path).stem, named_or_file(path)


def _checked(fit, ds: xr.Dataset, spec: Spec, maps: xr.Dataset) -> xr.Dataset:
    """The map with ranks of areas, and their residuals; these are no reason to lose a map."""
    if spec.ranks:
        try:
            found = fit.ranks(ds, area_effect=spec.area_effect, seed=spec.seed)
            maps = maps.merge(found.reset_coords(drop=True), combine_attrs="override")
        except InputError as error:
            warn(f"areas were not ranked: {error}", FitWarning)
    if not spec.residuals:
        return maps
    try:
        found = fit.residual_check(ds, seed=spec.seed)
    except InputError as error:
        warn(f"residuals of areas were not checked: {error}", FitWarning)
        return maps.assign_attrs(residual_check=f"not made: {error}")
    areas = {"residual": found["residual"], "residual_neighbours": found["neighbours"]}
    variogram = found.drop_vars(["residual", "neighbours"]).rename(
        {name: f"variogram_{name}" for name in ("distance", "lower", "upper", "pairs")}).rename(
        semivariance="variogram")
    return maps.assign({name: one.reset_coords(drop=True) for name, one in areas.items()}).merge(
        variogram.drop_vars("bag"), combine_attrs="override").assign_attrs(
        residual_check=found.attrs["verdict"])


def _further(spec: Spec | PredictSpec) -> dict:
    """What a map has beside its rate, as options of ``Fit.to_dataset``."""
    return {"information": spec.information, "components": spec.components, "draws": spec.draws,
            "seed": spec.seed}


def _rescaled(fit, ds: xr.Dataset, spec: Spec | PredictSpec) -> xr.Dataset:
    """The map; one that cannot be made to add up to the totals is not lost, and says so."""
    asked = (ds, spec.quantiles, spec.threshold, spec.area_effect)
    further = _further(spec)
    if not spec.rescale_to_totals:
        return fit.to_dataset(*asked, **further)
    try:
        return fit.to_dataset(*asked, preserve_totals=True, **further)
    except NotExact as error:
        told = f"the map does not add up to the totals, as was asked for: {error}"
        warn(told, FitWarning)
        maps = fit.to_dataset(*asked, **further)
        before = maps.attrs.get("treatments", "none")
        return maps.assign_attrs(treatments=told if before == "none" else f"{before}\n{told}")
