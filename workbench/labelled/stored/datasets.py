"""Datasets as plain facts and arrays, and back: all variables, coordinates and attributes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from workbench.checks import InputError, choose, require
from workbench.labelled.stored.archive import plain

_KINDS = ("number", "text", "time", "geometry")
_ENDS = ".ends"


def encode(ds: xr.Dataset) -> tuple[dict, dict[str, np.ndarray]]:
    """A dataset as facts and arrays.

    Parameters
    ----------
    ds : xr.Dataset
        Variables of numbers, text, times or geometries.

    Returns
    -------
    facts : dict
        Names, dimensions, attributes, and text.
    tensors : dict of str to ndarray
        Numbers, by name of the variable.

    Raises
    ------
    InputError
        If a variable or attribute holds anything else; it is named.
    """
    variables, tensors = {}, {}
    for key, variable in ds.variables.items():
        name, values = str(key), variable.values
        told = {"dims": [str(d) for d in variable.dims], "coordinate": key in ds.coords,
                "attrs": plain(variable.attrs, f"attributes of {name!r}")}
        if values.dtype.kind in "biuf":
            told["kind"] = "number"
            tensors[name] = values.astype(values.dtype.newbyteorder("="))
        elif values.dtype.kind in "mM":
            told |= {"kind": "time", "dtype": values.dtype.str}
            tensors[name] = values.astype(np.int64)
        elif all(hasattr(v, "geom_type") for v in values.flat) and values.size:
            told["kind"] = "geometry"
            tensors |= _packed(name, values)
        else:
            told |= {"kind": "text", "mixed": values.dtype.kind == "O",
                     "values": plain(values.tolist(), f"variable {name!r}")}
        variables[name] = told
    return {"attrs": plain(ds.attrs, "attributes of the dataset"), "variables": variables}, tensors


def decode(facts: Mapping, tensors: Mapping[str, np.ndarray]) -> xr.Dataset:
    """The dataset that `encode` made facts and arrays of.

    Parameters
    ----------
    facts, tensors
        As `encode` returns them.

    Raises
    ------
    InputError
        If a variable lacks its numbers, or is of a kind that is not known.
    """
    variables, coordinates = {}, set()
    for name, told in facts["variables"].items():
        kind = choose(f"kind of the variable {name!r}", told["kind"], _KINDS)
        if kind == "text":
            values = np.asarray(told["values"], dtype=object if told["mixed"] else str)
        else:
            require(name in tensors, f"the variable {name!r} lacks its numbers")
            values = tensors[name]
        if kind == "time":
            dtype = np.dtype(told["dtype"])
            require(dtype.kind in "mM", f"the variable {name!r} is of no type of time")
            values = values.astype(dtype)
        elif kind == "geometry":
            values = _unpacked(name, tensors)
        variables[name] = (told["dims"], values, told["attrs"])
        if told["coordinate"]:
            coordinates.add(name)
    ds = xr.Dataset({n: v for n, v in variables.items() if n not in coordinates},
                    {n: v for n, v in variables.items() if n in coordinates})
    return ds.assign_attrs(facts["attrs"])


def _packed(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    """Geometries as the bytes of their well-known binary form, and where each ends."""
    import shapely

    if values.ndim != 1:
        raise InputError(f"the geometries {name!r} must lie along one dimension")
    parts = [np.frombuffer(part, np.uint8) for part in shapely.to_wkb(values)]
    return {name: np.concatenate(parts), name + _ENDS: np.cumsum([len(part) for part in parts])}


def _unpacked(name: str, tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    import shapely

    require(name + _ENDS in tensors, f"the geometries {name!r} lack where they end")
    whole, ends = tensors[name].tobytes(), tensors[name + _ENDS].tolist()
    starts = [0, *ends[:-1]]
    out = np.empty(len(ends), dtype=object)
    out[:] = [shapely.from_wkb(whole[a:b]) for a, b in zip(starts, ends, strict=True)]
    return out
