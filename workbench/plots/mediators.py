"""Covariates of bags beside those of targets: whether the bags know what the targets ask about."""

from __future__ import annotations

from itertools import combinations

import holoviews as hv
import numpy as np
import xarray as xr

from workbench.checks import reject, require
from workbench.plots.theme import CATEGORIES, CHART, NEUTRAL, axis
from workbench.schema import BAG, MEDIATOR, TARGET

MARGIN = 0.05  # of the bags' range: as conditional mean processes allow before they warn
PAIRED = 3  # most mediators whose pairs are drawn
_BAGS, _TARGETS = CATEGORIES[0], CATEGORIES[1]
_LEGEND = {
    "legend_position": "bottom", "legend_cols": 3,
    "legend_opts": {"border_line_alpha": 0, "margin": 0},
}  # fmt: skip
_STEPS = (0.01, 0.02, 0.05, 0.1, 0.2)


def mediators(bags: xr.Dataset, targets: xr.Dataset, margin: float = MARGIN) -> hv.Layout:
    """Mediators of bags and of targets: one distribution each, and a scatter of every pair.

    A target is outside if in any mediator it lies beyond the range of the bags by more than the
    margin. What bags there would average is not known: a conditional mean process extrapolates for
    such targets, and refuses if they are most (covariate shift). Outside targets are crosses; the
    others are diamonds, bags are discs. Grey is the range of the bags. Ticks below a histogram are
    the single values, those of the bags above those of the targets.

    Parameters
    ----------
    bags : xr.Dataset
        With ``mediators`` (bag, mediator), from `workbench.add_mediators`.
    targets : xr.Dataset
        With ``mediators`` (target, mediator) of the same names, from
        `workbench.targets_from_table`, `workbench.targets_from_grid` or `workbench.unmatch`.
    margin : float
        Share of the bags' range.

    Returns
    -------
    hv.Layout
        Distributions, then the pairs of the first three mediators, each in its unit.

    Raises
    ------
    InputError
        If one of the two has no mediators, or theirs have other names.

    References
    ----------
    Chau et al. 2021, section 6.
    """
    names = _names(bags, targets)
    units = dict(zip(names, _units(bags), strict=True))
    ours, theirs = bags["mediators"].values, targets["mediators"].values
    low, high = ours.min(0), ours.max(0)
    reach = np.where(high > low, high - low, 1.0)
    beyond = np.maximum(low - theirs, theirs - high) / reach > margin
    ids = bags[BAG].values.astype(str), targets[TARGET].values.astype(str)
    labels = [axis(name, units[name]) for name in names]
    drawn = [
        _distribution(ours[:, k], theirs[:, k], beyond[:, k], labels[k])
        for k in range(len(names))
    ]
    drawn += [
        _pair(ours[:, pair], theirs[:, pair], beyond.any(1), [labels[k] for k in pair], ids)
        for pair in map(list, combinations(range(min(len(names), PAIRED)), 2))
    ]
    return hv.Layout(drawn).cols(min(len(drawn), 3)).opts(shared_axes=False)


def _distribution(ours, theirs, beyond, label: str) -> hv.Overlay:
    both = np.concatenate([ours, theirs])
    # edges shared by both, so that heights of bars can be compared
    edges = np.histogram_bin_edges(both, bins=int(np.clip(2 * np.sqrt(len(both)), 8, 30)))
    shares = [np.histogram(v, edges)[0] / len(v) for v in (ours, theirs)]
    top = 1.12 * max(s.max() for s in shares)
    x = hv.Dimension(f"value of {label}", label=label)
    filled = hv.Histogram((edges, shares[0]), kdims=x, vdims="share", label="bags").opts(
        fill_color=_BAGS, fill_alpha=0.45, line_color="white", line_width=0.5, tools=["hover"]
    )
    outline = (np.repeat(edges, 2), np.concatenate([[0], np.repeat(shares[1], 2), [0]]))
    line = hv.Curve(outline, x, "share", label="targets").opts(color=_TARGETS, line_width=2)
    rugs = [_rug(v, place * top, 0.055 * top, colour, x) for v, place, colour in
            ((ours, -0.07, _BAGS), (theirs, -0.15, _TARGETS))]
    step = next((s for s in _STEPS if top / s <= 6), _STEPS[-1])
    ticks = np.arange(0, top, step)
    count = int(beyond.sum())
    span = hv.VSpan(ours.min(), ours.max()).opts(color=NEUTRAL, alpha=0.15)
    return hv.Overlay([span, filled, line, *rugs]).opts(
        **CHART, **_LEGEND, ylim=(-0.18 * top, top), xlim=_padded(both), xlabel=label,
        yticks=[(float(t), f"{t:g}") for t in ticks.round(4)], ylabel="share of bags, of targets",
        title=f"{count:,} of {len(theirs):,} targets outside the bags",
    )  # fmt: skip


