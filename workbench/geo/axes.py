"""Where the pixels of a raster lie: rows from north to south, evenly spaced, or an error in words.

A grid is known by its corner and the size of its pixels alone. What they do not describe (turned
grids, uneven coordinates, coordinates that are missing) would be laid at wrong places unsaid.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from workbench.bagging.grids import UNEVEN
from workbench.bagging.warping import RESAMPLING
from workbench.checks import InputError, package, require
from workbench.geo.globe import TO_180, TO_360, TURN, to_180

_AXES = (("y", -1), ("x", 1))       # with the direction in which coordinates grow


def laid_out(name: str, band: xr.DataArray) -> xr.DataArray:
    """A raster with coordinates of its pixels' centres, north up, and a transform if it needs one.

    Parameters
    ----------
    name : str
        For messages.
    band : xr.DataArray
        (y, x), with coordinates or a transform.

    Returns
    -------
    xr.DataArray
        The same pixels. Where there is one row or column, the transform tells its size, if it
        agrees with all coordinates. An outdated one that does cannot be told from a true one, as
        after coarsening that axis alone.

    Raises
    ------
    InputError
        If it has no pixels, is rotated, has neither coordinates nor a transform, coordinates are
        uneven, or one row or column has no size.
    """
    require(band.size > 0, f"raster {name!r} has no pixels ({band.sizes['y']} rows, "
            f"{band.sizes['x']} columns); look what was cut out of it")
    known = _stored(band)
    check_upright(name, known)
    bare = [axis for axis, _ in _AXES if axis not in band.coords]
    require(not bare or known is not None, f"raster {name!r} has no coordinates of its pixels "
            f"along {' and '.join(bare)}, and no transform: nobody can tell where it lies; assign "
            "the centres of its pixels")
    for axis in bare:
        first, step = (known.f, known.e) if axis == "y" else (known.c, known.a)
        band = band.assign_coords({axis: first + step * (np.arange(band.sizes[axis]) + 0.5)})
    sizes = {}
    for axis, way in _AXES:
        if band.sizes[axis] == 1:
            first, step = (0, 0) if known is None or not _agrees(known, band) else (
                (known.f, known.e) if axis == "y" else (known.c, known.a))
            sizes[axis] = _of_one(name, axis, float(band[axis][0]), first, step)
            continue
        check_even(name, band[axis].values, axis,
                   degrees=band.rio.crs is None or band.rio.crs.is_geographic)
        if way * float(band[axis][1] - band[axis][0]) < 0:
            band = band.isel({axis: slice(None, None, -1)})
    if not sizes:
        return band
    height, width = (sizes.get(axis) or abs(float(band[axis][-1] - band[axis][0]))
                     / (band.sizes[axis] - 1) for axis, _ in _AXES)
    affine = package("affine", extra="geo").Affine
    return band.rio.write_transform(affine(width, 0, float(band["x"][0]) - width / 2,
                                           0, -height, float(band["y"][0]) + height / 2))


def _stored(band: xr.DataArray):
    """The transform that came with a raster, whatever its coordinates tell; None without one."""
    affine = package("affine", extra="geo").Affine
    mapping = band.coords.get(band.rio.grid_mapping)
    if mapping is not None and "GeoTransform" in mapping.attrs:
        return affine.from_gdal(*map(float, str(mapping.attrs["GeoTransform"]).split()))
    return affine(*band.attrs["transform"][:6]) if "transform" in band.attrs else None


def _agrees(known, band: xr.DataArray) -> bool:
    """Whether a transform has the steps of the coordinates, as after coarsening it has not."""
    for axis, step in (("y", known.e), ("x", known.a)):
        along = band[axis].values.astype(float)
        if along.size > 1:
            own = abs(along[-1] - along[0]) / (along.size - 1)
            if not abs(own - abs(step)) * (along.size - 1) <= UNEVEN * own:
                return False
    return True


def check_upright(name: str, transform: Sequence[float] | None) -> None:
    """Refuse a grid whose rows or columns do not run along the axes.

    Parameters
    ----------
    name : str
        Of the raster.
    transform : sequence of float, optional
        Affine coefficients a to f; None if there are none.

    Raises
    ------
    InputError
        If it is rotated or sheared.
    """
    require(transform is None or transform[1] == transform[3] == 0,
            f"raster {name!r} is rotated (transform {tuple(transform or ())[:6]}); warp it to a "
            f"north-up grid first: gdalwarp with {RESAMPLING}")


def check_even(name: str, along: np.ndarray, axis: str, degrees: bool = True) -> None:
    """Refuse coordinates of several pixels that are not evenly spaced, to a tenth of a pixel.

    Parameters
    ----------
    name : str
        Of the raster.
    along : array (pixel,)
        Coordinates.
    axis : str
        Which.
    degrees : bool
        Whether they may be longitudes or latitudes.

    Raises
    ------
    InputError
        If there is none, one is missing, or lies elsewhere than even steps would put it.
    """
    along = np.asarray(along, dtype=float)
    require(along.size > 0, f"raster {name!r} has no pixels along {axis}; look what was cut out of "
            "it")
    missing = int((~np.isfinite(along)).sum())
    require(missing == 0, f"raster {name!r} has {missing} coordinates along {axis} that are no "
            "numbers; correct them")
    off, step = _off_even(along)
    if step > 0 and off.max() <= UNEVEN * step:
        return
    if axis == "x" and degrees:
        _refuse_torn(name, along)
    ordered, even = _off_even(np.sort(along))
    require(not (even > 0 and ordered.max() <= UNEVEN * even), f"raster {name!r} has coordinates "
            f"along {axis} that are not in order; sort its pixels by them: raster.sortby({axis!r})"
            ", by the name that this dimension has")
    raise InputError(
        f"raster {name!r} has uneven coordinates along {axis}: {along[off.argmax()]:.6g} lies "
        f"{off.max():.3g} off even steps of {step:.6g}; interpolate it to a regular grid first, "
        "e.g. with raster.interp, and join longitudes that are split in two, e.g. with "
        "raster.sortby")


def _off_even(along: np.ndarray) -> tuple[np.ndarray, float]:
    """How far each coordinate lies off even steps, and the step."""
    off = np.abs(along - np.linspace(along[0], along[-1], along.size))
    return off, abs(along[-1] - along[0]) / (along.size - 1)


def _refuse_torn(name: str, along: np.ndarray) -> None:
    """Refuse longitudes that are even once those beyond half a turn are turned, and say which."""
    if np.abs(along).max() > TURN:
        return
    for turned, found, what in (
            (TO_180, to_180(along), f"run from 0 to {TURN:g}: take {TURN:g} off those above 180"),
            (TO_360, along % TURN, f"lie on both sides of 180: add {TURN:g} to those below 0")):
        if np.allclose(found, along):       # then nothing was beyond half a turn
            continue
        found = np.sort(found)
        off, step = _off_even(found)
        if step > 0 and off.max() <= UNEVEN * step:
            gap = np.abs(np.diff(along)).argmax()
            raise InputError(
                f"raster {name!r} has a gap in its longitudes, from {along[gap]:.6g} to "
                f"{along[gap + 1]:.6g}, as they {what}, as {turned} does")


def _of_one(name: str, axis: str, centre: float, first: float, step: float) -> float:
    """Size of a single row or column, which only a transform tells, where it is of this pixel."""
    number = (centre - first) / step - 0.5 if step else np.nan
    require(abs(number - np.round(number)) <= UNEVEN, f"raster {name!r} has one "
            f"{'row' if axis == 'y' else 'column'}, and no transform that tells its size; write it "
            "with raster.rio.write_transform, or give it two or more rows and columns")
    return abs(step)
