"""Ids of areas in a table and of polygons: as text, and written in two ways."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from workbench.checks import InputError
from workbench.geo.wording import amount

#: What two ways of writing an id may differ in, and what does away with each.
_WAYS = {"the encoding of accents": lambda id: unicodedata.normalize("NFC", id),
         "blanks": lambda id: " ".join(id.split()),
         "capitals": str.casefold,
         "'.0' at the end": lambda id: id.removesuffix(".0"),
         "leading zeros": lambda id: id.lstrip("0")}


def as_text(id: object) -> str:
    """An id as text: whole numbers without a decimal point."""
    return str(int(id)) if isinstance(id, float) and id.is_integer() else str(id)


def plain(id: object) -> str:
    """An id of a table as text, without blanks about it."""
    return as_text(id).strip()


def bare(id: str, but: str = "") -> str:
    """An id without what is lost or added where it is typed again, to find the one it means.

    Parameters
    ----------
    id : str
    but : str
        Which of these differences to keep.

    Returns
    -------
    str
        In small letters, of one form of accents, without leading zeros, its words one blank apart.

    Examples
    --------
    >>> bare(" DISTRICT  01"), bare("District 01"), bare("0731.0")
    ('district 01', 'district 01', '731')
    """
    for what, without in _WAYS.items():
        id = id if what == but else without(id)
    return id


def differing(one: str, other: str) -> str:
    """In what two ids differ that `bare` makes the same.

    Parameters
    ----------
    one, other : str

    Returns
    -------
    str
        Listed, for a message.

    Examples
    --------
    >>> differing("DISTRICT  01", "District 01"), differing("01", "1")
    ('blanks and capitals', 'leading zeros')
    """
    said = [what for what in _WAYS if bare(one, what) != bare(other, what)]
    return " and ".join([", ".join(said[:-1])] * (len(said) > 1) + said[-1:])


def refuse_two_ways(given: Sequence[str], areas: Sequence[str], of_given: str, of_areas: str,
                    column: str = "", column_of_areas: str = "") -> None:
    """Refuse ids without a partner that differ from an area's in how they are written alone.

    Parameters
    ----------
    given, areas : sequence of str
        Ids on either side that the other side lacks.
    of_given, of_areas : str
        Where they are, for the message.
    column, column_of_areas : str
        Of either as Python names them, for what adds their zeros.

    Raises
    ------
    InputError
        With the first such pair; where zeros in front of one side's ids make all of them the
        other's, with how many digits.
    """
    meant = {bare(area): area for area in areas}
    alike = [(id, meant[bare(id)]) for id in given if bare(id) in meant]
    if not alike:
        return
    turned = [(area, id) for id, area in alike]
    how = _padding(alike, column) or _padding(turned, column_of_areas)
    raise InputError(f"{amount(len(alike), 'id', 'is')} written in two ways (first: "
                     f"{alike[0][0]!r} {of_given}, {alike[0][1]!r} {of_areas}), which differ in "
                     f"{differing(*alike[0])}; write them alike on both sides{how}")


def _padding(pairs: Sequence[tuple[str, str]], column: str) -> str:
    """What makes the first of each pair the second, if zeros in front do so for all of them."""
    widths = {len(long) for _, long in pairs}
    if not column or len(widths) > 1 or any(s.zfill(len(long)) != long for s, long in pairs):
        return ""
    width = widths.pop()
    return (f", e.g. {column}.astype(str).str.zfill({width}), or in QGIS lpad(COLUMN, {width}, "
            "'0')")
