"""Read polygons and make them fit for bagging: CRS, ids, valid shapes, usable values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from workbench import schema
from workbench.bagging.findings import STOPS, WARNING, counted, is_listing, refuse
from workbench.bagging.sanity import truth_values
from workbench.checks import choose, option, package, require
from workbench.checks.errors import NothingLeft
from workbench.geo.attributes import numbers_in, numeric_column, require_column
from workbench.geo.count_marks import marked_counts, named_marks
from workbench.geo.duplicates import refuse_copies, united
from workbench.geo.grid_areas import cells_of, is_grid
from workbench.geo.ids import as_text
from workbench.geo.shapes import repaired, usable_crs, without_crs
from workbench.geo.treatments import CleaningOptions, Record
from workbench.geo.vectors import open_polygons
from workbench.geo.wording import amount

_SUPPRESSED = ("where small counts were suppressed these are the low ones, and rates of the map "
               "without them are too high")


def read_polygons(
    polygons: object, record: Record, *, crs: str | None = None, layer: str | None = None,
    columns: Sequence[str] = (), nodata: float | Sequence[float] | None = None,
    marks: str = "error",
):
    """Read polygons from a path or a GeoDataFrame, and make their shapes fit for bagging.

    Parameters
    ----------
    polygons : geopandas.GeoDataFrame, str, Path, xr.DataArray or xr.Dataset
        The areas; of a raster they are its cells, see `workbench.grid_areas`.
    record : Record
        Receives what was done.
    crs : str, optional
        The CRS of polygons that do not state one.
    layer : str, optional
        The layer of a file that has several.
    columns : sequence of str
        Columns that are needed: variables, where the areas are cells of a raster.
    nodata, marks
        Of such a raster, as of `workbench.geo.rasters.read_rasters`.

    Returns
    -------
    geopandas.GeoDataFrame
        A copy with a CRS and valid polygons.

    Raises
    ------
    InputError
        If there is no such file, it cannot be read, has no polygons or no CRS, or coordinates
        are missing or contradict the CRS.
    """
    geopandas = package("geopandas", extra="geo")
    if is_grid(polygons):
        require(layer is None, f"{option('layer')} chooses among layers of polygons; of a raster "
                f"{option('value')} names the variable")
        areas = cells_of(polygons, record, columns, crs, nodata, marks)
    elif isinstance(polygons, str | Path):
        areas = open_polygons(polygons, record, layer)
    else:
        require(isinstance(polygons, geopandas.GeoDataFrame),
                f"expected a GeoDataFrame or a path, got {type(polygons).__name__}")
        require(layer is None, "layer chooses among the layers of a file; these polygons are a "
                               "GeoDataFrame already")
        areas = polygons.copy()
    require(len(areas) > 0, "there are no polygons")
    if areas.crs is None:
        if crs is None:
            crs = without_crs("the polygons have", "polygon_crs", "polygons", areas.total_bounds,
                              None)
        areas = areas.set_crs(usable_crs(crs, "polygon_crs"))
        record.note(f"the polygons have no CRS: {crs} as given was assumed", code="crs-missing",
                    where=["polygons"])
    return repaired(areas, record)


def read_areas(
    polygons: object, id: str | None, value: str | None, treatments: CleaningOptions,
    record: Record, crs: str | None = None, layer: str | None = None,
    added: tuple[str, ...] = (), what: str = "area",
    nodata: float | Sequence[float] | None = None, columns: Sequence[str] = (),
):
    """Read polygons, index them by their id as a string, and unite those that share one if asked.

    Parameters
    ----------
    polygons, crs, layer
        As in `read_polygons`.
    id : str or None
        Column with the ids; the index if None.
    value : str or None
        Column whose entries add up where polygons are united.
    treatments : CleaningOptions
        ``duplicates`` says what to do with an id of several polygons, ``overlap`` with copies of
        one outline under several ids.
    record : Record
        Receives what was done.
    added : tuple of str
        Further columns whose entries add up.
    what : str
        What messages call one of them.
    nodata : float or sequence of float, optional
        Marks of missing values, where the areas are cells of a raster.
    columns : sequence of str
        All columns that are needed, where they are more than these: of such a raster no others
        are read.

    Returns
    -------
    geopandas.GeoDataFrame
        One row per id.

    Raises
    ------
    InputError
        As `read_polygons`, and if ids are missing, or ids or outlines repeat and that was not
        allowed.
    """
    areas = read_polygons(polygons, record, crs=crs, layer=layer, nodata=nodata,
                          columns=columns or [one for one in (value, *added, id) if one],
                          marks=treatments.marks)
    for one in {value, *added} & set(areas.columns):
        require_column(areas, one, "value")
    if id is not None:
        require_column(areas, id, "id")
        areas = areas.set_index(areas[id])
    require(areas.index.nlevels == 1, f"the {what}s have an index of {areas.index.nlevels} levels, "
            f"of which none is their name; name a column by {option('id', 'COLUMN')} after "
            "reset_index()")
    absent = np.flatnonzero(areas.index.isna())
    if absent.size:
        refuse(f"{amount(absent.size, what, 'has')} no id", f"fill column {id!r} in these rows, "
               "or remove them", code="id-missing", where=[f"row {row}" for row in absent],
               count=absent.size)
    areas.index = [f"row {row}" if row in absent else as_text(name)
                   for row, name in enumerate(areas.index)]
    counted(areas=len(areas))
    if is_listing() and value is not None and value in areas:
        counted(value=np.nansum(numbers_in(areas[value])))
    areas = united(areas, value, treatments.duplicates, record, added)
    refuse_copies(areas, value, treatments.overlap, record)
    areas.index.name = "bag"
    return areas


def usable_values(
    values: np.ndarray, labels: np.ndarray, kind: str, treatments: CleaningOptions, record: Record,
    what: str = "area", again: str = "",
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values to use and the mask of the entries that are kept.

    Parameters
    ----------
    values, labels : np.ndarray
        Value and label of each area.
    kind : {"count", "continuous"}
        What the values are.
    treatments : CleaningOptions
        ``missing_value`` and ``fractional`` apply.
    record : Record
        Receives what was done.
    what : str
        What messages call one of them.
    again : str
        How those without a value can be mapped all the same, to be said where they are dropped.

    Returns
    -------
    values : np.ndarray
        The values, rounded if that was asked for.
    kept : np.ndarray
        False for areas to be dropped.

    Raises
    ------
    InputError
        For counts that are negative, and for fractional counts or missing values under "error". A
        count such as -9999, which looks like a mark of missing values, is a missing value.
    """
    choose("kind", kind, schema.KINDS)
    values = np.asarray(values, dtype=float)
    kept = np.isfinite(values)
    for gone, code, of, fix in (
            (np.isnan(values), "value-missing", ("no value", "without a value"), ""),
            (np.isinf(values), "value-infinite", ("an infinite value", "with an infinite value"),
             "correct them, as where something was divided by zero, or ")):
        if not gone.any():
            continue
        count, first = int(gone.sum()), labels[gone][:3].tolist()
        about = {"code": code, "where": labels[gone], "count": count}
        suppressed = f"; {_SUPPRESSED}" if kind == "count" and not fix else ""
        if treatments.missing_value == "error":
            refuse(f"{amount(count, what, 'has')} {of[0]} (first: {first})", f"{fix}pass "
                   f"{option('missing_value', 'drop')} to leave {'it' if count == 1 else 'them'} "
                   "out", **about, effect=STOPS + suppressed)
        if not kept.any():
            raise NothingLeft(f"none of the {kept.size} {what}s has a value; there is nothing to "
                              "learn from: is this the right column?")
        if treatments.missing_value == "drop":
            record.note(f"{amount(count, what, 'was', of[1])} dropped{again and '; '}{again}",
                        severity=WARNING, **about, effect=f"they are not on the map{suppressed}",
                        fix="fill in their values")
    if kind == "continuous":
        return values, kept
    marked = marked_counts(values, labels, kept)
    kept = kept & ~marked
    negative = kept & (values < 0)
    instead = (f"say {option('aggregation', 'mean')} if values are averages, as temperatures are, "
               f"{option('kind', 'continuous')} if they are sums")
    if marked.any():
        count, marks = int(marked.sum()), named_marks(values[marked])
        about = {"code": "value-negative", "where": labels[marked], "count": count}
        if treatments.missing_value == "error":
            like, them = ("looks like a mark", "it") if count == 1 else ("look like marks", "them")
            refuse(f"{amount(count, 'count', 'is')} {marks} (first: {what} {labels[marked][0]!r}), "
                   f"which {like} of missing values", f"pass {option('missing_value', 'drop')} to "
                   f"leave {them} out; or correct {them}; or {instead}", **about,
                   effect=f"{STOPS}; {_SUPPRESSED}")
        if not kept.any():
            raise NothingLeft(f"none of the {kept.size} {what}s has a count that is no mark of "
                              f"missing values, as {marks} looks like; there is nothing to learn "
                              "from: is this the right column?")
        if treatments.missing_value == "drop":
            of = f"with the mark{'s' if ' and ' in marks else ''} {marks}"
            record.note(f"{amount(count, what, 'was', of)} dropped as missing"
                        f"{again and '; '}{again}", severity=WARNING, **about,
                        effect=f"they are not on the map; {_SUPPRESSED}",
                        fix="fill in their values")
    if negative.any():
        refuse(f"{amount(int(negative.sum()), 'count', 'is')} negative (first: {what} "
               f"{labels[negative][0]!r} with {values[negative][0]:g})",
               f"a count is zero or more: correct them, or {instead}",
               code="value-negative", where=labels[negative], count=int(negative.sum()))
        kept &= ~negative
    fractional = kept & (values != np.round(values))
    if fractional.any():
        count, first = int(fractional.sum()), labels[fractional][0]
        about = {"code": "value-fractional", "where": labels[fractional], "count": count}
        if treatments.fractional == "error":
            refuse(f"{amount(count, 'count', 'is')} not whole (first: {what} {first!r} with "
                   f"{values[fractional][0]:g})", f"pass {option('fractional', 'keep', 'round')}",
                   **about)
        elif treatments.fractional == "round":
            values = np.where(kept, np.round(values), values)
            record.note(f"{amount(count, 'fractional count', 'was')} rounded", **about)
        else:
            as_is = "as it is" if count == 1 else "as they are"
            record.note(f"{amount(count, 'fractional count', 'was')} kept {as_is}", **about,
                        fix=f"pass {option('aggregation', 'mean')} if they are means or rates, "
                            f"{option('fractional', 'round')} if they are counts")
    return values, kept


def value_column(
    areas, name: str, kind: str, treatments: CleaningOptions, record: Record, what: str = "area",
    again: str = "",
) -> tuple[np.ndarray, np.ndarray]:
    """The usable values of a column, and the mask of the areas that are kept: `usable_values`.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Indexed by id.
    name : str
        The column.
    kind, treatments, record, what, again
        As of `usable_values`.

    Returns
    -------
    values : array (area,)
        Numbers.
    kept : bool array (area,)
        False for areas to be dropped.
    """
    numbers = numeric_column(areas, name, "value")
    if areas[name].map(lambda entry: isinstance(entry, bool | np.bool_)).any():
        record.suspect(replace(truth_values(f"column {name!r} holds"), where=(name,)))
    return usable_values(numbers, areas.index.to_numpy(), kind, treatments, record, what,
                         again)
