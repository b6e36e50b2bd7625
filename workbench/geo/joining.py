"""A table of values joined to areas by id: what is read, and what has no partner."""

from __future__ import annotations

import re
import unicodedata
from os.path import commonprefix
from pathlib import Path

import numpy as np

from workbench.bagging.findings import part, refuse
from workbench.bagging.tables import read_table, require_columns
from workbench.checks import InputError, option, require
from workbench.geo.attributes import NOT_JOINED
from workbench.geo.ids import plain, refuse_two_ways
from workbench.geo.table_texts import time_column, with_decimal_points
from workbench.geo.treatments import CleaningOptions, Record
from workbench.geo.wording import amount

TABLE = "table"     # code of an error for which no value of a table of totals is known
_GUESSED = 3        # names without an area of which it is said what they are perhaps meant to be
_SLIPS = 2          # words of a name that may be misspelt
_LETTERS = 5        # of a word that may be misspelt: Mali is not Malawi


def joined(areas, totals: object, join: str | None, encoding: str | None,
           options: CleaningOptions, record: Record):
    """Areas with the columns of a table, row by row of equal id.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Indexed by id, as text.
    totals : DataFrame, str or Path
        One row per area; a CSV or Parquet file.
    join : str
        Column of the table with the areas' ids.
    encoding : str, optional
        Of a CSV file that is not UTF-8.
    options : CleaningOptions
        ``missing_value`` says what to do with areas without a row, ``empty`` with rows without an
        area.
    record : Record
        Receives what was joined, and what was left out.

    Returns
    -------
    geopandas.GeoDataFrame
        All areas. A column that both have is the table's. Of a check that found the table to be of
        no use the areas alone, with the reason in ``attrs``.

    Raises
    ------
    InputError
        If ids are missing or repeat, are written in two ways, or have no partner.
    """
    with part(TABLE, table_name(totals)):
        try:
            return _joined(areas, totals, join, encoding, options, record)
        except InputError as error:
            areas.attrs[NOT_JOINED] = str(error)
            raise
    return areas            # of a check, which has listed why


def _joined(areas, totals: object, join: str | None, encoding: str | None,
            options: CleaningOptions, record: Record):
    frame, name = table_with_ids(totals, join, encoding, record)
    ids = frame[join]
    refuse_repeated(frame, join, name, time_column(frame, join))
    key = areas.index
    if key.str.endswith(".0").all():        # whole numbers that a file holds as fractions
        key = key.str.removesuffix(".0")
    _partners(ids, key, name, options, record)
    columns = frame.set_index(join).reindex(key).set_axis(areas.index)
    found = int(key.isin(ids).sum())
    both = [c for c in columns if c in areas.columns and c != areas.geometry.name]
    if both:
        record.note(f"columns {', '.join(map(str, both))} were taken from {name}, not from the "
                    "polygons")
    require(areas.geometry.name not in columns, f"{name} has a column "
            f"{areas.geometry.name!r}, which is that of the outlines; rename it")
    record.note(f"{found} of {len(areas)} areas were joined to {name} by {join!r}")
    return areas.drop(columns=both).join(columns)


def table_with_ids(totals: object, join: str | None, encoding: str | None, record: Record):
    """A table whose column of ids is text as it was written, with leading zeros, and its name.

    Parameters
    ----------
    totals, join, encoding
        As of `joined`.
    record : Record
        Receives that decimal commas were read.

    Returns
    -------
    DataFrame
        No id is missing.
    str
        Name for messages.
    """
    require(join is not None, "name the column of the table that has the areas' ids: "
            + option("join", "COLUMN"))
    name = table_name(totals)
    frame = read_table(totals, text=[join], encoding=encoding)
    require_columns(frame, [join], name)
    frame = with_decimal_points(frame, totals, join, record, encoding)
    absent = frame[join].isna()
    rows = amount(int(absent.sum()), "row", "has", f"of {name}")
    require(not absent.any(), f"{rows} no id in column {join!r} (first: row "
            f"{np.flatnonzero(absent)[:1].tolist()}); fill or remove "
            f"{'it' if absent.sum() == 1 else 'them'}")
    return frame.assign(**{join: frame[join].map(plain)}), name


def table_name(totals: object) -> str:
    """What messages call a table of totals."""
    return Path(totals).name if isinstance(totals, str | Path) else "the table of totals"


def refuse_repeated(frame, id: str, name: str, time: str | None = None) -> None:
    """Refuse ids that have several rows in a table of this name, by periods of a column or not."""
    ids = frame[id]
    twice = ids[ids.duplicated()].unique()
    periods = "" if time is None else (f", or, as column {time!r} seems to tell periods, map all "
                                       f"of them by {option('time', time)}")
    require(len(twice) == 0, f"{amount(len(twice), 'id', 'has')} several rows in {name} (first: "
            f"{list(twice[:3])})" + made_one(frame, ids, f", one row per area{periods}"))


