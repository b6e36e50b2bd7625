"""Weights of candidates by coarsen and recover, and a verdict on the mixture beside simple maps."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from workbench.checks import InputError
from workbench.labelled.candidates import Effort
from workbench.schema import BAG, INDIVIDUAL, aggregation, kind

MIXTURE, SPLIT, REGRESSION = "auto (mixture)", "split by population", "regression on totals"
_SAMPLES, _BUDGET = 400, 20_000_000     # joint draws of areas, and of individuals at once
_FEW = 30                               # areas below which the test is weak
# Standard errors by which the mixture must be ahead of a simple map to be called better.
_SURE = 3.0
_PRIOR = 5.0                            # groups that equal weights are worth


@dataclass(frozen=True)
class Weighing:
    """Weights of the candidates, and what they rest on.

    Parameters
    ----------
    weights : dict of str to float
        By candidate; they sum to one.
    recovery : xr.Dataset or None
        ``error`` and ``deviance`` (model, grouping), of candidates, mixture and simple maps.
    verdict : str
        The mixture beside the simple maps, in words.
    notes : tuple of str
        What went wrong on the way.
    simple_wins : bool
        Whether a simple map recovered the areas better than the mixture.
    """

    weights: dict[str, float]
    recovery: xr.Dataset | None
    verdict: str
    notes: tuple[str, ...]
    simple_wins: bool = False


def equal_weights(names: list[str], why: str = "the candidates were not tested") -> Weighing:
    """All candidates alike."""
    return Weighing({name: 1 / len(names) for name in names}, None,
                    f"All candidates weigh the same: {why}.", ())


def weigh(models: Mapping[str, object], ds: xr.Dataset, effort: Effort, seed: int, workers: int,
          progress: bool, callback: Callable | None, values: Mapping[str, Mapping]) -> Weighing:
    """Let candidates and two simple maps recover the areas from merged ones; weights by stacking.

    Parameters
    ----------
    models : mapping of str to model
        The candidates, as they are fitted to the areas.
    ds : xr.Dataset
        Bagged dataset.
    effort : Effort
        Sizes and numbers of groupings.
    seed, workers, progress, callback
        As of `Auto`.
    values : mapping of str to mapping
        Hyperparameters of the fits to the areas, at which merged ones are conditioned on.
    """
    from workbench.evaluation.groupings import FEWEST_AREAS, FEWEST_GROUPS, groupings
    from workbench.evaluation.recovery_draws import recover_draws
    from workbench.evaluation.recovery_weights import recovery_weights

    names, areas = list(models), ds.sizes[BAG]
    if areas < FEWEST_AREAS:
        return equal_weights(names, f"{areas} areas are too few to merge some and recover them; "
                             "nothing tells which of them is right")
    if "trials" in ds:
        return equal_weights(names, "positives out of trials cannot be added up over areas, so "
                             "that areas cannot be merged and recovered")
    levels = sorted({max(FEWEST_GROUPS, round(share * areas)) for share in effort.shares})
    groups = groupings(ds, levels, effort.draws, seed)
    everyone = {name: _Held(model, values[name]) for name, model in models.items()} | _simple(ds)

    def show(done: int, total: int, what: str) -> None:
        if callback is not None:
            callback(done, float("nan"), done / total)

    samples = max(100, min(_SAMPLES, _BUDGET // ds.sizes[INDIVIDUAL]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # of fits to few merged areas
        recovered = recover_draws(
            everyone, ds, groups, samples=samples, seed=seed, workers=workers,
            progress=True if progress else show)
    try:
        found = recovery_weights(recovered.sel(model=names))
    except InputError as error:
        return equal_weights(names, str(error))
    # Groups are the units that tell the models apart, and they are not the map's own step.
    trust = float(recovered["group"].max()) + 1
    trust = trust / (trust + _PRIOR)
    tested = recovered["draws"].sel(model=names).notnull().all(("sample", "area")).any(
        ("level", "draw"))
    equal = tested / tested.sum()
    weights = {name: trust * float(found.sel(model=name))
               + (1 - trust) * float(equal.sel(model=name)) for name in names}
    notes = tuple(f"{name}, {level} groups, draw {draw}: {error}" for name in everyone
                  for level in recovered["level"].values for draw in recovered["draw"].values
                  if (error := recovered["error"].sel(model=name, level=level, draw=draw).item()))
    recovery = _scored(recovered, weights, ds, seed)
    verdict, simple_wins = _verdict(recovery, areas)
    return Weighing(weights, recovery, verdict, notes, simple_wins)


class _Held:
    """A candidate with the hyperparameters of its fit to the areas, for totals of merged ones.

    Learnt anew from a few merged areas they would test how little a model needs to be learnt, not
    how well it shares out a total.
    """

    def __init__(self, model, values: Mapping):
        self._model, self._values = model, dict(values)

    def __repr__(self) -> str:
        return f"{self._model!r} at {self._values}"

    def fit(self, ds: xr.Dataset):
        """Condition on the totals; nothing is trained."""
        return self._model.condition(ds, self._values)


class _Rounded:
    """A simple map of whole counts, for totals that need not be whole.

    They are rounded for it (to one at least where there is something), and its draws scaled to add
    up to the totals as they are.
    """

    def __init__(self, model):
        self._model = model

    def __repr__(self) -> str:
        return repr(self._model)

    def fit(self, ds: xr.Dataset):
        return _RoundedFit(self._model.fit(_rounded(ds)))


class _RoundedFit:
    def __init__(self, fit):
        self._fit = fit

    def sample(self, ds: xr.Dataset, samples: int = 1000, *, preserve_totals: bool = False,
               seed: int = 0) -> xr.DataArray:
        whole, total = _rounded(ds), ds["value"].values
        factor = np.divide(total, whole["value"].values, out=np.ones(total.shape), where=total > 0)
        drawn = self._fit.sample(whole, samples, preserve_totals=preserve_totals, seed=seed)
        return drawn * xr.DataArray(factor[ds["membership"].values], dims=INDIVIDUAL)


def _rounded(ds: xr.Dataset) -> xr.Dataset:
    total = ds["value"]
    whole = total.round().clip(min=1).where(total > 0, 0.0)
    return ds.assign(value=whole.assign_attrs(total.attrs))


def _simple(ds: xr.Dataset) -> dict[str, object]:
    """The simple maps that the mixture has to beat; of totals of counts alone."""
    if kind(ds) != "count" or aggregation(ds) != "sum":
        return {}
    from workbench.evaluation.plain import PopulationSplit, TotalsGLM

    found = {SPLIT: _Rounded(PopulationSplit())}
    if ds.sizes["covariate"]:
        found[REGRESSION] = _Rounded(TotalsGLM())
    return found


def _scored(recovered: xr.Dataset, weights: dict[str, float], ds: xr.Dataset, seed: int
            ) -> xr.Dataset:
    """Errors of everyone, mixture included, for each grouping that all candidates finished."""
    from workbench.evaluation.recovery_scores import headline, score_areas

    counts = kind(ds) == "count" and aggregation(ds) == "sum"
    weight = np.bincount(ds["membership"].values, weights=ds["weight"].values)
    observed, rows, errors = ds["value"].values.astype(float), [], []
    names = [str(name) for name in recovered["model"].values]
    for i in range(recovered.sizes["level"]):
        for k in range(recovered.sizes["draw"]):
            group = recovered["group"].values[i, k]
            draws = {name: recovered["draws"].values[j, i, k] for j, name in enumerate(names)}
            mixed = _mixed({name: draws[name] for name in weights}, weights, seed)
            if group[0] < 0 or not np.isfinite(mixed).all():
                continue
            by_name = {**draws, MIXTURE: mixed}
            scores = {}
            for name, values in by_name.items():
                if np.isfinite(values).all():
                    found = score_areas(observed, values, group, weight, counts, seed)
                    scores[name] = found[headline(counts)], found[
                        "deviance" if counts else "squared_error"]
            rows.append({name: tuple(np.nanmean(part) for part in both)
                         for name, both in scores.items()})
            errors.append({name: (*both, group) for name, both in scores.items()})
    order = [*names, MIXTURE]
    grid = np.array([[row.get(name, (np.nan, np.nan)) for row in rows] for name in order])
    what = ("mean CRPS of square roots of counts, areas predicted from totals of merged areas"
            if counts else "mean CRPS, areas predicted from means of merged areas")
    simple = [name for name in names if name not in weights]
    by_error, by_deviance = ({name: _difference(errors, name, which) for name in simple}
                             for which in (0, 1))
    return xr.Dataset(
        {"error": (("model", "grouping"), grid[..., 0], {"long_name": what}),
         "deviance": (("model", "grouping"), grid[..., 1]),
         "difference": ("simple", [by_error[n][0] for n in simple],
                        {"long_name": "error of the mixture less that of the simple map"}),
         "difference_error": ("simple", [by_error[n][1] for n in simple]),
         "deviance_difference": ("simple", [by_deviance[n][0] for n in simple],
                                 {"long_name": "the same of the maps alone"}),
         "deviance_difference_error": ("simple", [by_deviance[n][1] for n in simple])},
        coords={"model": order, "simple": simple})


def _mixed(draws: dict[str, np.ndarray], weights: dict[str, float], seed: int) -> np.ndarray:
    """Joint draws of the mixture: of each candidate as many as its weight says."""
    used = [name for name in draws if weights[name] > 0]
    size = next(iter(draws.values())).shape[0]
    rng = np.random.default_rng(seed)
    share = np.array([weights[name] for name in used])
    exact = size * share / share.sum()
    count = np.floor(exact).astype(int)
    count[np.argsort(count - exact)[: size - count.sum()]] += 1
    return np.concatenate([draws[name][rng.permutation(size)[:n]]
                           for name, n in zip(used, count, strict=True)])


def _difference(errors: list[dict], name: str, which: int) -> tuple[float, float]:
    """Mean difference of a score, mixture less another, and its standard error over groups."""
    means, variances = [], []
    for scores in errors:
        if name not in scores:
            continue
        group, ours, theirs = scores[name][2], scores[MIXTURE][which], scores[name][which]
        known = np.isfinite(ours) & np.isfinite(theirs)
        size = np.bincount(group[known])
        gap = np.bincount(group[known], weights=(ours - theirs)[known])
        present = size > 0
        mean = gap.sum() / size.sum()
        left = gap[present] - mean * size[present]
        n = present.sum()
        means.append(mean)
        variances.append(n / max(n - 1, 1) * np.square(left).sum() / size.sum() ** 2)
    if not means:
        return float("nan"), float("nan")
    return float(np.mean(means)), float(np.sqrt(np.mean(variances)))


def _verdict(recovery: xr.Dataset, areas: int) -> tuple[str, bool]:
    """The mixture beside the simple maps in words, and whether one of them was better."""
    def mean(name: str, score: str) -> float:
        return float(recovery[score].sel(model=name).mean())

    simple = [name for name in recovery["simple"].values.astype(str)
              if np.isfinite(mean(name, "error"))]
    ours, parts, wins, unsure = mean(MIXTURE, "error"), [], [], []
    for name in simple:
        gap = float(recovery["difference"].sel(simple=name))
        error = float(recovery["difference_error"].sel(simple=name))
        parts.append(f"the {name} {mean(name, 'error'):.3g} (difference {gap:+.2g}, standard error "
                     f"{error:.2g})")
        if gap > 0 or mean(name, "deviance") * 1.1 < mean(MIXTURE, "deviance"):
            wins.append(name)
        elif (gap > -_SURE * error
              or float(recovery["deviance_difference"].sel(simple=name))
              > -_SURE * float(recovery["deviance_difference_error"].sel(simple=name))):
            unsure.append(name)
    text = f"Recovering the known areas from merged ones the mixture has an error of {ours:.3g}"
    text += "".join(f", {part}" for part in parts) + "."
    if wins:
        text += (f" The {' and the '.join(wins)} recovered them as well or better: compare the "
                 "maps with wb.compare, and prefer the simple one unless there is a reason not to.")
    if unsure and not wins:
        text += (f" That is not surely better than the {' and the '.join(unsure)}, whose map may "
                 "be as good or better inside the areas: compare them with wb.compare.")
    elif areas < _FEW and not wins:
        text += (f" {areas} areas make a weak test: a simple map may be as good or better inside "
                 "them; compare them with wb.compare.")
    return text, bool(wins)
