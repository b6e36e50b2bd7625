"""Columns of areas that are cells of a raster: which are needed, and which hold means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workbench import schema
from workbench.checks import option, reading, require
from workbench.geo.bands import bands_of, open_tiff
from workbench.geo.grid_areas import MADE, called, is_grid, opened_grid
from workbench.geo.treatments import Record


def named_in(given: Mapping[str, object]) -> list[str]:
    """Columns of areas that arguments of `workbench.bag_polygons` name, the value first.

    Parameters
    ----------
    given : mapping
        Arguments by name, not all of which need be there.

    Returns
    -------
    list of str
    """
    labels = given.get("labels") or {}
    require(isinstance(labels, Mapping), "labels are columns by the name of their coordinate, such "
            f"as labels={{'region': 'NAME_1'}}; got {labels!r}")
    named = [given.get(one) for one in
             ("value", "trials", "standard_error", "population", "id", "name")]
    return [one for one in (*named, *labels.values()) if one]


def meant(given: Mapping[str, object]) -> tuple[str, str, Record]:
    """What values are, as of `workbench.schema.meant`: those of a raster's cells are means.

    Parameters
    ----------
    given : mapping
        Arguments of `workbench.bag_polygons`.

    Returns
    -------
    (str, str, Record)
        Aggregation, kind, and a note where they were taken for means as a raster's values.
    """
    record = Record()
    aggregation, kind = given["aggregation"], given["kind"]
    errors, trials, value = given["standard_error"], given["trials"], given["value"]
    if (aggregation, errors, trials) == (None, None, None) and kind != "count":
        raster = _raster_of(value, given["polygons"], given["totals"])
        if raster is not None:
            aggregation = "mean"
            record.note(f"{value} has the values of the cells of {raster}: each is taken for the "
                        f"mean over its cell, unless {option('aggregation', 'sum')} is given")
    return *schema.meant(aggregation, kind, errors, trials), record


def _raster_of(value: object, polygons: object, totals: object) -> str | None:
    """The raster whose values a column holds; None where they are others."""
    for table in (totals, None if is_grid(polygons) else polygons):
        made = getattr(table, "attrs", {}).get(MADE, {})
        if isinstance(value, str) and value in made:
            return made[value]
    # Of a table beside a raster only what is called as a variable of it is that variable.
    if not is_grid(polygons) or totals is not None and value not in _variables(polygons):
        return None
    return Path(polygons).name if isinstance(polygons, str | Path) else called(polygons)


def _variables(raster: object) -> list[str]:
    """Names of a raster's variables or bands."""
    name, opened = opened_grid(raster)
    if not isinstance(opened, Path):
        return list(map(str, opened))
    with reading(opened, "a raster", "to download or write it again"), open_tiff(opened) as bands:
        return [band for band, _ in bands_of(bands, opened.stem)]
