"""Ids of areas in a table and of polygons: as text, and written in two ways."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.checks import InputError


def as_text(id: object) -> str:
    """An id as text: whole numbers without a decimal point."""
    return str(int(id)) if isinstance(id, float) and id.is_integer() else str(id)


def plain(id: object) -> str:
    """An id of a table as text, without blanks about it."""
    return as_text(id).strip()


def refuse_two_ways(given: Sequence[str], areas: Sequence[str], of_given: str, of_areas: str,
                    column: str = "", column_of_areas: str = "") -> None:
    """Refuse ids without a partner that differ from an area's in leading zeros or capitals alone.

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
    bare = {_bare(area): area for area in areas}
    alike = [(id, bare[_bare(id)]) for id in given if _bare(id) in bare]
    if not alike:
        return
    turned = [(area, id) for id, area in alike]
    how = _padding(alike, column) or _padding(turned, column_of_areas)
    raise InputError(f"{len(alike)} ids are written in two ways (first: {alike[0][0]!r} "
                     f"{of_given}, {alike[0][1]!r} {of_areas}), as when leading zeros or capitals "
                     f"are lost; write them alike on both sides{how}")


def _padding(pairs: Sequence[tuple[str, str]], column: str) -> str:
    """What makes the first of each pair the second, if zeros in front do so for all of them."""
    widths = {len(long) for _, long in pairs}
    if not column or len(widths) > 1 or any(s.zfill(len(long)) != long for s, long in pairs):
        return ""
    width = widths.pop()
    return (f", e.g. {column}.astype(str).str.zfill({width}), or in QGIS lpad(COLUMN, {width}, "
            "'0')")


def _bare(id: str) -> str:
    return id.strip().casefold().removesuffix(".0").lstrip("0")
