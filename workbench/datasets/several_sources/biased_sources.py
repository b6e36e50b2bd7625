"""Three observation processes of one function, two of them biased by a scale."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging import bag_along
from workbench.checks import choose, number, require, whole
from workbench.datasets.several_sources.dependent_sources import signal
from workbench.datasets.several_sources.tree import MOST_SEED, make_tree, observations, singletons

#: Range of the high-resolution source: in the released code, and in print.
VARIANTS = {"released": (6.0, 13.0), "printed": (7.0, 12.0)}
NOISE, SIZE = 0.1, 5
_TARGET, _COARSE = (-10.0, 20.0), ((-10.0, 10.0), (10.0, 20.0))


def load(
    seed: int = 0, variant: str = "released", scales: Sequence[float] = (1.0, 0.5, 0.3),
) -> xr.DataTree:
    """Biased sources (simulated): few points of a function, and wide coarse means scaled down.

    ``y = s (5 sin(x)^2 + 0.1 e)``: 50 points with s = 1 in the middle, 20 means of 5 points with
    s = 0.5 from -10 to 10, 20 with s = 0.3 from 10 to 20. The scale holds for the noise as well.
    For seed 0 and the defaults these are the numbers of the paper's released code.

    Parameters
    ----------
    seed : int
        Of NumPy's legacy stream, drawn in the released order: points, target, first coarse
        source, second.
    variant : {"released", "printed"}
        Points from 6 to 13 (released code) or from 7 to 12 (section 6).
    scales : three floats
        s of "high", "low-1" and "low-2"; ``value.attrs["scale"]`` of each.

    Returns
    -------
    xr.DataTree
        Sources "high", "low-1", "low-2"; ``target``: 200 noisy points from -10 to 20. ``truth`` is
        the unscaled function everywhere: the quantity of interest, not what a biased source shows.

    Raises
    ------
    InputError
        If the variant is unknown, there are not three scales, or the seed is out of range.

    References
    ----------
    Hamelijnck et al. 2019, section 6, Table 2 (right), and their released code.
    """
    span = VARIANTS[choose("variant", variant, VARIANTS)]
    seed, told = whole("seed", seed, 0, MOST_SEED), "scales must be three numbers, of the sources"
    require(isinstance(scales, (Sequence, np.ndarray)) and len(scales) == 3,
            f"{told} high, low-1 and low-2, got {scales!r}")
    scales = [number("each of the three scales", s) for s in scales]
    stream = np.random.RandomState(seed)
    high, target, *low = (
        _drawn(ends, count, scale, stream) for ends, count, scale in (
            (span, 50, scales[0]), (_TARGET, 200, 1.0),
            (_COARSE[0], 100, scales[1]), (_COARSE[1], 100, scales[2])))
    sources = {"high": singletons(high)}
    for k, points in enumerate(low, 1):
        ds = bag_along(points, "x", sizes=np.full(points.sizes["individual"] // SIZE, SIZE),
                       descending=False)
        ds.attrs["level"] = f"means of {SIZE} points"
        sources[f"low-{k}"] = ds
    for ds, scale in zip(sources.values(), scales, strict=True):
        ds["value"].attrs["scale"] = scale
    return make_tree(
        sources, singletons(target), title=f"Biased sources, seed {seed}",
        settings={"seed": seed, "variant": variant, "scales": scales},
        notes=["Points from 6 to 13 in the released code, from 7 to 12 in section 6; here from "
               f"{span[0]:g} to {span[1]:g}.",
               "A source's noise is scaled like its signal, as in the released code; section 6 "
               "prints it unscaled."],
        dataset="biased-sources", source="simulated after Hamelijnck et al. 2019",
        licence="BSD-3-Clause")


def _drawn(
    span: tuple[float, float], count: int, scale: float, stream: np.random.RandomState,
) -> xr.Dataset:
    x = np.linspace(*span, count)
    table = pd.DataFrame({"x": x, "truth": signal(x)})
    table["y"] = scale * (table["truth"] + NOISE * stream.randn(count))
    return observations(table, {"x": "1"}, "y", long_name="y", units="1", truth="truth")
