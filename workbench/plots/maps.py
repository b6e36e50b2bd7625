"""A map of any values on bags or individuals: polygons, rasters or points, on a locked scale."""

from __future__ import annotations

from collections.abc import Mapping

import holoviews as hv
import numpy as np
import shapely
import xarray as xr
from bokeh.models import BasicTicker, FixedTicker, NumeralTickFormatter

from workbench.checks import InputError, require
from workbench.geo.shapes import coordinate_units
from workbench.plots.outlines import areas, borders, frame, simplify
from workbench.plots.scales import ColourScale
from workbench.plots.theme import MAP, NEUTRAL, axis
from workbench.schema import BAG, INDIVIDUAL

AXES = ("x", "y")
SIZE = 300  # pixels along the longer side of a map
_LARGE = 10_000  # from which axes would write powers of ten


def value_map(
    ds: xr.Dataset,
    values: xr.DataArray,
    scale: ColourScale,
    title: str = "",
    *,
    hover: Mapping[str, xr.DataArray] | None = None,
    outlines: bool = True,
    size: int = SIZE,
    axes: tuple[str, str] = AXES,
) -> hv.Element | hv.Overlay:
    """Map values that live on the bags or on the individuals of a dataset.

    Bags are drawn as their polygons, or else by colouring their individuals. Individuals are
    drawn as polygons, as a raster (row, column, grid_transform), or as points.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset that knows where its individuals are.
    values : xr.DataArray (bag,) or (individual,)
        Values before the scale's factor.
    scale : ColourScale
        From `colour_scale`; share it among maps that show the same quantity.
    title : str
    hover : mapping of str to xr.DataArray, optional
        Further values of the same dimension, shown on hover under these names.
    outlines : bool
        Whether to draw the bags' borders over a map of individuals.
    size : int
        Pixels along the longer side.
    axes : (str, str)
        Coordinates of the individuals to use as a map; any two numeric ones for data that have no
        geography.

    Returns
    -------
    hv.Element or hv.Overlay
        The map.

    Raises
    ------
    InputError
        If the values do not belong to the dataset, or nothing says where they are.
    """
    require(
        values.dims in ((BAG,), (INDIVIDUAL,)) and values.size == ds.sizes[values.dims[0]],
        f"expected values over bag ({ds.sizes.get(BAG, 0)}) or individual "
        f"({ds.sizes.get(INDIVIDUAL, 0)}), got dims {values.dims} of sizes {values.shape}",
    )
    dim = str(values.dims[0])
    columns = {"value": np.asarray(values.values, dtype=float) * scale.factor}
    for name, extra in (hover or {}).items():
        columns[name] = np.asarray(extra.values)
    on_bags = dim == BAG
    if f"{dim}_geometry" in ds.coords:
        drawn, bounds = _polygons(ds, dim, columns, scale)
    else:
        if on_bags:
            columns = {name: c[ds["membership"].values] for name, c in columns.items()}
        grid = all(name in ds.coords for name in ("row", "column"))
        grid = grid and "grid_transform" in ds.attrs and axes == AXES
        drawn, bounds = (_raster if grid else _points)(ds, columns, scale, axes)
    unit = map_unit(ds, axes)
    drawn = drawn.opts(
        title=title,
        tools=["hover"],
        **scale.options(),
        **_bar(scale),
        **frame(bounds, unit, size),
        **_axes(unit, axes),
        **MAP,
    )
    over = borders(ds, axes) if outlines and not on_bags else None
    return drawn if over is None else drawn * over


def _polygons(ds: xr.Dataset, dim: str, columns: dict, scale: ColourScale):
    geometries = ds[f"{dim}_geometry"].values
    ids = ds[f"{dim}_name"].values if f"{dim}_name" in ds.coords else ds[dim].values
    drawn = areas(simplify(geometries), {**columns, "id": ids.astype(str)})
    tips = [(dim, "@id"), *_tips(columns, scale)]
    line = NEUTRAL if geometries.size < 600 else None  # thousands of borders would hide the colours
    drawn = drawn.opts(line_color=line, line_width=0.4, hover_tooltips=tips)
    return drawn, tuple(shapely.total_bounds(geometries))