def _rug(values, bottom: float, height: float, colour: str, x: hv.Dimension) -> hv.Segments:
    flat = np.full(len(values), bottom)
    return hv.Segments((values, flat, values, flat + height), [x, "share", "x1", "y1"]).opts(
        color=colour, line_width=1, alpha=0.8 if len(values) <= 200 else 0.25
    )


def _pair(ours, theirs, outside, labels: list[str], ids) -> hv.Overlay:
    kdims = [hv.Dimension(f"value of {label}", label=label) for label in labels]
    (left, bottom), (right, top) = ours.min(0), ours.max(0)
    corners = [(left, bottom), (right, bottom), (right, top), (left, top), (left, bottom)]
    box = hv.Path([corners], kdims).opts(color=NEUTRAL, line_dash="dashed", line_width=1.5)
    kinds = (
        ("bags", ours, ids[0], {"color": _BAGS, "marker": "circle", "size": 5, "alpha": 0.6}),
        ("targets", theirs[~outside], ids[1][~outside],
         {"color": _TARGETS, "marker": "diamond", "size": 7, "fill_alpha": 0.15}),
        ("targets outside", theirs[outside], ids[1][outside],
         {"color": _TARGETS, "marker": "x", "size": 9, "line_width": 2.5}),
    )  # fmt: skip
    dots = [
        hv.Points((*values.T, names), kdims, "name", label=label).opts(tools=["hover"], **look)
        for label, values, names, look in kinds
        if len(values)
    ]
    both = np.concatenate([ours, theirs])
    return hv.Overlay([box, *dots]).opts(
        **CHART, **_LEGEND, xlabel=labels[0], ylabel=labels[1], xlim=_padded(both[:, 0]),
        ylim=_padded(both[:, 1]), title=f"{labels[0]} and {labels[1]}",
    )  # fmt: skip


def _padded(values) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    pad = 0.04 * (high - low) or 0.5 * max(abs(high), 1.0)
    return low - pad, high + pad


def _names(bags: xr.Dataset, targets: xr.Dataset) -> list[str]:
    for what, ds, dim in (("bags", bags, BAG), ("targets", targets, TARGET)):
        there = "mediators" in ds and ds["mediators"].dims == (dim, MEDIATOR)
        require(there, f"the {what} have no mediators along {dim!r}: give bags from "
                "workbench.add_mediators, and targets from workbench.targets_from_table, "
                "targets_from_grid or unmatch")
        require(ds.sizes[dim] > 0, f"there are no {what} to draw")
    ours, theirs = ([str(m) for m in ds[MEDIATOR].values] for ds in (bags, targets))
    if ours != theirs:
        raise reject(f"targets with the bags' mediators {ours}", str(theirs),
                     "give both the same names in the same order")
    if _units(bags) != _units(targets):
        raise reject(f"targets with mediators in the bags' units {_units(bags)}",
                     str(_units(targets)), "bring both to the same units")
    return ours


def _units(ds: xr.Dataset) -> list[str]:
    if "mediator_units" in ds:
        return [str(u) for u in ds["mediator_units"].values]
    return [""] * ds.sizes[MEDIATOR]
