"""One pixel of a map in words: summands with intervals, exposure, its area, and areas nearby."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr
from scipy.special import ndtri

from workbench.checks import InputError, require
from workbench.checks.figures import figure
from workbench.evaluation.residuals import centres_of
from workbench.schema import BAG, INDIVIDUAL


def explain(maps: xr.Dataset, at: int | Sequence[float], *, nearest: int = 5,
            level: float = 0.9) -> xr.Dataset:
    """Why a stored map says what it says at one pixel.

    Parameters
    ----------
    maps : xr.Dataset
        From ``fit.to_dataset``; with ``components=True`` for what each term says.
    at : int, or (x, y)
        Position of an individual, or a place in the coordinates of the map.
    nearest : int
        Other areas to name, nearest first.
    level : float
        Of the intervals of summands.

    Returns
    -------
    xr.Dataset
        ``rate`` and ``rate_quantile``, ``weight`` (the exposure) and ``expected_count``,
        ``information`` and ``extrapolation`` where the map has them; ``component_mean``, ``_lower``
        and ``_upper`` (component) on the link scale; ``value``, ``bag_mean``, ``rate_observed``,
        ``trials`` of a survey, and ``distance`` of its own ``bag`` (first) and of the nearest
        others. The attribute ``summary`` says it in lines.

    Raises
    ------
    InputError
        If there is no such individual, or no pixel at the place.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("simulated-country", pixels=300, districts=12, regions=4, provinces=2)
    >>> fit = wb.VBAgg(kernel="rbf", inducing=10, max_steps=5).fit(ds)
    >>> found = wb.explain(fit.to_dataset(ds, components=True), 17)
    >>> found["component"].values.tolist()
    ['intercept', 'rbf', 'area effect']
    """
    return explained(maps, locate(maps, at), maps, nearest, level)


def locate(ds: xr.Dataset, at: int | Sequence[float]) -> int:
    """Position of the individual at a place.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset, or a map.
    at : int, or (x, y)
        As of `explain`. Where a border cuts the pixel, the larger part is taken.

    Raises
    ------
    InputError
        If there is none.
    """
    count = ds.sizes[INDIVIDUAL]
    if isinstance(at, int | np.integer):
        require(0 <= at < count, f"there are {count} individuals, 0 to {count - 1}, got {at}")
        return int(at)
    require(len(at) == 2, f"a place is two coordinates, x and y, got {at!r}")
    require("x" in ds and "y" in ds, "the individuals have no coordinates; give a position")
    gap = np.hypot(ds["x"].values - float(at[0]), ds["y"].values - float(at[1]))
    near = np.flatnonzero(gap == gap.min())
    if "grid_transform" in ds.attrs:
        a, b, _, d, e, _ = (float(v) for v in ds.attrs["grid_transform"])
        reach = 0.5 * np.hypot(abs(a) + abs(b), abs(d) + abs(e)) * (1 + 1e-9)
        if gap.min() > reach:
            raise InputError(
                f"no pixel of the map is at {at[0]:g}, {at[1]:g}: it spans x from "
                f"{float(ds['x'].min()):g} to {float(ds['x'].max()):g} and y from "
                f"{float(ds['y'].min()):g} to {float(ds['y'].max()):g}")
    part = ds["coverage"].values[near] if "coverage" in ds.coords else np.ones(near.size)
    return int(near[part.argmax()])


def explained(maps: xr.Dataset, place: int, ds: xr.Dataset, nearest: int, level: float
              ) -> xr.Dataset:
    """`explain` of the individual at a position of ``maps``, a map of some bags of ``ds``.

    Parameters
    ----------
    maps, nearest, level
        As of `explain`.
    place : int
        Position in ``maps``.
    ds : xr.Dataset
        All areas: a bagged dataset, or a map of all.
    """
    require(0 < level < 1, f"level must lie between 0 and 1, got {level}")
    require("mean" in maps and maps["mean"].dims == (INDIVIDUAL,), "there is no map to explain: "
            "the dataset has no 'mean' of individuals")
    one = maps.isel({INDIVIDUAL: place})
    found = {"rate": one["mean"]} | {name: one[name] for name in (
        "rate_quantile", "weight", "expected_count", "information", "extrapolation")
        if name in one}
    if "component_mean" in one:
        reach = ndtri((1 + level) / 2) * one["component_std"]
        found |= {"component_mean": one["component_mean"],
                  "component_lower": one["component_mean"] - reach,
                  "component_upper": one["component_mean"] + reach}
    out = xr.Dataset(found, attrs={"level": level})
    if "membership" in maps and "value" in ds:
        own = str(maps[BAG].values[int(one["membership"])])
        out = out.merge(_areas(ds, own, nearest)).assign_attrs(out.attrs)
        if "bag_mean" in maps:
            known = dict(zip(maps[BAG].values.astype(str), maps["bag_mean"].values, strict=True))
            fitted = [known.get(name, np.nan) for name in out[BAG].values]
            out["bag_mean"] = BAG, fitted, dict(maps["bag_mean"].attrs)
    return out.assign_attrs(summary=summarise(out))


def _areas(ds: xr.Dataset, own: str, nearest: int) -> xr.Dataset:
    names = ds[BAG].values.astype(str)
    mine = int(np.flatnonzero(names == own)[0])
    try:
        centres = centres_of(ds)
    except InputError:                      # areas that are nowhere have no neighbours
        gap, order = np.array([0.0]), np.array([mine])
    else:
        distance = np.hypot(*(centres - centres[mine]).T)
        distance[mine] = -1.0
        order = np.argsort(distance, kind="stable")[:nearest + 1]
        gap = np.maximum(distance[order], 0)
    total = np.bincount(ds["membership"].values, ds["weight"].values, len(names))
    sums = ds["value"].attrs.get("aggregation", "sum") == "sum"
    rate = ds["value"].values / (total if sums else 1.0)
    if "trials" in ds:
        tested = ds["trials"].values.astype(float)
        rate = ds["value"].values / np.where(tested > 0, tested, np.nan)
    found = xr.Dataset(
        {"value": (BAG, ds["value"].values[order], dict(ds["value"].attrs)),
         "rate_observed": (BAG, rate[order]), "distance": (BAG, gap)},
        coords={BAG: names[order]})
    return found.assign(trials=(BAG, ds["trials"].values[order])) if "trials" in ds else found


def summarise(found: xr.Dataset) -> str:
    """An explanation in lines.

    Parameters
    ----------
    found : xr.Dataset
        From `explain` or ``fit.explain``.

    Returns
    -------
    str
    """
    unit = found["rate"].attrs.get("units", "")
    place = ", ".join(f"{c} {float(found[c]):.7g}" for c in "xy" if c in found.coords)
    inside = f" in area {found[BAG].values[0]}" if BAG in found.dims else ""
    name = found[INDIVIDUAL].item() if INDIVIDUAL in found.coords else ""
    lines = [f"pixel {name}{f' ({place})' if place else ''}{inside}"]
    span = ""
    if "rate_quantile" in found:
        ends = found["rate_quantile"].isel(quantile=[0, -1])
        low, high = ends["quantile"].values * 100
        span = f" ({low:g} % to {high:g} %: {float(ends[0]):.4g} to {float(ends[1]):.4g})"
    lines.append(f"rate {float(found['rate']):.4g} {unit}{span}")
    if "expected_count" in found:
        weight = found["weight"]
        lines.append(f"exposure {float(weight):.4g} {weight.attrs.get('units', '')}, expected "
                     f"{float(found['expected_count']):.4g} "
                     f"{found['expected_count'].attrs.get('units', '')}")
    for name, told in (("information", "share of the prior variance that the data removed"),
                       ("extrapolation", "ranges of the area means beyond what areas span")):
        if name in found:
            lines.append(f"{name} {float(found[name]):.3g} ({told})")
    if "component_mean" in found:
        lines += ["", *_summands(found)]
    if BAG in found.dims:
        lines += ["", *_neighbours(found)]
    if "influence" in found:
        lines += ["", *_influences(found)]
    return "\n".join(lines)


def _shown(value: float) -> str:
    """A number for a table; empty if unknown."""
    return "" if np.isnan(value) else figure(value, 5)


def _summands(found: xr.Dataset) -> list[str]:
    link = found["component_mean"].attrs.get("link", "")
    factors = link == "exp"
    span = f"{100 * found.attrs['level']:g} % interval"
    lines = [f"{'summand of f':<24}{'mean':>9}{span:>20}" + (f"{'factor':>9}" if factors else "")]
    for name in found["component"].values:
        mean, low, high = (float(found[f"component_{k}"].sel(component=name))
                           for k in ("mean", "lower", "upper"))
        row = f"{name!s:<24}{mean:>9.3f}{f'{low:.3f} to {high:.3f}':>20}"
        lines.append(row + (f"{np.exp(mean):>9.3g}" if factors else ""))
    return lines


def _neighbours(found: xr.Dataset) -> list[str]:
    unknown = np.full(found.sizes[BAG], np.nan)
    observed, share = found["value"].values, found["rate_observed"].values
    fitted = found["bag_mean"].values if "bag_mean" in found else unknown
    shown = {"observed": observed, "fitted": fitted, "rate": share}
    if "trials" in found:               # what is fitted is the share
        shown = {"positives": observed, "trials": found["trials"].values, "share": share,
                 "fitted": fitted}
    head = f"{'area':<24}" + "".join(f"{name:>12}" for name in (*shown, "distance"))
    rows = zip(found[BAG].values, *shown.values(), found["distance"].values, strict=True)
    return [head, *(f"{name!s:<24}" + "".join(f"{_shown(value):>12}" for value in values)
                    + f"{gap:>12.4g}" for name, *values, gap in rows)]


def _influences(found: xr.Dataset) -> list[str]:
    return ["areas with most influence: what leaving each out takes off f, about",
            *(f"{name!s:<24}{float(value):>+12.4f}" for name, value in zip(
                found["influential"].values, found["influence"].values, strict=True))]
