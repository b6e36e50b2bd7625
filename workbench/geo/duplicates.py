"""Polygons that occur twice: under one id, or as copies of one outline under several ids."""

from __future__ import annotations

import numpy as np

from workbench.bagging.findings import WARNING, refuse
from workbench.checks import option, package, require
from workbench.geo.treatments import Record
from workbench.geo.wording import amount


def united(areas, value: str | None, duplicates: str, record: Record,
           added: tuple[str, ...] = ()):
    """Unite the polygons that share an id, so that no count is taken twice unsaid.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Indexed by id.
    value : str or None
        Column whose entries add up, but for those of exact copies (same id, outline and value).
    duplicates : {"error", "merge", "once"}
        As of `CleaningOptions`.
    record : Record
        Receives the totals before and after.
    added : tuple of str
        Further columns whose entries add up.

    Returns
    -------
    geopandas.GeoDataFrame
        One row per id; a value that one part of an id lacks is missing for the whole.

    Raises
    ------
    InputError
        If ids repeat and that was not allowed, or, under "once", their values differ.
    """
    repeated = areas.index[areas.index.duplicated()].unique()
    if not len(repeated):
        return areas
    valued = value is not None and value in areas
    keys = {"id": areas.index, "outline": _outlines(areas)}
    keys |= {"value": areas[value].to_numpy()} if valued else {}
    copies = package("pandas", extra="geo").DataFrame(keys).duplicated().to_numpy()
    rest = areas[~copies]
    parts = rest[rest.index.duplicated(keep=False)]
    different = parts.groupby(level=0, sort=False)[value].nunique(dropna=False) if valued else None
    carried = _carried(parts, different, value) if valued else ""
    about = {"code": "duplicate-id", "where": repeated, "count": len(repeated)}
    if duplicates == "error":
        refuse(
            f"{amount(len(repeated), 'id', 'belongs')} to several polygons (first: "
            f"{repeated[:3].tolist()})"
            f"{_copied(areas, value, copies)}{carried}", f"pass {option('duplicates', 'merge')} to "
            f"unite them and add their values{', copies counted once' if copies.any() else ''}, or "
            "another id", **about)
    elif copies.any():
        record.note("exact copies of polygons were left out" + _copied(areas, value, copies),
                    code="duplicate-id", where=areas.index[copies], count=int(copies.sum()),
                    severity=WARNING)
    if duplicates == "once" and valued:
        odd = different.index[different > 1]
        require(len(odd) == 0, f"the polygons of {amount(len(odd), 'id')} have different values "
                f"(first: {odd[:3].tolist()}), so none is that of the whole area; pass "
                f"{option('duplicates', 'merge')} to add them")
    if parts.empty:
        return rest
    how = "first" if duplicates == "once" else _sum
    rules = {c: (how if c == value or c in added else "first")
             for c in areas.columns if c != areas.geometry.name}
    whole = rest.dissolve(by=rest.index, aggfunc=rules, sort=False)
    ids = parts.index.unique()
    told = "the value of each taken once" if duplicates == "once" else "values added"
    if duplicates != "error":
        record.note(f"polygons sharing an id were united, {told}: {amount(len(ids), 'id')}"
                    f"{_before_and_after(parts, whole.loc[ids], value)}"
                    f"{carried if duplicates == 'merge' else ''}",
                    **about, severity=WARNING if duplicates == "merge" and carried else "note")
    return whole


def refuse_copies(areas, value: str | None, overlap: str, record: Record) -> None:
    """Refuse outlines that occur several times under different ids, unless overlaps are kept.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Indexed by id.
    value : str or None
        Column whose total with and without the copies is reported.
    overlap : str
        As of `CleaningOptions`: under "keep" copies are recorded, else refused.
    record : Record
        Receives the totals.

    Raises
    ------
    InputError
        If there are copies and ``overlap`` is not "keep".
    """
    outlines = _outlines(areas)
    first: dict[bytes, int] = {}
    copies = [(first[o], i) for i, o in enumerate(outlines) if first.setdefault(o, i) != i]
    if not copies:
        return
    ids = areas.index
    pairs = ", ".join(f"{ids[b]} of {ids[a]}" for a, b in copies[:3])
    one = len(copies) == 1
    told = (f"{amount(len(copies), 'polygon', 'is')} {'an exact copy' if one else 'exact copies'} "
            f"of another ({pairs})")
    told += _totals(areas, value, [b for _, b in copies])
    about = {"code": "copied-outline", "where": [ids[b] for _, b in copies],
             "count": len(copies)}
    if overlap != "keep":
        refuse(told, "remove one of each pair, so that nothing is counted twice, or pass "
               f"{option('overlap', 'keep')} if they are surveys of their own", **about)
    else:
        record.note(f"{told}: all were kept", **about)


def _outlines(areas) -> np.ndarray:
    """Outlines as bytes that are equal where the shapes are."""
    shapely = package("shapely", extra="geo")
    return shapely.to_wkb(shapely.normalize(areas.geometry.to_numpy()))


def _sum(values):
    return values.sum(skipna=False)


def _total(values) -> float | None:
    try:
        return float(np.nansum(values.to_numpy(dtype=float)))
    except (TypeError, ValueError):
        return None


def _totals(areas, value: str | None, copies: object) -> str:
    """Total of a column with and without copies, in words; nothing if it holds no numbers."""
    total = None if value is None or value not in areas else _total(areas[value])
    if total is None:
        return ""
    without = _total(areas[value].iloc[np.delete(np.arange(len(areas)), copies)])
    return f"; the total of {value!r} is {total:,.6g} with them and {without:,.6g} without"


def _copied(areas, value: str | None, copies: np.ndarray) -> str:
    if not copies.any():
        return ""
    found = "an exact copy" if copies.sum() == 1 else "exact copies"
    return (f"; {amount(int(copies.sum()), 'row', 'is')} {found} of another (same id and outline"
            f"{'' if value is None else ', same value'})"
            f"{_totals(areas, value, np.flatnonzero(copies))}")


def _carried(parts, different, value: str) -> str:
    """Warning of ids whose polygons all have one value, as those of a split area do."""
    first = parts.groupby(level=0, sort=False)[value].first()
    ids = int(((different == 1) & first.notna() & (first != 0)).sum())
    return "" if not ids else (
        f"; the polygons of {amount(ids, 'id')} all have the same value: if that is the total of "
        f"the whole area, {option('duplicates', 'once')} counts it once")


def _before_and_after(parts, whole, value: str | None) -> str:
    if value is None or value not in parts or _total(parts[value]) is None:
        return ""
    return (f" ({len(parts)} polygons with values adding up to {_total(parts[value]):,.6g} before "
            f"and {_total(whole[value]):,.6g} after)")
