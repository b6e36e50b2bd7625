"""Score fits on a dataset, at every level where the answer is known, beside flat baselines."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from workbench.checks import require
from workbench.evaluation.accuracy import rescale_to_totals
from workbench.evaluation.baselines import OwnBag
from workbench.evaluation.summary import describe, summarise
from workbench.evaluation.tables import LEARNT_FROM
from workbench.evaluation.tasks import model_name
from workbench.evaluation.units import TARGETS, score_units, targets
from workbench.labelled.once import converted_once
from workbench.schema import BAG, GEOMETRY, INDIVIDUAL, aggregation, check, counts_add_up, kind

_KEPT = ("observed", "mean", "std", "quantile", "pit", "crps", "crps_sqrt", "wis", "log_score",
         "pinned")
OWN_BAG = "own bag, by weight"


def evaluate(
    fit,
    ds: xr.Dataset,
    *,
    training: xr.Dataset | None = None,
    samples: int = 1000,
    seed: int = 0,
    constant=None,
) -> xr.Dataset:
    """Score one fit, or several, on a dataset, always beside the constant model.

    Scored are the bags' values, and, where the dataset has them, the individuals' values and
    the true rate. Values of bags that a fit was trained on do not tell which map is nearer to
    the truth: of counts the constant model reproduces each by the effect of its area, of others a
    flexible map may follow the noise. The attribute
    ``learnt_from`` says so then, and `table` in its heading; `cross_validate`, `workbench.recover`
    and `compare` tell maps apart.

    Parameters
    ----------
    fit : Fit or dict of str to Fit
        Fits by name; a lone fit is named after its model. One called "constant" is the baseline.
    ds : xr.Dataset
        Bagged dataset to score on.
    training : xr.Dataset, optional
        What the constant model is fitted to: the data of the fits, by default ``ds``.
    samples : int
        Draws from each predictive distribution.
    seed : int
        Seed of the draws.
    constant : model, optional
        The baseline; by default `workbench.Constant`.

    Returns
    -------
    xr.Dataset
        Dimensions target ("bag", "individual", "rate"), model, score, level, pit_bin, bag,
        individual. ``scores`` (target, model, score) with ``score_units``, where coverage counts
        the ends of an interval as inside; ``units_scored`` and ``units_predicted`` (target,
        model), which differ where folds of `cross_validate` failed; ``coverage`` (target, model,
        level), by the randomised PIT, so that a calibrated distribution covers even small counts
        exactly, with its band ``coverage_lower``, ``coverage_upper``; ``pit_density`` (target,
        model, pit_bin);
        and per unit ``bag_mean``, ``bag_quantile``, ``bag_pit``, ``bag_crps`` ..., likewise
        ``individual_`` and ``rate_``.

    Raises
    ------
    InputError
        If there is no fit, or the dataset is not a bagged one.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)
    >>> result = wb.evaluate(fit, ds, samples=50)
    >>> result["model"].values.tolist()
    ['vbagg', 'constant', 'own bag, by weight']
    """
    check(ds)
    named = _named(fit)
    if "constant" not in named:
        flat = constant or flat_model()
        named["constant"] = flat.fit(ds if training is None else training)
    with converted_once():
        result = assemble(score_all(named, ds, samples, seed), ds, pinned=True)
        said = _learnt_from(named, ds)
    return result.assign_attrs({LEARNT_FROM: said} if said else {})


def _learnt_from(fits: Mapping, ds: xr.Dataset) -> str:
    """What scores of bags are worth that some fits were trained on; empty where none was."""
    known = {name: int(one.learnt_from(ds).sum()) for name, one in fits.items()
             if hasattr(one, "learnt_from")}
    names, most = [name for name, count in known.items() if count], max(known.values(), default=0)
    if not names:
        return ""
    return (f"{' and '.join(names)} learnt from the values of {most} of these {ds.sizes[BAG]} "
            "bags: scores of bags do not tell here which map is nearer to the truth. What does: "
            "fit.verdict of wb.Auto, wb.cross_validate, wb.recover, wb.compare")


def score_all(fits: Mapping, ds: xr.Dataset, samples: int, seed: int = 0
              ) -> dict[str, dict[str, xr.Dataset]]:
    """Scores of each unit of fits by name, and of the areas' own rates where these add up.

    Parameters
    ----------
    fits : mapping of str to Fit
        What is scored.
    ds, samples, seed
        As of `evaluate`.

    Returns
    -------
    dict of str to dict
        By model and target, as `assemble` takes them.
    """
    with converted_once():
        scored = {name: score_units(one, ds, targets(ds), samples, seed)
                  for name, one in fits.items()}
    fine = [name for name in targets(ds) if name != "bag"]
    if fine and counts_add_up(ds):
        scored[OWN_BAG] = score_units(OwnBag().fit(ds), ds, fine, samples, seed)
    return scored


def flat_model():
    """The constant model of the package.

    Of counts it has an area effect and a nugget, as any model has by default: its intervals are
    those of one rate everywhere and areas that differ, not of Poisson counts of one rate. Of other
    values it is the flat candidate of `workbench.Auto`.
    """
    from workbench.labelled import Constant  # here: it loads torch, which scores alone do not need

    return Constant()


def _named(fit) -> dict:
    if isinstance(fit, Mapping):
        require(len(fit) > 0, "give at least one fit")
        return {str(name): one for name, one in fit.items()}
    return {model_name(getattr(fit, "model", fit)): fit}


def assemble(scored: dict[str, dict[str, xr.Dataset]], ds: xr.Dataset, pinned: bool) -> xr.Dataset:
    """Put the units of all models, with their averages, into one labelled dataset.

    A model that predicted only some units (a fold of it failed) keeps them all, but averages are
    taken over the units that every model predicted, so that they can be compared.

    Parameters
    ----------
    scored : dict of str to dict
        By model and target, of `workbench.evaluation.units.score_units`.
    ds : xr.Dataset
        Bagged dataset.
    pinned : bool
        Whether maps rescaled to the totals are scored, too.

    Returns
    -------
    xr.Dataset
        See `evaluate`.
    """
    counts, present, models = kind(ds) == "count", targets(ds), list(scored)
    pieces, grid = [], []
    for target in present:
        # Labels of the units come back at the end; a pixel's own "coverage" must not meet the
        # score of that name.
        by_model = {name: units[target].reset_coords(drop=True)
                    for name, units in scored.items() if target in units}
        if pinned and target == "individual" and aggregation(ds) == "sum":
            by_model = {
                name: one.assign(pinned=(INDIVIDUAL, _rescaled(ds, one["mean"].values)))
                for name, one in by_model.items()}
        groups = None if target == "bag" else ds["membership"].values
        summaries = _compared(by_model, TARGETS[target], groups, counts and target != "rate")
        grid.append(xr.concat(summaries.values(), _index("model", summaries)).reindex(model=models))
        kept = [one[[v for v in _KEPT if v in one]] for one in by_model.values()]
        units = xr.concat(kept, _index("model", by_model), join="outer")
        units["observed"] = units["observed"].isel(model=0, drop=True)
        pieces.append(units.rename({v: f"{target}_{v}" for v in units.data_vars}))
    summary = xr.concat(grid, _index("target", present)).rename(bin="pit_bin")
    per_unit = [piece.reindex(model=models) for piece in pieces]
    result = xr.merge([summary, *per_unit], join="outer", compat="override")
    return describe(_label(result, ds), ds)


def _rescaled(ds: xr.Dataset, mean: np.ndarray) -> np.ndarray:
    """The map rescaled to the totals; NaN if it expects less than nothing somewhere."""
    if (mean < 0).any():
        return np.full(mean.shape, np.nan)
    return rescale_to_totals(ds, mean).values


def _compared(
    by_model: dict[str, xr.Dataset], dim: str, groups: np.ndarray | None, counts: bool
) -> dict[str, xr.Dataset]:
    """Averages of every model over the units that all of them predicted."""
    there = {name: np.isfinite(one["mean"].values) for name, one in by_model.items()}
    shared = np.logical_and.reduce(list(there.values()))
    summaries = {}
    for name, one in by_model.items():
        over = shared if shared.any() else there[name]
        summary = summarise(one.isel({dim: over}), None if groups is None else groups[over], counts)
        if not shared.any():        # nothing in common: no score may stand beside another's
            summary = summary.where(False).assign(units_scored=0)
        summaries[name] = summary.assign(units_predicted=int(there[name].sum()))
    return summaries


def _index(name: str, values) -> xr.DataArray:
    return xr.DataArray(list(values), dims=name, name=name)


def _label(result: xr.Dataset, ds: xr.Dataset) -> xr.Dataset:
    coords = {
        name: coord.variable        # alone: a coordinate of ds brings all the others with it
        for name, coord in ds.coords.items()
        if coord.dims in ((BAG,), (INDIVIDUAL,)) and name not in (*GEOMETRY, *result.data_vars)
    }
    if "individual_mean" not in result and "rate_mean" not in result:
        coords = {name: coord for name, coord in coords.items() if coord.dims == (BAG,)}
    kept = {n: ds.attrs[n] for n in ("title", "source", "licence", "level") if n in ds.attrs}
    return result.assign_coords(coords).assign_attrs(kept)
