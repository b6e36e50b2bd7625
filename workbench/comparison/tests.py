"""The tests of a comparison, brought to one form: scores, paired differences, their intervals."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import stats
from scipy.special import kl_div

from workbench.evaluation.area_scores import TITLES, clustered_error
from workbench.evaluation.calibration import covered_by_pit

COUNTS = ("crps_sqrt", "crps", "deviance", "coverage_50", "coverage_80", "coverage_95")
VALUES = ("crps", "squared_error", "coverage_50", "coverage_80", "coverage_95")
INDIVIDUALS, RECOVERED, RANDOM, BLOCKS = "individuals", "recovered", "random", "blocks"
DECIDES = (INDIVIDUALS, RECOVERED, RANDOM, BLOCKS)      # the first that there is
_TITLES = TITLES | {"deviance": "deviance of map"}      # rescaled only where totals are known
_LEVELS = (0.5, 0.8, 0.95)


def names(counts: bool) -> tuple[str, ...]:
    """The scores of a comparison, of counts or other values; the first is the one that decides."""
    return COUNTS if counts else VALUES


def of_held_out(scheme: str, result: xr.Dataset, counts: bool) -> xr.Dataset:
    """Scores of areas that were held out, from `cross_validate`.

    Parameters
    ----------
    scheme : str
        How areas were held out.
    result : xr.Dataset
        Of `workbench.cross_validate`.
    counts : bool
        Whether values are totals of counts.

    Returns
    -------
    xr.Dataset
        One test of `Comparison`.
    """
    y, mean = result["bag_observed"].values, result["bag_mean"].values
    inside = covered_by_pit(result["bag_pit"].values.ravel(), _LEVELS).reshape(3, *mean.shape)
    per = {"crps": result["bag_crps"].values} | {
        f"coverage_{100 * level:.0f}": np.where(np.isfinite(mean), inside[i], np.nan)
        for i, level in enumerate(_LEVELS)}
    if counts:
        per["crps_sqrt"] = result["bag_crps_sqrt"].values
        per["deviance"] = 2 * kl_div(y, mean)       # infinite where the mean is negative
    else:
        per["squared_error"] = (mean - y) ** 2
    values = np.stack([per[name] for name in names(counts)], axis=-1)
    fold = result["fold_of_bag"].values
    random = scheme in (RANDOM, "stratified")
    word = {RANDOM: "at random", "stratified": "by rate", BLOCKS: "in spatial blocks"}
    return summarise(
        result["model"].values, values, np.arange(y.size) if random else fold, counts,
        phrase=f"areas held out {word.get(scheme, f'by {scheme}')}", unit="areas",
        cluster="areas" if random else "blocks",
        errors=_folds_failed(result["error"]), notes=_notes(result["note"], "fold"),
        seconds=result["seconds"].sum("fold").values)


def of_recovered(result: xr.Dataset, counts: bool) -> xr.Dataset:
    """As `of_held_out`: areas recovered from the totals of their groups, by `recover`."""
    chosen = result.sel(score=list(names(counts)))
    meant = (result["group"].isel(area=0, drop=True) >= 0)
    wanted = meant.values.sum()
    failed = (result["error"] != "") & meant
    errors = [_so_many(int(f.sum()), int(wanted), "fits", [e for e in errors.ravel() if e])
              for f, errors in zip(failed.values, result["error"].values, strict=True)]
    groups = float(np.mean(result["groups"].values))
    return _packed(
        chosen["scores"].values, chosen["difference"].values, chosen["difference_error"].values,
        result["model"].values, counts, groups, result.sizes["area"],
        phrase="areas recovered from the totals of their groups", unit="areas", cluster="groups",
        errors=errors, notes=_notes(result["note"], "fit"),
        seconds=result["seconds"].sum(["level", "draw"]).values)


def of_individuals(result: xr.Dataset, counts: bool) -> xr.Dataset:
    """As `of_held_out`: individuals given the totals of their areas, by `score_individuals`."""
    return summarise(
        result["model"].values,
        result["individual_scores"].sel(score=list(names(counts))).values,
        result["membership"].values, counts,
        phrase="the known individuals inside the areas", unit="individuals", cluster="areas",
        errors=[str(e) for e in result["error"].values],
        notes=[str(e) for e in result["note"].values], seconds=result["seconds"].values)


def summarise(models, values: np.ndarray, clusters: np.ndarray, counts: bool, **about
              ) -> xr.Dataset:
    """Means over the units that all models with any scores predicted, and paired differences.

    Parameters
    ----------
    models : array of str
    values : array (model, unit, score)
    clusters : int array (unit,)
        Units of one cluster depend on each other.
    counts : bool
    **about
        For `_packed`.

    Returns
    -------
    xr.Dataset
        One test of `Comparison`.
    """
    there = ~np.isnan(values).any(-1)
    ever = there.any(1)
    shared = there[ever].all(0) if ever.any() else np.zeros(values.shape[1], bool)
    kept, own = values[:, shared], clusters[shared]
    total, scores = len(models), values.shape[-1]
    difference = np.full((total, total, scores), np.nan)
    error = np.full((total, total, scores), np.nan)
    mean = np.full((total, scores), np.nan)
    if shared.any():
        mean[ever] = kept[ever].mean(1)
    for a in np.flatnonzero(ever):
        for b in np.flatnonzero(ever[:a]):
            for s in range(scores if shared.any() else 0):
                with np.errstate(invalid="ignore"):
                    one = kept[a, :, s] - kept[b, :, s]
                difference[a, b, s] = one.mean()
                error[a, b, s] = error[b, a, s] = clustered_error(one, own)
                difference[b, a, s] = -difference[a, b, s]
        difference[a, a], error[a, a] = 0.0, 0.0
    return _packed(mean, difference, error, models, counts, np.unique(own).size,
                   int(shared.sum()), **about)


def independent(data: xr.Dataset, test: str) -> int:
    """On how many areas, or blocks of them, the coverage of a test rests; 0 of individuals.

    Parameters
    ----------
    data : xr.Dataset
        Of a `Comparison`.
    test : str
        Which one.
    """
    if test == INDIVIDUALS:         # thousands, whose errors depend on each other
        return 0
    return int(data["clusters" if test == BLOCKS else "units"].sel(test=test))


def _packed(scores, difference, error, models, counts, clusters, units, *, phrase, unit, cluster,
            errors, notes, seconds) -> xr.Dataset:
    with np.errstate(invalid="ignore"):
        half = stats.t.ppf(0.975, clusters - 1) * error if clusters > 1 else np.full_like(
            error, np.nan)
        half[error == 0] = 0.0
    dims = ("model", "other", "score")
    return xr.Dataset(
        {"scores": (("model", "score"), scores), "difference": (dims, difference),
         "difference_error": (dims, error), "lower": (dims, difference - half),
         "upper": (dims, difference + half), "seconds": ("model", seconds, {"units": "s"}),
         "error": ("model", np.array(errors, dtype=str)),
         "note": ("model", np.array(notes, dtype=str)),
         "phrase": phrase, "unit": unit, "cluster": cluster, "units": units,
         "clusters": float(clusters)},
        coords={"model": np.asarray(models, dtype=str), "other": np.asarray(models, dtype=str),
                "score": list(names(counts)),
                "score_title": ("score", [_TITLES[name] for name in names(counts)])})


def _folds_failed(errors: xr.DataArray) -> list[str]:
    return [_so_many(int((row != "").sum()), row.size, "folds", [e for e in row if e])
            for row in errors.values]


def _so_many(failed: int, wanted: int, what: str, messages: list[str]) -> str:
    return f"{failed} of {wanted} {what} failed (the first: {messages[0]})" if failed else ""


def _notes(notes: xr.DataArray, what: str) -> list[str]:
    """For each model how many fits warned, and the first warning."""
    out = []
    for row in notes.values.reshape(notes.sizes["model"], -1):
        said = [str(text) for text in row if text]
        out.append(f"{len(said)} {what}s warned (the first: {said[0]})" if said else "")
    return out
