"""CSV files beside areas: totals joined by names that both have, or grids of pixels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.checks import InputError, require
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.columns import is_name, is_number_of_row, totals_first
from workbench.ui.disaggregate.roles import not_numbers
from workbench.ui.disaggregate.surveys import surveys_in
from workbench.ui.disaggregate.uploads import bare

if TYPE_CHECKING:
    from geopandas import GeoDataFrame
    from pandas import DataFrame

TABLES = (".csv",)
_LEAST = 0.5            # share of the areas, from which two columns are a key


@dataclass(frozen=True)
class Table:
    """A CSV of totals, a row for each area.

    Parameters
    ----------
    path : Path
    columns : tuple of str
        Columns of numbers.
    keys : tuple of (str, str, int)
        Columns of the table and of the areas that have the same entries, and in how many areas;
        those of most areas first.
    encoding : str
        Empty for UTF-8.
    texts : tuple of str
        What is said of columns that only look like numbers.
    surveys : Mapping of str to str
        Of `surveys.surveys_in`.
    """

    path: Path
    columns: tuple[str, ...]
    keys: tuple[tuple[str, str, int], ...]
    encoding: str = ""
    texts: tuple[str, ...] = ()
    surveys: Mapping[str, str] = field(default_factory=dict)


def is_grid(path: Path, most: float) -> bool:
    """Whether a CSV holds pixels of a regular grid, as covariates and populations may be given.

    Parameters
    ----------
    path : Path
    most : float
        Megabytes that the grid may have.

    Raises
    ------
    InputError
        If it would have more.
    """
    from workbench.geo.csv_grids import axis_column, read_csv_grid

    frame, _ = _read(path)
    try:
        x, y = (axis_column(frame, axis, path.name) for axis in ("x", "y"))
    except InputError:
        return False
    size = frame[x].nunique() * frame[y].nunique() * 8e-6 * max(1, len(frame.columns) - 2)
    if frame[x].nunique() * frame[y].nunique() > 100 * len(frame):
        return False
    require(size <= most, f"{path.name} would take {size:,.0f} MB as a grid, more than {most:g}; "
            "use the command line, which has no such limit")
    try:
        read_csv_grid(path)
    except InputError:
        return False
    return True


def table_of(path: Path, areas: GeoDataFrame) -> Table:
    """Look at a CSV of totals: its numbers, and by which columns it joins the areas.

    Parameters
    ----------
    path : Path
    areas : geopandas.GeoDataFrame

    Raises
    ------
    InputError
        If it cannot be read, has no numbers, or no column names the areas.
    """
    from workbench.bagging.tables import read_table

    frame, encoding = _read(path)
    numbers = tuple(str(name) for name in frame.select_dtypes("number"))
    texts = not_numbers(frame, path.name)
    require(bool(numbers), f"{path.name} has no column of numbers; it has "
            f"{', '.join(map(str, frame.columns))}; "
            f"{'; '.join(texts) or 'add one with the values of the areas'}")
    own = areas.drop(columns=areas.geometry.name)
    candidates = {str(name): _texts(own[name]) for name in own if own[name].is_unique}
    written = read_table(path, text=frame.columns, encoding=encoding or None)   # 01001 stays
    keys = []
    for name, other in product(frame, candidates):
        shared = len(_texts(written[name]) & candidates[other])
        if shared >= _LEAST * len(areas):
            keys.append((str(name), other, shared))
    named = ([key for key in keys if other_than_a_number(key[1], own)]
             or [key for key in keys if _same(key, len(areas))])
    if not named:       # numbers may be alike by chance, as ranks and rates are
        _refuse_two_ways(path.name, written[[one for one in frame if _may_name(one, frame)]], own[[
            one for one in candidates if other_than_a_number(one, own)]])
    keys = named or keys
    if not keys:
        _refuse_two_ways(path.name, written, own[list(candidates)])
    require(bool(keys), f"no column of {path.name} ({', '.join(map(str, frame.columns))}) has the "
            f"names or numbers of the areas, which are in {', '.join(candidates) or 'no column'}; "
            "write these into a column of the table, one row for each area")
    return Table(path, numbers, tuple(sorted(keys, key=lambda key: -key[2])), encoding,
                 texts, surveys_in(frame))


def _refuse_two_ways(file: str, table: DataFrame, areas: DataFrame) -> None:
    """Refuse names of areas that a table writes otherwise: which of them are meant is a guess."""
    from workbench.geo import ids

    for name, other in product(table, areas):
        ours = {ids.bare(one): one for one in _texts(areas[other])}
        alike = [(one, ours[ids.bare(one)]) for one in _texts(table[name])
                 if ids.bare(one) in ours]
        if len({mine for _, mine in alike}) < _LEAST * len(areas):
            continue
        theirs, mine = min(pair for pair in alike if pair[0] != pair[1])
        raise InputError(
            f"column {str(name)!r} of {file} has the areas' names, but writes "
            f"{sum(one != another for one, another in alike)} of them otherwise: {theirs!r} in the "
            f"table, {mine!r} in column {other!r} of the areas, which differ in "
            f"{ids.differing(theirs, mine)}; write them alike, in the table or in the file of the "
            "areas")


def _same(key: tuple[str, str, int], areas: int) -> bool:
    """Whether a key is one column of both files, of all areas: numbers that are no chance."""
    return key[0].lower() == key[1].lower() and key[2] == areas


def _may_name(column: object, table: DataFrame) -> bool:
    """Whether a column of a table is text, or numbers areas by its name."""
    return table[column].dtype.kind not in "iuf" or is_number_of_row(str(column))


def other_than_a_number(name: str, areas: DataFrame) -> bool:
    """Whether a column of areas is text, or numbers them: else counts may be alike by chance.

    Parameters
    ----------
    name : str
    areas : DataFrame
    """
    return areas[name].dtype.kind not in "iuf" or is_number_of_row(name)


def alone(path: Path) -> str:
    """Why a CSV without areas is not taken, and what to drop with it.

    Parameters
    ----------
    path : Path

    Returns
    -------
    str
        Names the column that probably has the areas' names; or of a table of points the command
        that maps these.
    """
    from workbench.geo.csv_grids import axis_column

    frame, _ = _read(path)
    try:
        axes = [axis_column(frame, axis, path.name) for axis in ("x", "y")]
    except InputError:
        axes = []
    numbers = [str(one) for one in frame.select_dtypes("number") if str(one) not in axes]
    value = next(iter(totals_first(numbers)), "COLUMN")
    if axes:
        return labels.points_alone(path.name, axes, value, surveys_in(frame).get(value, ""))
    names = [str(one) for one in frame if frame[one].is_unique and (
        str(one) not in numbers or is_number_of_row(str(one)) or is_name(str(one)))]
    return labels.table_alone(path.name, [str(one) for one in frame][:6],
                              next(iter(names), ""), value,
                              surveys_in(frame).get(value, ""))


def _read(path: Path) -> tuple[DataFrame, str]:
    from workbench.bagging.tables import read_table

    content = path.read_bytes()
    require(bool(content.strip()), f"{path.name} is empty; save the table again, as CSV with the "
            "names of its columns in the first line")
    require(b"\0" not in content, f"{path.name} cannot be read: it is no text, as a CSV is; save "
            "the table as CSV, UTF-8")
    try:
        content.decode("utf-8")
        encoding = ""
    except UnicodeDecodeError:
        encoding = "latin-1"
    try:
        return read_table(path, encoding=encoding or None), encoding
    except InputError as error:
        why = str(error).partition("; try to ")[0].rpartition(" as a CSV table: ")[2]
        raise InputError(f"{path.name} cannot be read as a table: {bare(why, path.parent)}; save "
                         "it again as CSV, UTF-8, with commas between the columns") from error


def _texts(column) -> set[str]:
    """Entries as `workbench.bag_polygons` compares them."""
    return {text.removesuffix(".0") for text in column.dropna().astype(str)}
