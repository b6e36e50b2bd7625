"""Where predictions leave the data: fine covariates against the range that the areas span."""

from __future__ import annotations

import holoviews as hv
import numpy as np
import xarray as xr

from workbench.plots.theme import CATEGORIES, CHART, NEUTRAL

TAILS = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)


def covariate_support(ds: xr.Dataset, training: xr.Dataset | None = None) -> hv.Overlay:
    """Spread of each covariate among individuals against the range of the areas' means.

    A model learns from area totals, so it has seen a covariate only over the range that the
    area means span (grey, from -1 to 1). Individuals beyond it are extrapolated to; the share of
    weight outside is written at the right.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset: where predictions are made.
    training : xr.Dataset, optional
        Bagged dataset that the model was fitted to; by default the same.

    Returns
    -------
    hv.Overlay
        A row for each covariate, relative to the range of the area means.

    Examples
    --------
    >>> import workbench as wb
    >>> from workbench.plots import covariate_support
    >>> drawn = covariate_support(wb.load("swiss-roll", n_bags=20))
    """
    training = ds if training is None else training
    names = [str(n) for n in ds["covariate"].values]
    means = _area_means(training)
    centre, half = (means.max(0) + means.min(0)) / 2, np.ptp(means, axis=0) / 2
    scaled = (ds["covariates"].values - centre) / np.where(half > 0, half, 1.0)
    weight = ds["weight"].values
    outside = (np.abs(scaled) > 1 + 1e-9).T @ weight / weight.sum()
    ends = np.quantile(scaled, TAILS, axis=0)
    rows = np.arange(len(names))[::-1]
    x, y = "covariate", "row"
    bands = [
        hv.Segments((ends[k], rows, ends[-1 - k], rows), [x, y, "x1", "y1"]).opts(
            color=CATEGORIES[0], line_width=width, alpha=alpha
        )
        for k, width, alpha in ((0, 1.5, 0.7), (1, 5, 0.5), (3, 11, 0.8))
    ]
    reach = float(max(2.0, np.abs(ends).max() * 1.05))
    notes = hv.Labels(
        {x: np.full(rows.size, reach * 1.03), y: rows, "text": [_percent(o) for o in outside]},
        [x, y],
        "text",
    ).opts(text_align="left", text_font_size="9pt", text_color=NEUTRAL)
    options = {**CHART, "frame_height": 60 + 30 * len(names), "frame_width": 380}
    ticks = [(float(row), name) for row, name in zip(rows, names, strict=True)]
    return hv.Overlay([hv.VSpan(-1, 1).opts(color=NEUTRAL, alpha=0.25), *bands, notes]).opts(
        **options, yticks=ticks, ylabel="", ylim=(-0.6, len(names) - 0.4), show_legend=False,
        xlim=(-reach, reach * 2.0),
        xlabel="individuals: all, 98 % and middle half\n(area means span -1 to 1)",
        title="Covariates beyond the range of areas",
    )


def _area_means(ds: xr.Dataset) -> np.ndarray:
    membership, weight = ds["membership"].values, ds["weight"].values
    total = np.bincount(membership, weights=weight)
    columns = ds["covariates"].values.T
    return np.array([np.bincount(membership, weights=weight * c) / total for c in columns]).T


def _percent(share: float) -> str:
    if share == 0:
        return "none outside"
    return f"{100 * share:.1f} % outside" if share >= 0.001 else "< 0.1 % outside"