def made_one(frame, keys, rest: str = "") -> str:
    """What to do with rows of a table that are of the same: add them up, or remove copies.

    Parameters
    ----------
    frame : DataFrame
        The table.
    keys : Series
        What each row is of; some are there more than once.
    rest : str
        What follows "add them up".

    Returns
    -------
    str
        To be put behind what was found.
    """
    several = keys.duplicated(keep=False)
    copies = frame[several].astype(str).duplicated()
    if not copies.any():
        return f"; add them up{rest}"
    found = f"{int(copies.sum())} of these rows are copies" if copies.sum() > 1 else (
        "one of these rows is a copy")
    return (f", and {found} of another in every column; remove copies if they were entered twice, "
            "as adding them up would count the same twice; if each row is a part of its own, such "
            f"as one case or one age group, add them up{rest}")


def _partners(ids, areas, name: str, options: CleaningOptions, record: Record) -> None:
    """Refuse ids of a table without an area, and areas without a row, unless that is allowed."""
    theirs, ours = set(ids), set(areas)
    rowless = [a for a in areas if a not in theirs]
    homeless = [i for i in dict.fromkeys(ids) if i not in ours]
    if rowless and homeless:
        refuse_two_ways(homeless, rowless, f"in {name}", "of the polygons", f"table[{ids.name!r}]")
        require(len(rowless) < len(areas), f"no id of {name} is that of an area: it has "
                f"{homeless[:3]}, the polygons {rowless[:3]}; choose another column with "
                f"{option('join')}, or of the polygons with {option('id')}")
    one, alone = len(homeless) == 1, len(rowless) == 1
    found = amount(len(homeless), "id", "belongs", f"of {name}")
    if homeless and options.empty == "error":
        refuse(f"{found} to no area (first: {homeless[:3]}){_as_well(rowless)}",
               f"{_guessed(homeless, rowless)}correct {'it' if one else 'them'}, or pass "
               f"{option('empty', 'drop')} to leave {'its row' if one else 'these rows'} out",
               code="row-unknown", where=[name, *homeless], count=len(homeless))
    elif homeless:
        record.note(f"{found} to no area, {'its row was' if one else 'their rows were'} left out: "
                    f"{', '.join(homeless[:10])}")
    if rowless and options.missing_value == "error":
        refuse(f"{amount(len(rowless), 'area', 'has')} no row in {name} (first: {rowless[:3]})",
               f"add {'it' if alone else 'them'}, or pass {option('missing_value', 'drop')} to "
               f"leave {'this area' if alone else 'these areas'} out",
               code="row-missing", where=[name, *rowless], count=len(rowless))


def _as_well(rowless: list[str]) -> str:
    count = amount(len(rowless), "area", "has")
    return f", and {count} no row (first: {rowless[:3]})" if rowless else ""


def _guessed(homeless: list[str], rowless: list[str]) -> str:
    """Which areas without a row are perhaps meant by the first names without an area."""
    meant = {}
    for name in homeless[:_GUESSED]:
        close = [one for one in rowless if _misspelt(name, one)]
        if len(close) == 1:             # of two nobody knows which
            meant[name] = close[0]
    areas = list(meant.values())
    said = [f"{name!r} is perhaps {one!r}, which has no row" for name, one in meant.items()
            if areas.count(one) == 1]
    return f"{', '.join(said)}: " if said else ""


def _misspelt(name: str, other: str) -> bool:
    """Whether two names are the same but for a slip in one or two of their words.

    Numbers must be the same, and so must codes: another digit or letter is that of another area.
    """
    ours, theirs = (re.findall(r"[^\W_]+", _bare(one)) for one in (name, other))
    if len(ours) != len(theirs) or not any(map(str.isalpha, ours)):
        return False
    slips = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    numbered = any(map(str.isdigit, ours))
    return len(slips) <= _SLIPS and all(_slip(*pair, numbered) for pair in slips)


def _slip(one: str, other: str, numbered: bool) -> bool:
    """Whether a word is another with a double letter written once, or two letters exchanged.

    Beside an equal number also one with another letter, or with one too much or too few; else these
    are other names: Altenburg and Altenberg, Carlton and Charlton, Clark and Clarke. A letter that
    is double only at the end is none, either.
    """
    short, long = sorted((one, other), key=len)
    if (len(short) < _LETTERS or short[0] != long[0] or not (short + long).isalpha()
            or not set(short + long) - set("ivxlcdm")):         # a Roman number
        return False
    same = len(commonprefix((short, long)))
    left, more = short[same:], long[same:]
    if len(left) < len(more):
        return left == more[1:] and (numbered or bool(left) and more[0] == long[same - 1])
    if len(left) > 1 and left[:2] == more[1::-1]:
        return left[2:] == more[2:]
    return numbered and left[1:] == more[1:]


def _bare(name: str) -> str:
    """A name in small letters without accents."""
    return "".join(one for one in unicodedata.normalize("NFKD", name.casefold())
                   if not unicodedata.combining(one))
