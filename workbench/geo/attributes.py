"""Columns of polygons: that they are there, as numbers, as text."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workbench.bagging.findings import is_listing, refuse
from workbench.checks import InputError, meant, package, require

_THOUSANDS = r"-?\d{1,3}([,.'\s]\d{3})+"      # 12,345 and the like


def label_columns(areas, labels: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Return label coordinates from columns, e.g. {"region": "Name_1"}.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Indexed by id.
    labels : mapping of coordinate to column
        Which.

    Returns
    -------
    dict of str to array (area,)
        Text, by coordinate.
    """
    for coordinate, column in labels.items():
        require_column(areas, column, f"label {coordinate!r}")
    return {coordinate: areas[column].astype(str).to_numpy(dtype=str)
            for coordinate, column in labels.items()}


def numeric_column(areas, name: str, role: str) -> np.ndarray:
    """Return a column as floats.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Indexed by id.
    name, role : str
        The column, and what it is for.

    Returns
    -------
    array (area,)
        Numbers.

    Raises
    ------
    InputError
        If there is no such column or it does not hold numbers.
    """
    require_column(areas, name, role)
    try:
        return areas[name].to_numpy(dtype=float)
    except (TypeError, ValueError) as error:
        text = areas[name].astype(str)
        split = text[text.str.fullmatch(_THOUSANDS)]
        hint = "" if split.empty else (
            f"; {split.iloc[0]!r} and {len(split) - 1} others have thousands separators: remove "
            "them")
        what, numbers = f"{role} column {name!r} does not hold numbers: {error}", None
        if is_listing():
            numbers = numbers_in(areas[name])
            wrong = np.isnan(numbers) & areas[name].notna().to_numpy()
            refuse(what, hint.removeprefix("; ") or "correct these entries in the file",
                   code="not-numbers", where=areas.index[wrong], count=int(wrong.sum()))
            return numbers
        raise InputError(f"{what}{hint}") from error


def numbers_in(column) -> np.ndarray:
    """A column as floats; NaN for what is no number."""
    texts = column.astype(str) if column.dtype == object else column
    return package("pandas", extra="geo").to_numeric(texts, errors="coerce").to_numpy(dtype=float)


def require_column(areas, name: str, role: str) -> None:
    """Refuse a column that the areas lack, naming those that they have, or have several times."""
    known = [c for c in areas.columns if c != areas.geometry.name]
    require(name in areas, f"the polygons have no column {name!r} for the {role}; "
                           f"{meant([name], known)}they have {known}")
    times = int((areas.columns == name).sum())
    require(times == 1, f"the polygons have {times} columns {name!r}, and one is needed for the "
                        f"{role}; rename or remove the others")
