"""What the recovered areas say of a mixture beside simple maps: scores, differences, words."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench.checks.figures import figure
from workbench.evaluation.evidence import (
    FEW,
    SURE,
    TOO_NARROW,
    Evidence,
    Standing,
    standing_of,
    width,
)
from workbench.schema import aggregation, counts_add_up

MIXTURE = "auto (mixture)"
HOW = "Recovering the known areas from merged ones"
COVERAGE = "coverage_95"
# What the variable ``deviance`` is of values that are no counts, and the attribute that says so.
MAP_SCORE, SQUARES = "map_score", "squared error"


def scored(recovered: xr.Dataset, weights: dict[str, float], ds: xr.Dataset, seed: int
            ) -> xr.Dataset:
    """Errors of everyone, mixture included, for each grouping that all candidates finished.

    And the share of the areas that lie in their 95 % intervals.
    """
    from workbench.evaluation.area_scores import headline, score_areas

    counts = counts_add_up(ds)
    weight = np.bincount(ds["membership"].values, weights=ds["weight"].values)
    observed, rows, errors = ds["value"].values.astype(float), [], []
    names = [str(name) for name in recovered["model"].values]
    for i in range(recovered.sizes["level"]):
        for k in range(recovered.sizes["draw"]):
            group = recovered["group"].values[i, k]
            draws = {name: recovered["draws"].values[j, i, k] for j, name in enumerate(names)}
            both = mixed({name: draws[name] for name in weights}, weights, seed)
            if group[0] < 0 or not np.isfinite(both).all():
                continue
            by_name = {**draws, MIXTURE: both}
            scores = {}
            for name, values in by_name.items():
                if np.isfinite(values).all():
                    found = score_areas(observed, values, group, weight, counts, seed)
                    scores[name] = found[headline(counts)], found[
                        "deviance" if counts else "squared_error"], found[COVERAGE]
            rows.append({name: tuple(np.nanmean(part) for part in parts)
                         for name, parts in scores.items()})
            errors.append({name: (*parts[:2], group) for name, parts in scores.items()})
    order = [*names, MIXTURE]
    grid = np.array([[row.get(name, 3 * (np.nan,)) for row in rows] for name in order])
    merged = f"areas predicted from {'means' if aggregation(ds) == 'mean' else 'totals'} of merged"
    what = f"mean CRPS{' of square roots of counts' if counts else ''}, {merged} areas"
    simple = [name for name in names if name not in weights]
    by_error, by_deviance = ({name: difference(errors, name, which) for name in simple}
                             for which in (0, 1))
    return xr.Dataset(
        {"error": (("model", "grouping"), grid[..., 0], {"long_name": what}),
         "deviance": (("model", "grouping"), grid[..., 1]),
         COVERAGE: (("model", "grouping"), grid[..., 2],
                    {"long_name": "share of those areas in their 95 % intervals"}),
         "difference": ("simple", [by_error[n][0] for n in simple],
                        {"long_name": "error of the mixture less that of the simple map"}),
         "difference_error": ("simple", [by_error[n][1] for n in simple]),
         "deviance_difference": ("simple", [by_deviance[n][0] for n in simple],
                                 {"long_name": "the same of the maps alone"}),
         "deviance_difference_error": ("simple", [by_deviance[n][1] for n in simple])},
        coords={"model": order, "simple": simple},
        attrs={"how": HOW} | ({} if counts else {MAP_SCORE: SQUARES}))


def mixed(draws: dict[str, np.ndarray], weights: dict[str, float], seed: int) -> np.ndarray:
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


def difference(errors: list[dict], name: str, which: int) -> tuple[float, float]:
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


def covered_share(recovery: xr.Dataset) -> float:
    """Share of the areas in the 95 % intervals that the mixture had for them.

    Parameters
    ----------
    recovery : xr.Dataset
        By `scored`.

    Returns
    -------
    float
        NaN in a dataset of an earlier version, which does not have it.
    """
    return _mean(recovery, MIXTURE, COVERAGE) if COVERAGE in recovery else float("nan")


def verdict(recovery: xr.Dataset, areas: int) -> tuple[str, bool]:
    """The mixture beside the simple maps in words, and whether one of them was as good or better.

    Parameters
    ----------
    recovery : xr.Dataset
        By `scored`.
    areas : int
        Areas of the data.
    """
    parts = []
    for name in _scored(recovery):
        gap, error = _gap(recovery, name, "difference")
        mean = figure(_mean(recovery, name, "error"), 3)
        parts.append(f"the {name} {mean} (difference {figure(gap, 2, '+')}, "
                     f"standard error {figure(error, 2)})")
    stands = standing(recovery)
    text = (f"{recovery.attrs.get('how', HOW)} the mixture has an error of "
            f"{_mean(recovery, MIXTURE, 'error'):.3g}")
    text += "".join(f", {part}" for part in parts) + "."
    if stands.better:
        text += (f" The {' and the '.join(stands.better)} recovered them better: compare the "
                 "maps with wb.compare, and prefer the simple one unless there is a reason not to.")
    elif stands.tied:
        text += (f" That is no better than the {' and the '.join(stands.tied)} (difference within "
                 f"{SURE:g} standard errors): compare the maps with wb.compare.")
    elif stands.unsure or stands.alone:
        text += (f" That is {_not_sure(recovery, stands)}, by the {SURE:g} standard errors asked "
                 "here: a simple map may be as good or better inside the areas; compare them with "
                 "wb.compare.")
    elif areas < FEW:
        text += (f" {areas} areas make a weak test: a simple map may be as good or better inside "
                 "them; compare them with wb.compare.")
    share = covered_share(recovery)
    if np.isfinite(share):
        # By one step coarser than the map, so that only far too little speaks against the map.
        text += f" Its 95 % intervals covered {100 * share:.0f} % of those areas" + (
            "." if share >= TOO_NARROW or not width(share, areas) else
            ": far too few, so do not rely on those inside the areas either.")
    return text, bool(stands.better or stands.tied)


def standing(recovery: xr.Dataset) -> Standing:
    """How the mixture stands beside the simple maps, by the rules of `evaluation.evidence`.

    Parameters
    ----------
    recovery : xr.Dataset
        By `scored`.

    Returns
    -------
    Standing
    """
    names, ours = _scored(recovery), _mean(recovery, MIXTURE, "error")
    gaps = {name: _gap(recovery, name, "difference") for name in names}
    alone = {name: _gap(recovery, name, "deviance_difference") for name in names}
    return standing_of(Evidence(
        "error", ours, {name: (ours - gap, error) for name, (gap, error) in gaps.items()},
        float("nan"), "of recovered areas",
        {name: (-gap, error) for name, (gap, error) in alone.items()}))


def _not_sure(recovery: xr.Dataset, stands: Standing) -> str:
    """Which simple maps the mixture does not surely beat, and by which of the two scores."""
    said = []
    if stands.unsure:
        said.append(f"not clearly better than the {' and the '.join(stands.unsure)}")
    if stands.alone:
        gaps = {name: _gap(recovery, name, "deviance_difference") for name in stands.alone}
        shown = "; ".join((f"{name}: " if len(gaps) > 1 else "") + (
            f"difference {figure(gap, 2, '+')}, standard error {figure(error, 2)}")
            for name, (gap, error) in gaps.items())
        surely = "surely " if any(gap < 0 for gap, _ in gaps.values()) else ""
        score = recovery.attrs.get(MAP_SCORE, "deviance")
        said.append(f"clearly better than the {' and the '.join(stands.alone)} in this error, but "
                    f"not {surely}in the {score} of the maps alone, without their intervals "
                    f"({shown})")
    return ", and ".join(said)


def _scored(recovery: xr.Dataset) -> list[str]:
    return [name for name in recovery["simple"].values.astype(str)
            if np.isfinite(_mean(recovery, name, "error"))]


def _mean(recovery: xr.Dataset, name: str, score: str) -> float:
    return float(recovery[score].sel(model=name).mean())


def _gap(recovery: xr.Dataset, name: str, what: str) -> tuple[float, float]:
    at = recovery.sel(simple=name)
    return float(at[what]), float(at[f"{what}_error"])
