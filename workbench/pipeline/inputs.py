"""The data that a Spec names, read from files or made by a loader, and which files these are."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import xarray as xr

from workbench import bagging, datasets, geo, schema
from workbench.bagging.findings import part
from workbench.checks import InputError, choose, reading, require
from workbench.pipeline.base import BaseSpec, existing
from workbench.pipeline.own_files import KINDS, bag_files
from workbench.pipeline.settings import thaw
from workbench.pipeline.spec import AggregateSpec, RehearseSpec, Spec


def input_files(spec: BaseSpec) -> list[Path]:
    """The files that a Spec reads: whatever of its texts about data is the name of one.

    A map that keeps no draws is fitted again, so that the files of its own Spec are read, too.
    """
    texts = _texts([thaw(getattr(spec, f.name)) for f in fields(spec) if not f.kw_only])
    named = [text.rpartition("=")[2] for text in texts if "=" in text]
    found = [path for path in map(Path, [*texts, *named]) if _is_file(path)]
    if isinstance(spec, AggregateSpec):
        with suppress(InputError, OSError, ValueError):     # which is said where the map is read
            found += input_files(spec_of(spec.map))
    return found


def spec_of(path: str | Path) -> BaseSpec:
    """The Spec that a stored result carries.

    Parameters
    ----------
    path : str or Path
        A NetCDF file that a command wrote.

    Returns
    -------
    BaseSpec
        Of the command that wrote it.

    Raises
    ------
    InputError
        If the file is missing or carries none.
    """
    with reading(existing("result", path), "a stored result", "to make it again"), \
            xr.open_dataset(path, engine="h5netcdf") as maps:
        require("spec" in maps.attrs, f"{path} carries no Spec; was it written by this workbench?")
        return BaseSpec.from_json(maps.attrs["spec"])


def data_of(spec: Spec | RehearseSpec) -> xr.Dataset:
    """The bagged dataset of a Spec, merged to its level or number of areas.

    Parameters
    ----------
    spec : Spec or RehearseSpec
        Its dataset, dataset_options, level and areas apply.

    Returns
    -------
    xr.Dataset
        Checked, and looked at for what is improbable.

    Raises
    ------
    InputError
        If the dataset or an option is unknown, or a file is missing or cannot be used.
    """
    options = spec.dataset_options.plain()
    if spec.dataset in KINDS:
        ds = bag_files(spec.dataset, options, spec.level)
    else:
        require(not options or not is_file(spec.dataset),
                f"a stored dataset has no options, got {', '.join(options)}")
        if not Path(spec.dataset).suffix and not _is_file(Path(spec.dataset)):
            choose("dataset", spec.dataset, [*KINDS, *datasets.datasets()])
        ds = named_or_file(spec.dataset, valued=True, **options)
    with part("level", "areas"):
        if spec.level is not None and spec.level != ds.attrs.get("level"):
            ds = bagging.merge(ds, spec.level)
        if spec.areas is not None:
            ds = bagging.merge_to(ds, spec.areas)
    if spec.level is not None or spec.areas is not None:
        ds.attrs.pop("sanity", None)        # said of the areas before they were merged
    return bagging.looked_at(ds)


def named_or_file(dataset: str, valued: bool = False, **options: Any) -> xr.Dataset:
    """A dataset by name, or the bagged one in a NetCDF file.

    Parameters
    ----------
    dataset : str
        Name, or path of a file.
    valued : bool
        Whether bags in a file must have values.
    **options
        Of the named dataset's loader.

    Returns
    -------
    xr.Dataset
        Bagged dataset.

    Raises
    ------
    InputError
        If there is no such file or dataset, or the file is of another kind.
    """
    if is_file(dataset):
        return schema.check(geo.read(existing("dataset", dataset)), valued=valued)
    path = Path(dataset)
    require(not _is_file(path), f"{dataset!r} is a file, but no NetCDF dataset (.nc), which this "
            "takes. Make one in Python, of a table of points by "
            f"wb.write(wb.bag_points({dataset!r}, value='COLUMN', covariates=['a.tif']), "
            f"{str(path.with_suffix('.nc'))!r}), of polygons by wb.bag_polygons, of readings by "
            "the hour of stations and satellites by wb.sources_from_tables")
    return datasets.load(dataset, **options)


def is_file(dataset: str) -> bool:
    """Whether a Spec's dataset is the path of a stored file rather than a name."""
    return Path(dataset).suffix.lower() == ".nc"


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:                     # a text too long for a name
        return False