def gridded(ds: xr.Dataset, columns: dict[str, np.ndarray]):
    """Values of pixels in their places; one cut by a border has the mean of its parts by coverage.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset of pixels: row, column and grid_transform.
    columns : dict of str to array (individual,)
        Values by name; text is left out.

    Returns
    -------
    images : dict of str to array (row, column)
        The northernmost row first; NaN where there is no individual.
    extent : (float, float, float, float)
        Left, bottom, right and top of the whole grid.
    bounds : (float, float, float, float)
        The same of the pixels that are there.
    """
    rows, cols = (int(n) for n in ds.attrs["grid_shape"])
    width, skew_x, left, skew_y, height, top = (float(v) for v in ds.attrs["grid_transform"])
    require(skew_x == 0 and skew_y == 0, "rotated grids cannot be drawn as rasters")
    place = ds["row"].values * cols + ds["column"].values
    part = ds["coverage"].values if "coverage" in ds.coords else np.ones(place.size)
    total = np.bincount(place, weights=part, minlength=rows * cols)
    images = {}
    for name, column in columns.items():
        if not np.issubdtype(column.dtype, np.number):
            continue  # an image can hold numbers only
        summed = np.bincount(place, weights=part * column, minlength=rows * cols)
        with np.errstate(invalid="ignore"):
            images[name] = (summed / total).reshape(rows, cols).astype(np.float32)
    bottom, right = top + rows * height, left + cols * width
    if height > 0:  # rows run northwards: pictures want the northernmost first
        images = {name: image[::-1] for name, image in images.items()}
        bottom, top = top, bottom
    r, c = ds["row"].values, ds["column"].values
    xs = left + width * np.array([c.min(), c.max() + 1])
    north = float(ds.attrs["grid_transform"][5])
    ys = sorted(north + height * np.array([r.min(), r.max() + 1]))
    return images, (left, bottom, right, top), (xs[0], ys[0], xs[1], ys[1])


def _raster(ds: xr.Dataset, columns: dict, scale: ColourScale, axes):
    images, extent, bounds = gridded(ds, columns)
    drawn = hv.Image(
        np.dstack(list(images.values())),
        bounds=extent,
        kdims=list(AXES),
        vdims=list(images),
    ).opts(hover_tooltips=_tips(images, scale))
    return drawn, bounds


def places(ds: xr.Dataset, axes: tuple[str, str] = AXES) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of the individuals, or an error that names those there are."""
    missing = [name for name in axes if name not in ds]
    if missing:
        numeric = [
            str(n)
            for n, c in ds.coords.items()
            if c.dims == (INDIVIDUAL,) and np.issubdtype(c.dtype, np.number)
        ]
        raise InputError(
            f"the dataset has no {' and '.join(missing)} to draw a map from; name two coordinates "
            f"of its individuals, axes=(..., ...): {', '.join(numeric) or 'it has none'}"
        )
    x, y = (np.asarray(ds[name].values, dtype=float) for name in axes)
    return x, y


def _points(ds: xr.Dataset, columns: dict, scale: ColourScale, axes):
    x, y = places(ds, axes)
    table = {axes[0]: x, axes[1]: y, **columns, "id": ds[INDIVIDUAL].values.astype(str)}
    drawn = hv.Points(table, list(axes), [*columns, "id"])
    bounds = x.min(), y.min(), x.max(), y.max()
    dot = float(np.clip(250 / np.sqrt(x.size), 2, 9))
    return drawn.opts(
        color="value",
        size=dot,
        line_color=None,
        hover_tooltips=[("individual", "@id"), *_tips(columns, scale)],
    ), bounds


def _tips(columns, scale: ColourScale) -> list[tuple[str, str]]:
    tips = []
    for name in columns:
        label, unit = (scale.label, f" {scale.unit}") if name == "value" else (name, "")
        tips.append((label, f"@{{{name}}}{{0,0.[000]}}{unit.rstrip()}"))
    return tips


def map_unit(ds: xr.Dataset, axes: tuple[str, str] = AXES) -> str:
    """Unit of the map's axes: of the coordinates, "" where they have none."""
    unit = str(ds[axes[0]].attrs.get("units", "")) if axes[0] in ds else ""
    if axes[0] not in ds and axes == AXES and ds.attrs.get("crs"):      # polygons alone
        unit = coordinate_units(ds.attrs["crs"])
    return {"metre": "m", "metres": "m", "degrees": "degree"}.get(unit, unit)


def _axes(unit: str, axes: tuple[str, str]) -> dict:
    """A scale bar where lengths have a meaning, labelled axes elsewhere."""
    if unit in ("m", "km"):
        return {
            "xaxis": None,
            "yaxis": None,
            "scalebar": True,
            "scalebar_unit": (unit, "m"),
            "scalebar_opts": {"background_fill_alpha": 0, "border_line_alpha": 0, "margin": 2},
        }
    names = ("longitude", "latitude") if unit == "degree" else axes
    labels = {f"{a}label": axis(n, unit) for a, n in zip("xy", names, strict=True)}
    return {**labels, "xticks": 4, "yticks": 5}


def ticker(scale: ColourScale) -> BasicTicker | FixedTicker:
    """Labels of a colour bar, few enough to be read."""
    ticks = scale.ticks
    return FixedTicker(ticks=ticks) if ticks else BasicTicker(desired_num_ticks=4)


def _bar(scale: ColourScale) -> dict:
    small = {"title_text_font_size": "9pt", "title_text_font_style": "normal"}
    small |= {"major_label_text_font_size": "9pt", "height": 12}
    small["ticker"] = ticker(scale)
    if max(abs(scale.lower), abs(scale.upper)) >= _LARGE:
        small["formatter"] = NumeralTickFormatter(format="0,0")
    return {
        "colorbar": True,
        "colorbar_position": "bottom",
        "clabel": scale.unit or scale.label,
        "colorbar_opts": small,
    }
