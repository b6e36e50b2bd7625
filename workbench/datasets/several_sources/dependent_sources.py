"""Two observation processes of one function, the second made of the first."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging import bag_along
from workbench.checks import choose, number, reject, require, whole
from workbench.datasets.several_sources.tree import MOST_SEED, make_tree, observations, singletons

RELEASED_NOISE = 0.5
TARGETS = 500


def signal(x: np.ndarray) -> np.ndarray:
    """The function of both simulations, ``5 sin(x)^2``, at points of any shape."""
    return 5 * np.sin(x) ** 2


def load(
    seed: int = 0,
    noise: float | str = "released",
    size: int = 3,
    aggregate_noise: float = 0.0,
    points: int = 100,
    span: tuple[float, float] = (-2.0, 15.0),
    overlap: float = 1.0,
) -> xr.DataTree:
    """Dependent sources (simulated): noisy points of a function, and means of the same points.

    ``y = 5 sin(x)^2 + noise e`` at equally spaced x; the aggregates are means of ``size``
    consecutive *noisy* y, so with ``aggregate_noise=0`` they add no information: whoever takes
    them for independent is too certain. For seed 0 and the defaults these are the numbers of the
    paper's released code; points at the end that fill no aggregate belong to none.

    Parameters
    ----------
    seed : int
        Of the points' noise (NumPy's legacy stream, as released). Noise of aggregates and of the
        target have streams of their own, so that one option does not stir the others.
    noise : float or "released"
        Standard deviation of the points. The released code has 0.5; section B.6 prints 0.1 and
        section B.1 has 1.0.
    size : int
        Points per aggregate; 3 as released, 2 in section B.1.
    aggregate_noise : float
        Standard deviation of noise on aggregates beyond that of their points; 0.1 in B.1.
    points : int
        Number of points.
    span : (float, float)
        Ends of x.
    overlap : float
        Share of the span, from its lower end, on which there are aggregates.

    Returns
    -------
    xr.DataTree
        Sources "points" (singletons) and "aggregates"; ``target``: 500 points on the span, with
        the noise of points.

    Raises
    ------
    InputError
        If a number is out of range, or no aggregate lies within the overlap.

    References
    ----------
    Hamelijnck et al. 2019, Figure 2 (left), sections B.1 and B.6, and their released code.
    """
    if isinstance(noise, str):
        choose("noise", noise, ("released",))
        noise = RELEASED_NOISE
    noise, seed = number("noise", noise), whole("seed", seed, 0, MOST_SEED)
    points, size = whole("points", points, 1), whole("size", size)
    if isinstance(span, str) or not hasattr(span, "__len__") or len(span) != 2:
        raise reject("span two numbers, the ends of x", repr(span), "write span=(-2, 15)")
    low, high = (number("each end of span", end) for end in span)
    require(noise >= 0 and aggregate_noise >= 0, f"noise and aggregate_noise must be zero or more, "
            f"got {noise} and {aggregate_noise}")
    require(low < high, f"span must have a lower end below its upper one, got {low:g} to {high:g}")
    require(1 <= size <= points, f"size must be from 1 to the {points} points, got {size}")
    require(0 < overlap <= 1, f"overlap is a share of the span above 0 and up to 1, got {overlap}")
    x = np.linspace(low, high, points)
    table = pd.DataFrame({"x": x, "truth": signal(x)})
    table["y"] = table["truth"] + noise * np.random.RandomState(seed).randn(points)
    count = points // size
    ends = x[size - 1: count * size: size]
    count = int((ends <= low + overlap * (high - low)).sum())
    require(count > 0, f"no aggregate of {size} points lies in the first {overlap:g} of the span; "
            "raise overlap or lower size")
    own, aside = (np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(2))
    aggregates = bag_along(_points(table[: count * size]), "x", sizes=np.full(count, size),
                           descending=False)
    aggregates["value"] += aggregate_noise * own.standard_normal(count)
    aggregates.attrs["level"] = f"means of {size} points"
    wanted = pd.DataFrame({"x": np.linspace(low, high, TARGETS)})
    wanted["truth"] = signal(wanted["x"].to_numpy())
    wanted["y"] = wanted["truth"] + noise * aside.standard_normal(TARGETS)
    left = points - count * size
    return make_tree(
        {"points": singletons(_points(table)), "aggregates": aggregates},
        singletons(_points(wanted)),
        title=f"Dependent sources, seed {seed}",
        settings={"seed": seed, "noise": noise, "size": size,
                  "aggregate_noise": float(aggregate_noise), "points": points,
                  "span": [low, high], "overlap": float(overlap)},
        notes=["The released code has noise 0.5, section B.6 prints 0.1 and section B.1 has 1.0; "
               f"here it is {noise:g}.",
               f"{left} of {points} points belong to no aggregate.",
               "The target's noise is of a stream of its own; the released code has no noisy "
               "target."],
        dataset="dependent-sources", source="simulated after Hamelijnck et al. 2019",
        licence="BSD-3-Clause")


def _points(table: pd.DataFrame) -> xr.Dataset:
    return observations(table, {"x": "1"}, "y", long_name="y", units="1", truth="truth")
