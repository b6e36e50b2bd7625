"""Columns of areas that are cells of a raster: which are needed, and which hold means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workbench import schema
from workbench.checks import InputError, option, reading, require
from workbench.geo.bands import bands_of, open_tiff
from workbench.geo.grid_areas import MADE, UNITS, called, is_grid, opened_grid
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


def meant(given: Mapping[str, object]) -> tuple[str, str, str | None, Record]:
    """What values are, as of `workbench.schema.meant`: those of a raster's cells are means.

    They are in the units of the raster, unless others are given.

    Parameters
    ----------
    given : mapping
        Arguments of `workbench.bag_polygons`.

    Returns
    -------
    (str, str, str or None, Record)
        Aggregation, kind, units where they are known, and notes where they were taken for means, or
        had units, as a raster's values.
    """
    record = Record()
    aggregation, kind = given["aggregation"], given["kind"]
    errors, trials, value = given["standard_error"], given["trials"], given["value"]
    if (aggregation, errors, trials) == (None, None, None) and kind != "count":
        found = _raster_of(value, given["polygons"], given["totals"])
        if found is not None:
            aggregation = "mean"
            record.note(f"{value} {found}: each is taken for the mean over its cell, unless "
                        f"{option('aggregation', 'sum')} is given")
    aggregation, kind = schema.meant(aggregation, kind, errors, trials)
    units = given["value_units"]
    if units is None and trials is None:
        units = _units_of(value, given["polygons"], given["totals"])
        units = None if kind == "count" and units == "1" else units
        if units not in (None, "1"):
            record.note(f"{value} is in {units}, as its raster says; {option('value_units')} says "
                        "otherwise")
    return aggregation, kind, units, record


def _raster_of(value: object, polygons: object, totals: object) -> str | None:
    """What a column has to do with a raster, in words; None where its values are others."""
    for table in (totals, None if is_grid(polygons) else polygons):
        made = getattr(table, "attrs", {}).get(MADE, {})
        if isinstance(value, str) and value in made:
            return f"has the values of the cells of {made[value]}"
    # Of a table beside a raster only what is called as a variable of it is that variable.
    if not is_grid(polygons) or totals is not None and value not in _variables(polygons):
        return None
    raster = Path(polygons).name if isinstance(polygons, str | Path) else called(polygons)
    return (f"has the values of the cells of {raster}" if totals is None
            else f"is called as a variable of {raster}, whose cells are the areas")


def _units_of(value: object, polygons: object, totals: object) -> str | None:
    """The units that a raster states of the values of its cells, if they are of one."""
    for table in (totals, None if is_grid(polygons) else polygons):
        units = getattr(table, "attrs", {}).get(UNITS, {})
        if isinstance(value, str) and value in units:
            return units[value]
    if not is_grid(polygons) or totals is not None:     # a table says not what it was made from
        return None
    try:
        _, opened = opened_grid(polygons)
        if isinstance(opened, Path):
            with reading(opened, "a raster", ""), open_tiff(opened) as bands:
                bands = dict(bands_of(bands, opened.stem))
        else:
            bands = opened
        units = bands[value].attrs.get("units") if value in bands else None
    except InputError:          # as reading it will say
        return None
    return units or None


def _variables(raster: object) -> list[str]:
    """Names of a raster's variables or bands."""
    name, opened = opened_grid(raster)
    if not isinstance(opened, Path):
        return list(map(str, opened))
    with reading(opened, "a raster", "to download or write it again"), open_tiff(opened) as bands:
        return [band for band, _ in bands_of(bands, opened.stem)]
