"""Files of one's own as the data of a Spec: polygons, small polygons inside them, or points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import xarray as xr

from workbench import bagging, geo
from workbench.bagging.findings import is_listing, refuse
from workbench.checks import choose, option, require
from workbench.geo.grids import is_word
from workbench.geo.periods import HOLE
from workbench.pipeline import flags
from workbench.pipeline.base import existing

POLYGONS, CHILDREN, POINTS = "polygons", "children", "points"


@dataclass(frozen=True)
class Kind:
    """One way of giving data as files: who reads them, and what of it are files.

    Parameters
    ----------
    read : callable
        Of the options; returns a bagged dataset.
    needed : tuple of str
        Options that must be given.
    inputs : tuple of str
        Options that are no flags of their own: commands declare them, or they are for Python.
    files : tuple of str
        Options that are files.
    renamed : dict
        Names of options where those of ``read`` are others.
    """

    read: Callable[..., xr.Dataset]
    needed: tuple[str, ...]
    inputs: tuple[str, ...]
    files: tuple[str, ...]
    renamed: dict[str, str]


KINDS = {
    POLYGONS: Kind(
        geo.bag_polygons, ("polygons", "value"),
        ("polygons", "covariates", "weight", "value", "trials", "totals", "join", "attrs"),
        ("polygons", "covariates", "weight", "totals"), {}),
    CHILDREN: Kind(
        geo.bag_children, ("children", "parent", "value"),
        ("fine_polygons", "parent_polygons", "covariates", "weight", "value", "trials", "totals",
         "join", "parent_values", "attrs"),
        ("children", "polygons", "totals"),
        {"children": "fine_polygons", "polygons": "parent_polygons"}),
    POINTS: Kind(
        geo.bag_points, ("points", "value"),
        ("points", "covariates", "value", "trials", "attrs"), ("points", "covariates"), {}),
}


def file_flags(kind: str) -> dict[str, flags.Flag]:
    """How files may be read and treated: further arguments of the function that bags them.

    Parameters
    ----------
    kind : str
        One of `KINDS`.

    Returns
    -------
    dict
        Flags by name.
    """
    one = KINDS[kind]
    return flags.of_signature(one.read, one.inputs) | flags.of_options(geo.CleaningOptions)


def bag_files(kind: str, options: dict, level: str | None) -> xr.Dataset:
    """Read and bag the files that options name.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    options : dict
        As of ``dataset_options`` of a Spec.
    level : str, optional
        Level to which areas will be merged: a label of theirs.

    Returns
    -------
    xr.Dataset
        Bagged dataset.

    Raises
    ------
    InputError
        If an option is unknown or missing, or a file is missing or cannot be used.
    """
    one = KINDS[kind]
    missing = [repr(name) for name in one.needed if name not in options]
    require(not missing, f"the dataset {kind!r} needs {' and '.join(missing)} among "
            "dataset_options (covariates and weight may be left out)")
    if isinstance(options.get("covariates"), str):
        options["covariates"] = [options["covariates"]]
    if not is_listing():                # which says what else is wrong, too
        for role, path in _files(one, options):
            existing(role, path, directory=role in ("polygons", "children")
                     or str(path).endswith(".zarr"))
    own = [name for name in one.inputs if name not in one.renamed.values()]
    for name in options:
        choose(f"option of {one.read.__name__}", name, (*own, *one.renamed, *file_flags(kind)))
    labels = {**(options.get("labels") or {}), **({"bag_name": 0} if "name" in options else {})}
    if level is not None and level not in labels:
        refuse(
            f"level {level!r} is not a label of the areas: {', '.join(labels) or 'they have none'}",
            f"pass {option('labels', {level: 'COLUMN'})} with the column of the polygons "
            f"that names the {level} of each area", code="level", where=["areas"])
    return one.read(**{one.renamed.get(name, name): value for name, value in options.items()})


def places_of(options: dict, ds: xr.Dataset) -> xr.Dataset:
    """Where the map of points is wanted: the pixels of their covariates, else a grid over them.

    Parameters
    ----------
    options : dict
        Of the points.
    ds : xr.Dataset
        The points.

    Returns
    -------
    xr.Dataset
        As of `workbench.raster_places`.
    """
    if "covariates" not in options and "classes" not in options:
        return bagging.grid_places(ds)
    known = flags.of_signature(geo.raster_places) | flags.of_options(geo.CleaningOptions)
    places = geo.raster_places(options.get("covariates"), **{
        name: one for name, one in options.items() if name in known and name != "covariates"})
    chosen = [str(name) for name in ds["covariate"].values]
    return places.sel(covariate=chosen)         # classes that no point has are none of the model


def _files(kind: Kind, options: dict) -> Iterator[tuple[str, str]]:
    """Roles and paths of the options that are files."""
    for name in kind.files:
        given = options.get(name)
        if given is None or (name == "weight" and is_word(given)):
            continue
        parts = given.values() if isinstance(given, dict) else (
            given if isinstance(given, list) else [given])
        for path in (p for p in parts if HOLE not in str(p)):
            yield {"covariates": "covariate"}.get(name, name), path
