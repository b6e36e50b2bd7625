"""One block of a raster as a map: its pixels as individuals, what a fit says of them, and back."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from workbench import schema
from workbench.labelled.maps import marginal_maps
from workbench.labelled.saving import flatten
from workbench.labelled.source import Converted

if TYPE_CHECKING:
    from workbench.labelled.fit import Fit

PIECE = 1 << 16     # pixels that are predicted at once, so that blocks may be larger


@dataclass(frozen=True)
class Asked:
    """What is asked of a fit at every pixel.

    Parameters
    ----------
    covariates : tuple of str
        Names, in the order of the fit.
    quantiles : tuple of float
        Levels.
    threshold : float, tuple of float or None
        As of ``Fit.to_dataset``.
    """

    covariates: tuple[str, ...]
    quantiles: tuple[float, ...]
    threshold: float | tuple[float, ...] | None


class Shared:
    """A fit that several threads ask at once, each of them a copy: kernels change as they compute.

    Parameters
    ----------
    fit : Fit
        Which is never asked itself. Copies share its training data.
    """

    def __init__(self, fit: Fit):
        self._fit, self._free, self._lock = fit, [], Lock()

    @contextmanager
    def own(self) -> Iterator[Fit]:
        """A copy that nobody else asks meanwhile; there are as many as threads."""
        with self._lock:
            fit = self._free.pop() if self._free else self._copy()
        try:
            yield fit
        finally:
            with self._lock:
                self._free.append(fit)

    def _copy(self) -> Fit:
        fit = copy.copy(self._fit)
        data = getattr(fit.inner.state, "given", None)
        fit.inner = copy.deepcopy(fit.inner, {id(data): data})
        return fit

    def __reduce__(self):
        return Shared, (self._fit,)


def predicted(fit: Fit, asked: Asked, table: np.ndarray, x: np.ndarray, y: np.ndarray
              ) -> dict[str, xr.DataArray]:
    """The variables of a map at pixels, none of which lies in an area of the training data.

    Parameters
    ----------
    fit : Fit
        Of one source.
    asked : Asked
        Levels and thresholds.
    table : ndarray (pixel, covariate)
        Finite covariates.
    x, y : ndarray (pixel,)
        Their centres.

    Returns
    -------
    dict of str to xr.DataArray
        Along ``individual``, the last dimension.
    """
    count, trained = len(table), fit.data
    units = {axis: trained[axis].attrs for axis in "xy" if axis in trained.coords}
    coords = {"individual": np.arange(count), "covariate": list(asked.covariates),
              "bag": np.arange(count).astype(str)}
    if units:
        coords |= {"x": (schema.INDIVIDUAL, x, units["x"]), "y": (schema.INDIVIDUAL, y, units["y"])}
    if "covariate_units" in trained.coords:
        coords["covariate_units"] = (schema.COVARIATE, trained["covariate_units"].values)
    places = xr.Dataset({
        "covariates": ((schema.INDIVIDUAL, schema.COVARIATE), table),
        "weight": (schema.INDIVIDUAL, np.ones(count)),
        "membership": (schema.INDIVIDUAL, np.arange(count))}, coords)
    data = Converted(places)        # not checked: it holds by how it was made
    latent = fit.latent(data)
    maps = marginal_maps(fit.at(data, area_effect=False), None, places["weight"], asked.quantiles,
                         asked.threshold)
    return maps | {"latent_mean": latent.mean, "latent_std": latent.std,
                   "extrapolation": fit.extrapolation(data)}


def example(fit: Fit, asked: Asked) -> dict[str, xr.DataArray]:
    """The map of one individual that the fit has seen: names, dimensions, units of any other."""
    one = fit.data.isel(individual=[0])
    table = one["covariates"].transpose("individual", "covariate").values.astype(float)
    x, y = (one[axis].values if axis in one.coords else np.zeros(1) for axis in "xy")
    return predicted(fit, asked, table, x, y)


def block(y: np.ndarray, x: np.ndarray, *layers: np.ndarray, fit: Shared, asked: Asked, count: int
          ) -> np.ndarray:
    """The map of a block: NaN where a covariate is missing, and nothing is computed there.

    Parameters
    ----------
    y, x : ndarray (row,), (column,)
        Centres of its pixels.
    *layers : ndarray (row, column)
        Covariates, in the order of the fit.
    fit : Shared
        Of one source.
    asked : Asked
        Levels and thresholds.
    count : int
        Layers of the map.

    Returns
    -------
    ndarray (layer, row, column)
        The variables of `predicted`, below each other.
    """
    known = np.ones((len(y), len(x)), bool)
    for layer in layers:
        known &= np.isfinite(layer)
    row, column = np.nonzero(known)
    out = np.full((count, len(y), len(x)), np.nan)
    for start in range(0, row.size, PIECE):
        rows, columns = row[start:start + PIECE], column[start:start + PIECE]
        table = np.empty((rows.size, len(layers)))
        for k, layer in enumerate(layers):
            table[:, k] = layer[rows, columns]
        with fit.own() as own:
            maps = predicted(own, asked, table, x[columns], y[rows])
        out[:, rows, columns] = np.concatenate(
            [np.atleast_2d(one.values) for one in maps.values()])
    return out


def fingerprint(fit: Fit) -> str:
    """A text that two fits share if they predict the same: of the posterior and of the data."""
    _, arrays = flatten(fit.inner.keep(), "fit")
    digest = hashlib.sha256(f"{fit.model!r} {fit._hash}".encode())
    for name in sorted(arrays):
        digest.update(name.encode() + np.ascontiguousarray(arrays[name]).tobytes())
    return digest.hexdigest()[:32]
