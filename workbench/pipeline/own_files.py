"""Files of one's own as the data of a Spec: polygons, small polygons inside them, or points."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import xarray as xr

from workbench import bagging, geo
from workbench.bagging.findings import is_listing, refuse
from workbench.checks import InputError, choose, option, options_named, require
from workbench.geo.derived import with_distances
from workbench.geo.grids import is_word
from workbench.geo.periods import HOLE
from workbench.geo.treatments import Record
from workbench.geo.zarr_stores import is_zarr
from workbench.labelled.in_parts import bag_in_parts
from workbench.pipeline import flags
from workbench.pipeline.base import existing

POLYGONS, CHILDREN, POINTS = "polygons", "children", "points"
_NAMES = {"value", "trials", "standard_error", "population", "id", "name", "time", "join", "parent",
          "parent_id"}
_OF_TABLES = ("time", "encoding")       # which another region has none of
IN_PARTS = "in_parts"
_IN_PARTS = flags.Flag(IN_PARTS, (int, type(None)), None, "Keep at most so many clusters of the "
                       "pixels of each area, and read some areas at a time: for rasters larger "
                       "than memory; map the pixels by --save-fit and workbench predict")


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

    def reader(self, options: dict) -> Callable[..., xr.Dataset]:
        """What reads files with these options: ``read``, or for polygons the one in parts."""
        return bag_in_parts if options.get(IN_PARTS) is not None else self.read


KINDS = {
    POLYGONS: Kind(
        geo.bag_polygons, ("polygons", "value"),
        ("polygons", "covariates", "weight", "value", "trials", "totals", "join", "attrs"),
        ("polygons", "covariates", "weight", "totals"), {IN_PARTS: "most"}),
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
    parts = {IN_PARTS: _IN_PARTS} if kind == POLYGONS else {}
    return flags.of_signature(one.read, one.inputs) | flags.of_options(geo.CleaningOptions) | parts


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
    _check_types(options)
    if not is_listing():                # which says what else is wrong, too
        for role, path in _files(one, options):
            existing(role, path, directory=role in ("polygons", "children", "points")
                     or is_zarr(Path(path)))
    own = [name for name in one.inputs if name not in one.renamed.values()]
    for name in options:
        choose(f"option of {one.read.__name__}", name, (*own, *one.renamed, *file_flags(kind)))
    labels = {**(options.get("labels") or {}), **({"bag_name": 0} if "name" in options else {})}
    if level is not None and level not in labels:
        refuse(
            f"level {level!r} is not a label of the areas: {', '.join(labels) or 'they have none'}",
            f"pass {option('labels', {level: 'COLUMN'})} with the column of the polygons "
            f"that names the {level} of each area", code="level", where=["areas"])
    return one.reader(options)(**{
        one.renamed.get(name, name): value for name, value in options.items()
        if (name, value) != (IN_PARTS, None)})


def _check_types(options: dict) -> None:
    """Refuse numbers and lists where names belong, as a Spec written by hand may have them."""
    for name in _NAMES & options.keys():
        require(options[name] is None or isinstance(options[name], str), f"expected a name for "
                f"{name}, got {options[name]!r}")
    layers = options.get("covariates")
    several = layers.values() if isinstance(layers, Mapping) else layers
    require(layers is None or isinstance(several, Collection) and all(
        isinstance(one, str) for one in several), "expected names of rasters or columns for "
            f"covariates, got {layers!r}")
    marks = options.get("nodata")
    require(marks is None or all(isinstance(one, int | float) for one in (
        marks if isinstance(marks, list | tuple) else [marks])), f"expected numbers for nodata, "
            f"got {marks!r}")


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
        places = bagging.grid_places(ds.isel(covariate=[]))
        return _said(ds, with_distances(places, options.get("distance_to"), Record()))
    known = flags.of_signature(geo.raster_places) | flags.of_options(geo.CleaningOptions)
    places = geo.raster_places(options.get("covariates"), **{
        name: one for name, one in options.items() if name in known and name != "covariates"})
    chosen = [str(name) for name in ds["covariate"].values]
    # Classes that no point has are none of the model.
    return _said(ds, places.sel(covariate=chosen))


def _said(ds: xr.Dataset, places: xr.Dataset) -> xr.Dataset:
    """Places of a map with what was done to the points, too."""
    lines = [line for one in (ds, places) for line in one.attrs.get("treatments", "").split("\n")
             if line not in ("", "none")]
    return places.assign_attrs(treatments="\n".join(dict.fromkeys(lines)) or "none")


def region_flags() -> dict[str, flags.Flag]:
    """How the files of another region may be read: those of polygons, each as ``at_...``."""
    one = KINDS[POLYGONS].read
    found = file_flags(POLYGONS) | {
        name: flag for name, flag in flags.of_signature(one).items() if name in ("value", "trials")}
    return {f"at_{name}": replace(flag, name=f"at_{name}") for name, flag in found.items()
            if name not in (*_OF_TABLES, IN_PARTS)}


def region_of(options: dict) -> xr.Dataset:
    """Read the polygons and rasters of another region, where a map is wanted.

    Parameters
    ----------
    options : dict
        Those of `workbench.polygon_places`; with a value (to set beside what is predicted) those
        of `workbench.bag_polygons`.

    Returns
    -------
    xr.Dataset
        Bagged dataset, without values if there are none.

    Raises
    ------
    InputError
        If an option is unknown, or a file is missing or cannot be used.
    """
    require("polygons" in options, "at='polygons' needs 'polygons' among at_options, the file of "
            "the areas")
    for role, path in _files(KINDS[POLYGONS], options):
        existing(f"at {role}", path, directory=role == "polygons" or is_zarr(Path(path)))
    read = geo.bag_polygons if "value" in options else geo.polygon_places
    known = flags.of_signature(read) | flags.of_options(geo.CleaningOptions)
    for name in options:
        choose(f"option of {read.__name__}", name, known)
    try:
        with options_named(prefix="at_"):
            return read(**options)
    except InputError as error:
        raise InputError(f"of the other region, {Path(options['polygons']).name}: {error}"
                         ) from error


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
