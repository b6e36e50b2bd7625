"""What files that were dropped are taken for, and columns in them that only look like numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.checks import InputError
from workbench.ui.base.messages import sentence
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.columns import is_name, is_number_of_row

if TYPE_CHECKING:
    from pandas import DataFrame

    from workbench.ui.disaggregate.own import Files

_SHARE = 0.5            # of entries that are numbers, from which a text was meant to be one
_SHOWN = 3              # entries that are no numbers, of those that are named


def not_numbers(frame: DataFrame, name: str) -> tuple[str, ...]:
    """Columns of text that hold numbers for the most part, each with why it is text.

    Parameters
    ----------
    frame : DataFrame
        Without geometries.
    name : str
        Of its file.

    Returns
    -------
    tuple of str
        A sentence for each; names and numbers of areas, which differ in all rows, are none, nor are
        codes of what areas lie in, which may be the same in all rows.

    Examples
    --------
    >>> import pandas as pd
    >>> not_numbers(pd.DataFrame({"cases": ["4", "n/a", "7"], "name": list("abc")}), "a.gpkg")
    ("column 'cases' of a.gpkg is text, not numbers ('n/a' in row 1): correct it there",)
    """
    import pandas as pd

    from workbench.bagging.commas import comma_advice, punctuated

    said = []
    for column in frame.select_dtypes(exclude=["number", "bool", "datetime"]):
        texts = frame[column].dropna().astype(str).str.strip()
        numbers = pd.to_numeric(texts, errors="coerce").notna()
        all_or_one = texts.is_unique or (len(texts) > 1 and texts.nunique() == 1)
        meant = numbers | punctuated(texts)
        if is_number_of_row(str(column)) or not len(texts) or meant.mean() < _SHARE or (
                numbers.all() and all_or_one):
            continue
        wrong = texts[~meant]
        shown = [f"{text!r} in row {row}" for row, text in wrong.head(_SHOWN).items()]
        more = [f"{len(wrong) - _SHOWN} more"] if len(wrong) > _SHOWN else []
        said.append(labels.text_column(str(column), name, [*shown, *more], comma_advice(texts)))
    return tuple(said)


def not_names(texts: DataFrame, file: str) -> tuple[str, ...]:
    """Columns that look like the areas' names but do not tell them apart, each with the reason.

    Parameters
    ----------
    texts : DataFrame
        Columns of text, a row for each area.
    file : str
        They are from.

    Returns
    -------
    tuple of str
        A sentence for each. A column that rather groups the areas is none, unless it is called
        like a name and no other column tells the areas apart.

    Examples
    --------
    >>> import pandas as pd
    >>> not_names(pd.DataFrame({"name": ["Ambato", "Ambo", "Ambato"]}), "a.gpkg")
    ("column 'name' of a.gpkg cannot name the areas: 'Ambato' occurs 2 times",)
    """
    said, named = [], any(texts[column].is_unique for column in texts)
    for column in texts:
        given = texts[column]
        meant = given.nunique() >= _SHARE * len(given) or is_name(str(column)) and not named
        if given.is_unique or not meant:
            continue
        counts = given.value_counts()
        often = [labels.repeated(str(one), int(count)) for one, count in counts.items()
                 if count > 1]
        empty = int(given.isna().sum())
        more = len(often) - _SHOWN
        said.append(labels.no_names(str(column), file, [
            *often[:_SHOWN], *([labels.more_repeated(more)] if more > 0 else []),
            *([labels.unnamed(empty)] if empty else [])]))
    return tuple(said)


def layers_of(paths: list[Path]) -> dict[str, tuple[str, ...]]:
    """Rasters in each CSV of pixels, by the name of the file.

    Parameters
    ----------
    paths : list of Path
        As of `tables.is_grid`.
    """
    from workbench.geo.csv_grids import read_csv_grid

    return {path.name: tuple(map(str, read_csv_grid(path).data_vars)) for path in paths}


def require_numbers(files: Files) -> None:
    """Refuse areas of which nothing can be the totals.

    Parameters
    ----------
    files : Files

    Raises
    ------
    InputError
        With the columns that were meant, perhaps.
    """
    if files.polygons is not None and not files.numbers:
        raise InputError(" ".join([labels.no_numbers(files.polygons.name),
                                   *(f"{sentence(one)}." for one in files.texts)]))


def taken_as(files: Files, weight: str, layer: str = "") -> str:
    """What each file is taken for.

    Parameters
    ----------
    files : Files
    weight : str
        Name of the raster of the population, or empty.
    layer : str
        Which of its columns, if it is a CSV of pixels with several.
    """
    if files.polygons is None:
        return ""
    covariates = []
    for name in files.rasters:
        if name != weight:
            covariates.append(name)
        elif layer:
            covariates += [f"{one} of {name}" for one in files.layers[name] if one != layer]
    return labels.taken_as(files.polygons.name, files.table.path.name if files.table else "",
                           f"{layer} of {weight}" if layer else weight, covariates)


def options_of(files: Files, value: str, weight: str = "", name: str = "",
               population: str = "", key: tuple[str, str] | None = None,
               layer: str = "", read: Mapping[str, str] | None = None) -> tuple[str, dict]:
    """Dataset and dataset options of a `Spec` of these files.

    Parameters
    ----------
    files : Files
    value : str
        Column of the values.
    weight : str
        Name of the raster of the population; empty for area.
    name : str
        Column with the areas' names; empty for their numbers.
    population : str
        Column with the population of each area; empty for none.
    key : (str, str), optional
        Columns of the table and of the areas by which they are joined; the first of the table's
        keys by default.
    layer : str
        Column of the population, in a CSV of pixels that has several.
    read : mapping, optional
        Options by which the values are read, as of `kinds.options_of`; none for counts.
    """
    if files.polygons is None:
        return str(next(iter(files.rasters.values()))), {}
    found = {"polygons": str(files.polygons), "value": value, **(read or {})}
    covariates = [str(path) for name, path in files.rasters.items() if name != weight or layer]
    found |= {"covariates": covariates} if covariates else {}
    found |= {"weight": str(files.rasters[weight])} if weight else {}
    if layer:
        found |= {"weight_variable": layer}
        others = [one for file, layers in files.layers.items() for one in layers
                  if (file, one) != (weight, layer)]
        found |= {} if any(path.suffix == ".nc" for path in files.rasters.values()) else {
            "variable": others}
    found |= {"population": population} if population else {}
    found |= {"id": name} if name else {}
    if files.table is not None:
        join, id = key or files.table.keys[0][:2]
        found |= {"totals": str(files.table.path), "join": join, "id": id}
        found |= {"encoding": files.table.encoding} if files.table.encoding else {}
    return "polygons", found
