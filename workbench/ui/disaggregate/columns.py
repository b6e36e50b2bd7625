"""What columns and files are for, guessed by their names: totals, population, areas' names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

#: In names of a population, and of totals, in several languages.
PEOPLE = ("pop", "people", "person", "weight", "exposure", "inhabitant", "resident", "einwohner",
          "bevoelkerung", "bevölkerung", "habit", "poblac", "abitant", "ludnosc", "inwoner",
          "befolkning")
COUNTS = ("case", "count", "death", "total", "event", "value", "positive", "incident", "faelle",
          "fälle", "tote", "anzahl", "caso", "muerte", "defuncion", "cas", "deces", "décès",
          "nombre", "decess", "obito", "óbito")
_NUMBERS = ("fid", "id", "gid", "ogc_fid", "objectid", "ags", "ars", "geoid", "code", "index")
_NAMES = ("name", "nom", "namn", "navn", "label", "gemeinde", "kreis", "district", "municip",
          "commune", "comune", "county")
#: Words in names of what stands beside a column: of standard errors, and of numbers tested.
#: A margin of error (moe) is another number, and a standard deviation that of individuals.
_BESIDE = {"standard_error": ("se", "stderr", "error"),
           "trials": ("tested", "trials", "examined", "sampled", "sample", "n", "size", "tests")}
_STANDARD = {"standard", "std"}
_SHAPES = ("area", "shape_area", "shape_leng", "shape_length", "perimeter", "km2", "sqkm")


def likely(names: Iterable[str]) -> list[str]:
    """Names of files or columns that are called like a population, in their order.

    Parameters
    ----------
    names : iterable of str

    Examples
    --------
    >>> likely(["height.tif", "einwohner", "POP_2020"])
    ['einwohner', 'POP_2020']
    """
    return [name for name in names if any(word in name.lower() for word in PEOPLE)]


def is_number_of_row(name: str) -> bool:
    """Whether a column only numbers the areas, or what they lie in, or measures their outlines.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> [is_number_of_row(name) for name in ("ID_1", "Code_2", "fid", "shape_area", "incidence")]
    [True, True, True, True, False]
    """
    return re.sub(r"[_ .-]?\d$", "", name.lower()) in _NUMBERS or name.lower() in _SHAPES


def is_name(column: str) -> bool:
    """Whether a column is called like names of areas, or as GADM and others call these.

    Parameters
    ----------
    column : str

    Examples
    --------
    >>> is_name("NAME_2"), is_name("gemeinde"), is_name("region")
    (True, True, False)
    """
    return any(word in column.lower() for word in _NAMES)


def beside(names: Iterable[str], option: str, column: str) -> list[str]:
    """Columns that are called like standard errors, or like how many were tested.

    Parameters
    ----------
    names : iterable of str
    option : {"standard_error", "trials", ""}
    column : str
        What they stand beside: standard errors that are called after another column are not its.

    Examples
    --------
    >>> beside(["income_se", "age_se", "tested"], "standard_error", "mean_income")
    ['income_se']
    """
    words, own = set(_BESIDE.get(option, ())), words_in(column)
    return [name for name in names if words & words_in(name) and (
        option == "trials" or own & words_in(name) or not words_in(name) - words - _STANDARD)]


def words_in(name: str) -> set[str]:
    """Words that a column's name is made of, in small letters.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> sorted(words_in("RatePer1000_se"))
    ['per', 'rate', 'se']
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return set(re.split(r"[^a-zà-ÿ]+", parted)) - {""}


def totals_first(columns: Sequence[str]) -> list[str]:
    """Columns of numbers with those first that are likely to be the totals.

    Parameters
    ----------
    columns : sequence of str

    Examples
    --------
    >>> totals_first(["fid", "einwohner", "income", "faelle"])
    ['faelle', 'income', 'einwohner', 'fid']
    """
    people = set(likely(columns))

    def order(name: str) -> int:
        if is_number_of_row(name):
            return 3
        if name in people:
            return 2
        return 0 if any(word in name.lower() for word in COUNTS) else 1

    return sorted(columns, key=order)
