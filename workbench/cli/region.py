"""Flags of another region that is to be mapped: its polygons and rasters."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.checks import InputError, require
from workbench.cli.helping import OUTPUT
from workbench.pipeline import flags
from workbench.pipeline.base import REGION


def region_flags(
    at_polygons: Annotated[Path | None, typer.Option(
        rich_help_panel=OUTPUT, help="Map the areas of another region: a file of polygons, which "
        "need no values.")] = None,
    at_covariates: Annotated[list[str] | None, typer.Option(
        rich_help_panel=OUTPUT, help="A covariate raster there, FILE or NAME=FILE; repeat, in the "
        "order of the model's.")] = None,
    at_weight: Annotated[str | None, typer.Option(
        rich_help_panel=OUTPUT, help="Raster of population there; or area (the default), or "
        "uniform.")] = None,
) -> dict[str, Any]:
    """Files of another region that is to be mapped.

    Returns
    -------
    dict
        ``at_options`` of a Spec; empty if there is none.

    Raises
    ------
    InputError
        If there are rasters without polygons.
    """
    given = {"polygons": at_polygons, "covariates": _named(at_covariates or []),
             "weight": at_weight}
    files = {name: one for name, one in given.items() if one}
    require(not files or "polygons" in files, f"--at-{next(iter(files), '')} is of the region that "
            "is mapped; give its areas, too: --at-polygons FILE")
    return files


def asked_at(fields: dict[str, Any], region: dict[str, Any], further: dict[str, Any]
             ) -> dict[str, Any]:
    """Where a map is wanted, as fields of a Spec.

    Parameters
    ----------
    fields : dict
        Of the Spec, with ``at``.
    region : dict
        From `region_flags`.
    further : dict
        Flags of how its files are read, ``at_...``.

    Returns
    -------
    dict
        The fields with ``at`` and ``at_options``.

    Raises
    ------
    InputError
        If a region is given twice, or options of one that is not given.
    """
    if further and not region:
        first = next(iter(further)).replace("_", "-")
        raise InputError(f"--{first} is of files of another region; give --at-polygons FILE")
    if not region:
        return fields
    require(fields["at"] is None, "--at and --at-polygons both say where the map is wanted; keep "
            "one")
    own = {name.removeprefix("at_"): value for name, value in further.items()}
    return fields | {"at": REGION, "at_options": region | own}


def _named(texts: list[str]) -> list[str] | dict[str, str]:
    """Rasters as files, or by name where one has its own; a file may have = in its name."""
    pairs = [("", text) if Path(text).exists() else text.rpartition("=")[::2] for text in texts]
    if not any(name for name, _ in pairs):
        return texts
    names = [name or Path(path).stem for name, path in pairs]
    require(len(set(names)) == len(names), f"two covariates are named alike: {', '.join(names)}")
    return dict(zip(names, (path for _, path in pairs), strict=True))


def flags_at() -> dict[str, flags.Flag]:
    """Flags of how files of another region are read, by name, such as ``at_id``."""
    from workbench.pipeline import own_files

    return own_files.region_flags()
