"""Charts of scores as small still pictures: coverage, and predictions beside observations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from workbench.plots.calibration import TARGETS
from workbench.plots.svg import FAINT, INK, element, label, path_of, picture, ticks, told
from workbench.plots.theme import NEUTRAL, colours

SIZE = 250                  # pixels of a side of the frame
_LEFT, _TOP, _BELOW, _RIGHT = 58, 26, 42, 12
Place = Callable[[object, object], np.ndarray]


def still_coverage(result: xr.Dataset, target: str = "bag") -> str:
    """Share of observations inside central intervals, by their level, as SVG.

    Below the diagonal intervals are too narrow, above it too wide; the grey band is what chance
    allows (2 standard errors).

    Parameters
    ----------
    result : xr.Dataset
        From `workbench.cross_validate` or `workbench.evaluate`.
    target : {"bag", "individual", "rate"}
        What was predicted.

    Returns
    -------
    str
        An ``<svg>`` element.
    """
    part = result.sel(target=target)
    names = [str(m) for m in part["model"].values
             if bool(part["coverage"].sel(model=m).notnull().all())]
    level, palette = part["level"].values, colours([str(m) for m in part["model"].values])
    at, frame = framed((0.0, 1.0), (0.0, 1.0), "nominal coverage of the interval",
                       "share observed inside")
    low = part["coverage_lower"].min("model").values
    high = part["coverage_upper"].max("model").values
    band = np.vstack([at(level, low), at(level[::-1], high[::-1])])
    parts = [element("path", d=path_of([band]) + "Z", fill=NEUTRAL, fill_opacity=0.25),
             element("path", d=path_of([at([0, 1], [0, 1])]), stroke=NEUTRAL, fill="none",
                     stroke_dasharray="4 3")]
    for k, name in enumerate(names):
        points = at(level, part["coverage"].sel(model=name).values)
        parts.append(element("path", d=path_of([points]), fill="none", stroke=palette[name],
                             stroke_width=2))
        parts += [element("circle", cx=x, cy=y, r=2.5, fill=palette[name]) for x, y in points]
        y = _TOP + 16 + 15 * k
        parts += [element("line", x1=_LEFT + 8, x2=_LEFT + 24, y1=y - 4, y2=y - 4,
                          stroke=palette[name], stroke_width=3), label(name, _LEFT + 29, y)]
    count = int(part["units_scored"].max())
    return whole(f"Coverage of {count:,} {TARGETS[target]}, each held out", frame, parts)


def still_predicted(result: xr.Dataset, model: str, target: str = "bag", level: float = 0.9) -> str:
    """Observed values against predicted means with intervals, as SVG.

    Parameters
    ----------
    result : xr.Dataset
        From `workbench.cross_validate` or `workbench.evaluate`.
    model : str
        Name in ``result.model``.
    target : {"bag", "individual", "rate"}
        What was predicted.
    level : float
        Of the intervals; its ends must be among the stored quantiles.

    Returns
    -------
    str
        An ``<svg>`` element; logarithmic axes where all is positive and spans a hundredfold.
    """
    observed = result[f"{target}_observed"].values.astype(float)
    mean = result[f"{target}_mean"].sel(model=model).values
    quantile = result[f"{target}_quantile"].sel(model=model)
    low, high = (quantile.sel(quantile_level=t, method="nearest", tolerance=1e-6).values
                 for t in ((1 - level) / 2, (1 + level) / 2))
    there = np.isfinite(mean) & np.isfinite(observed)
    observed, mean, low, high = (v[there] for v in (observed, mean, low, high))
    both = np.concatenate([observed, mean])
    log = bool((np.concatenate([both, low]) > 0).all()) and both.max() > 100 * both.min()
    turn = np.log10 if log else np.asarray
    ends = float(turn(both).min()), float(turn(both).max())
    margin = 0.05 * ((ends[1] - ends[0]) or 1.0)
    ends = ends[0] - margin, ends[1] + margin
    unit = str(result["score_units"].sel(target=target, score="rmse").values)
    unit = f" ({unit})" if unit not in ("", "1") else ""
    at, frame = framed(ends, ends, f"predicted mean{unit}", f"observed{unit}", log)
    parts = [element("path", d=path_of([at(ends, ends)]), stroke=NEUTRAL, fill="none",
                     stroke_dasharray="4 3")]
    if mean.size <= 400:
        starts = at(turn(mean), np.clip(turn(low), *ends))
        stops = at(turn(mean), np.clip(turn(high), *ends))
        parts.append(element("path", d=path_of(np.stack([starts, stops], 1)), stroke=NEUTRAL,
                             stroke_opacity=0.45))
    colour = colours([str(m) for m in result["model"].values])[model]
    parts += [element("circle", cx=x, cy=y, r=2.6 if mean.size < 500 else 1.6, fill=colour,
                      fill_opacity=0.7) for x, y in at(turn(mean), turn(observed))]
    return whole(f"{model}, {TARGETS[target]} held out ({100 * level:g} %)", frame, parts)


def framed(xlim: tuple[float, float], ylim: tuple[float, float], xlabel: str, ylabel: str,
           log: bool = False) -> tuple[Place, list[str]]:
    """Where values lie, and the axes; on logarithmic ones the limits are powers of ten.

    Parameters
    ----------
    xlim, ylim : (float, float)
        Ends of the axes.
    xlabel, ylabel : str
        What they are.
    log : bool
        Whether both are logarithmic.

    Returns
    -------
    callable
        Pixels (points, 2) of x and y.
    list of str
        Markup of the frame.
    """
    def at(x, y) -> np.ndarray:
        return np.column_stack([
            _LEFT + (np.asarray(x, float) - xlim[0]) / (xlim[1] - xlim[0]) * SIZE,
            _TOP + (ylim[1] - np.asarray(y, float)) / (ylim[1] - ylim[0]) * SIZE])

    parts = [element("rect", x=_LEFT, y=_TOP, width=SIZE, height=SIZE, fill="none", stroke=FAINT)]
    grid = {"stroke": FAINT, "stroke_opacity": 0.5}
    for value, shown in _ticks(*xlim, log):
        x = at(value, ylim[0])[0, 0]
        parts += [element("line", x1=x, x2=x, y1=_TOP, y2=_TOP + SIZE, **grid),
                  label(shown, x, _TOP + SIZE + 13, 10, "middle")]
    for value, shown in _ticks(*ylim, log):
        y = at(xlim[0], value)[0, 1]
        parts += [element("line", x1=_LEFT, x2=_LEFT + SIZE, y1=y, y2=y, **grid),
                  label(shown, _LEFT - 5, y + 3, 10, "end")]
    middle = _TOP + SIZE / 2
    return at, [*parts, label(xlabel, _LEFT + SIZE / 2, _TOP + SIZE + 31, 11, "middle"),
                label(ylabel, 12, middle, 11, "middle", transform=f"rotate(-90 12 {middle})")]


def _ticks(low: float, high: float, log: bool) -> list[tuple[float, str]]:
    if not log:
        return [(value, told(value)) for value in ticks(low, high, 4)]
    steps = (1, 2, 5) if high - low < 2 else (1, 3) if high - low < 3 else (1,)
    powers = range(int(np.floor(low)), int(np.ceil(high)) + 1)
    return [(float(np.log10(m * 10.0**p)), told(m * 10.0**p)) for p in powers for m in steps
            if low <= np.log10(m * 10.0**p) <= high]


def whole(title: str, frame: list[str], parts: list[str]) -> str:
    """The picture of a chart, with its title above."""
    return picture(_LEFT + SIZE + _RIGHT, _TOP + SIZE + _BELOW, title,
                   label(title, _LEFT, 15, 12, font_weight="bold", fill=INK), *frame, *parts)
