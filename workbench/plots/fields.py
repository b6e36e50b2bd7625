"""Fields on a grid of pixels as images: what was observed, what is true, what was predicted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import holoviews as hv
import numpy as np
import xarray as xr
from scipy.special import ndtri

from workbench.checks import choose, require
from workbench.plots.maps import AXES, map_unit, ticker
from workbench.plots.outlines import lines
from workbench.plots.scales import ColourScale, colour_scale
from workbench.plots.theme import MAP, axis
from workbench.schema import BAG, COVARIATE, INDIVIDUAL, MEDIATOR, TARGET

SHOWN = ("covariates", "mediator", "target", "truth", "mean", "width", "squared error",
         "difference")
#: Panels of the figures of Chau et al. 2021: 8; 3; 9 to 11.
OBSERVED = ("covariates", "mediator", "target")
RECONSTRUCTED = ("covariates", "target", "truth", "mean", "width")
PREDICTED = ("mean", "width", "squared error", "difference")
UNKNOWN = "#c4c4c4"     # grey: not observed
# Neither the covariates' colours nor those of the field pass through grey, as cividis does.
_SEEN = "plasma"
_BAR = {"title_text_font_size": "9pt", "title_text_font_style": "normal",
        "major_label_text_font_size": "9pt", "height": 10}
_SIZE = 230             # pixels along the longer side of a panel


def field_scales(ds: xr.Dataset, *maps: xr.Dataset, level: float = 0.95) -> dict[str, ColourScale]:
    """Colour scales to share among panels of one field: several models, or several seeds.

    All temperatures (or whatever the field is) have one scale, taken from the truth where it is
    known, else from the blocks; it does not depend on predictions.

    Parameters
    ----------
    ds : xr.Dataset
        The whole bagged field.
    *maps : xr.Dataset
        Predictions with ``mean`` and, for the width, ``std``: (individual,) of ``ds``.
    level : float
        What the intervals claim to cover.

    Returns
    -------
    dict of str to ColourScale
        ``field``, one for each covariate and mediator by name, and, as far as they can be known,
        ``width``, ``squared error`` and ``difference``.
    """
    require("value" in ds, "the dataset has no values: pass the whole field, and its bags and "
            "targets beside it")
    known = ds["truth"] if "truth" in ds else ds["value"]
    unit, words = (str(ds["value"].attrs.get(n, d)) for n, d in (("units", ""),
                                                                 ("long_name", "value")))
    scales = {"field": colour_scale(known, label=words, unit=unit)}
    for group, dim in (("covariates", COVARIATE), ("mediators", MEDIATOR)):
        for name in _names(ds, dim) if group in ds else ():
            scales[name] = colour_scale(
                ds[group].sel({dim: name}), label=_words(name), unit=_unit_of(ds, dim, name))
    widths = [_width(m, level) for m in maps if "std" in m]
    if widths:
        scales["width"] = colour_scale(*widths, label="width", unit=unit, kind="spread")
    if maps and "truth" in ds:
        off = [ds["truth"].values - m["mean"].values for m in maps]
        scales["difference"] = colour_scale(*off, label="difference", unit=unit, kind="difference")
        squares = colour_scale(*[d**2 for d in off], label="squared error", unit=f"{unit}²",
                               kind="spread", quantiles=(0.0, 0.99))
        scales["squared error"] = replace(squares, lower=0.0)
    return scales


def field_panel(
    ds: xr.Dataset,
    maps: xr.Dataset | None = None,
    *,
    show: Sequence[str] | None = None,
    bags: xr.Dataset | None = None,
    targets: xr.Dataset | None = None,
    covariates: Sequence[str] | None = None,
    mediators: Sequence[str] | None = None,
    scales: dict[str, ColourScale] | None = None,
    level: float = 0.95,
    name: str = "",
    size: int = _SIZE,
    columns: int | None = None,
) -> hv.Layout:
    """Images of one field side by side, on linked axes and one colour scale for the field.

    Parameters
    ----------
    ds : xr.Dataset
        The whole bagged field: pixels with row, column, ``grid_shape`` and ``grid_transform``.
    maps : xr.Dataset, optional
        A prediction: ``mean`` and, for the width, ``std`` over the individuals of ``ds``, as
        ``fit.to_dataset(ds)`` has them.
    show : sequence of str, optional
        Any of, in this order if not given and as far as there are data:

        - ``covariates``: those of ``bags`` (D₁), blocks outlined, grey where there is no bag;
        - ``mediator``: known for every block;
        - ``target``: values of ``targets`` (D₂), grey where there is none;
        - ``truth``; ``mean``; ``width`` of the central interval; ``squared error`` of the mean;
          ``difference``, truth minus mean.

        `OBSERVED`, `RECONSTRUCTED` and `PREDICTED` are the panels of figures 8, 3 and 9 to 11.
    bags, targets : xr.Dataset, optional
        From `workbench.unmatch`; without them covariates and blocks of all of ``ds`` are shown.
    covariates, mediators : sequence of str, optional
        Which to draw; by default all but coordinates.
    scales : dict, optional
        From `field_scales`, to keep colours locked from one panel to the next.
    level : float
        Of the interval whose width is drawn (of a normal distribution with ``std``).
    name : str
        Of the model, put before the titles of its panels.
    size, columns : int
        Screen pixels along the longer side of an image; images in a row, all by default up to 5.

    Returns
    -------
    hv.Layout
        Images in the order of ``show``.

    Raises
    ------
    InputError
        If what is to be shown is not there, individuals are not pixels, or bags and targets are of
        another field.

    References
    ----------
    Chau et al. 2021, figures 3 and 8 to 11.
    """
    scales = scales or field_scales(ds, *([] if maps is None else [maps]), level=level)
    there = {"covariates": ds.sizes.get(COVARIATE, 0) > 0, "mediator": "mediators" in ds,
             "target": True, "truth": "truth" in ds, "mean": maps is not None,
             "width": maps is not None and "std" in maps,
             "squared error": maps is not None and "truth" in ds,
             "difference": maps is not None and "truth" in ds}
    show = [kind for kind in SHOWN if there[kind]] if show is None else list(show)
    for kind in show:
        choose("panel", kind, SHOWN)
        require(there[kind], f"nothing to draw {kind!r} from: {_NEEDS[kind]}")
    known = ds["truth"] if "truth" in ds else None

    def called(what: str) -> str:
        return f"{name}: {what}" if name else f"{what[:1].upper()}{what[1:]}"

    made: dict[str, Callable[[], list]] = {
        "covariates": lambda: [
            (f"{_words(n)}{_of(bags, ' of D₁')}", _covariate(ds, bags, n), scales[n])
            for n in _chosen(ds, covariates, COVARIATE)],
        "mediator": lambda: [
            (f"{_words(n)}, blocks", _on_pixels(ds, ds["mediators"].sel({MEDIATOR: n}).values),
             scales[n]) for n in _chosen(ds, mediators, MEDIATOR)],
        "target": lambda: [
            (f"Blocks{_of(targets, ' of D₂')}", _on_pixels(ds, _targets(ds, targets)),
             scales["field"])],
        "truth": lambda: [("Truth", known.values, scales["field"])],
        "mean": lambda: [(called("posterior mean"), maps["mean"].values, scales["field"])],
        "width": lambda: [(called(f"{100 * level:g} % width"), _width(maps, level),
                           scales["width"])],
        "squared error": lambda: [(called("squared error"), (known - maps["mean"]).values**2,
                                   scales["squared error"])],
        "difference": lambda: [(called("truth minus mean"), (known - maps["mean"]).values,
                                scales["difference"])],
    }
    drawn = [(kind, *panel) for kind in show for panel in made[kind]()]
    columns = columns or min(len(drawn), 5)
    images = []
    for at, (kind, title, values, scale) in enumerate(drawn):
        image = _image(ds, values, scale, title, size, left=at % columns == 0,
                       last=(at // columns + 2) * columns > len(drawn))
        if kind in ("covariates", "mediator"):
            image = image.opts(cmap=_SEEN)
        edges = _edges(ds if bags is None else bags) if kind == "covariates" else None
        images.append(image if edges is None else image * edges)
    return hv.Layout(images).cols(columns).opts(shared_axes=True)


_NEEDS = {
    "covariates": "the dataset has no covariates",
    "mediator": "the dataset has no mediators",
    "target": "",
    "truth": "the dataset has no truth",
    "mean": "pass maps with 'mean'",
    "width": "pass maps with 'mean' and 'std'",
    "squared error": "it needs maps with 'mean', and the truth",
    "difference": "it needs maps with 'mean', and the truth",
}


def _image(ds: xr.Dataset, values: np.ndarray, scale: ColourScale, title: str, size: int, *,
           left: bool, last: bool) -> hv.Image:
    """One image; the left ones name the vertical axis, rows with nothing below the horizontal."""
    # Here: evaluation takes a second to load, and pages are drawn before that.
    from workbench.evaluation.images import to_image

    image = to_image(ds, np.asarray(values, dtype=float) * scale.factor)
    rows, columns = image.shape
    dx, skew_x, west, skew_y, dy, edge = (float(v) for v in ds.attrs["grid_transform"])
    require(skew_x == 0 and skew_y == 0, "rotated grids cannot be drawn as rasters")
    south, north = sorted((edge, edge + rows * dy))
    if dy > 0:      # rows run northwards: hv.Image wants the northernmost first
        image = image[::-1]
    east = west + columns * dx
    unit = map_unit(ds)
    stretch = np.cos(np.deg2rad((south + north) / 2)) if unit == "degree" else 1.0
    wide, high = (east - west) * stretch, north - south
    pixels = size / max(wide, high)
    names = ("longitude", "latitude") if unit == "degree" else AXES
    labels = [axis(name, {"degree": "°"}.get(unit, unit)) for name in names]
    tips = [*((label, f"${n}{{0,0.[0]}}") for n, label in zip(AXES, labels, strict=True)),
            (scale.label, f"@image{{0,0.[000]}} {scale.unit}".rstrip())]
    return hv.Image(image.astype(np.float32), bounds=(west, south, east, north), kdims=list(AXES),
                    vdims=["value"]).opts(
        title=title, tools=["hover"], hover_tooltips=tips, clipping_colors={"NaN": UNKNOWN},
        colorbar=True, colorbar_position="bottom", clabel=scale.unit or scale.label,
        colorbar_opts={**_BAR, "ticker": ticker(scale)},
        frame_width=round(wide * pixels), frame_height=round(high * pixels),
        xlim=(west, east), ylim=(south, north), xticks=4, yticks=4,
        xlabel=labels[0] if last else "", ylabel=labels[1] if left else "",
        xaxis="bottom" if last else "bottom-bare", yaxis="left" if left else "left-bare",
        **scale.options(), **{**MAP, "fontsize": {**MAP["fontsize"], "title": "10pt"}})


def _edges(bags: xr.Dataset) -> hv.Path | None:
    if "bag_geometry" not in bags.coords:
        return None
    return hv.Path([lines(bags["bag_geometry"].values)], kdims=list(AXES)).opts(
        color="black", line_width=0.5, alpha=0.55, tools=[])


def _covariate(ds: xr.Dataset, bags: xr.Dataset | None, name: str) -> np.ndarray:
    """Values of one covariate at the pixels that are in a bag, NaN elsewhere."""
    if bags is None:
        return ds["covariates"].sel({COVARIATE: name}).values
    require(name in _names(bags, COVARIATE), f"the bags have no covariate {name!r}")
    columns = int(ds.attrs["grid_shape"][1])
    place, own = (part["row"].values * columns + part["column"].values for part in (ds, bags))
    order = np.argsort(place)
    at = order[np.searchsorted(place, own, sorter=order).clip(max=place.size - 1)]
    require(bool((place[at] == own).all()), "some of the bags' pixels are not in the field: pass "
            "the dataset that the bags were taken from")
    values = np.full(ds.sizes[INDIVIDUAL], np.nan)
    values[at] = bags["covariates"].sel({COVARIATE: name}).values
    return values


def _targets(ds: xr.Dataset, targets: xr.Dataset | None) -> np.ndarray:
    """Values of the blocks that have a target, NaN elsewhere."""
    if targets is None:
        return ds["value"].values
    blocks = {str(name): at for at, name in enumerate(ds[BAG].values)}
    lost = [str(n) for n in targets[TARGET].values if str(n) not in blocks]
    require(not lost, f"{len(lost)} targets are not blocks of the field (first: {lost[:3]})")
    values = np.full(ds.sizes[BAG], np.nan)
    values[[blocks[str(n)] for n in targets[TARGET].values]] = targets["value"].values
    return values


def _on_pixels(ds: xr.Dataset, values: np.ndarray) -> np.ndarray:
    return np.asarray(values, dtype=float)[ds["membership"].values]


def _width(maps: xr.Dataset, level: float) -> np.ndarray:
    return 2 * ndtri((1 + level) / 2) * maps["std"].values


def _chosen(ds: xr.Dataset, names: Sequence[str] | None, dim: str) -> list[str]:
    there = _names(ds, dim)
    if names is None:
        return [n for n in there if n not in AXES]
    return [choose(str(dim), str(n), there) for n in names]


def _names(ds: xr.Dataset, dim: str) -> list[str]:
    return [str(n) for n in ds[dim].values]


def _unit_of(ds: xr.Dataset, dim: str, name: str) -> str:
    units = f"{dim}_units"
    unit = str(ds[units].values[_names(ds, dim).index(name)]) if units in ds.coords else ""
    return "" if unit == "1" else unit


def _words(name: str) -> str:
    text = name.replace("_", " ")
    return text[:1].upper() + text[1:]


def _of(part: xr.Dataset | None, words: str) -> str:
    return "" if part is None else words
