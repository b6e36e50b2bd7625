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
#: Last words of names of what only numbers areas, such as STATE_FIPS, AreaID and IDnum0.
_ID_WORDS = {"id", "ids", "fid", "gid", "oid", "objectid", "polyid", "areaid", "idnum", "fips",
             "fipsno", "geoid", "geocode", "code", "codes"}
#: Words in names of what is no total.
MEANS = frozenset(
    "mean means avg average rate rates median ratio share percent percentage pct proportion "
    "prevalence incidence temperature temp density mittel mittelwert quote anteil taux moyenne "
    "tasa promedio media".split())
_DBF = 10               # letters of a column's name that a shapefile keeps
#: Last words, and whole names, of where an area is.
_PLACE_WORDS = {"centroid", "longitude", "latitude", "lon", "lat", "lng", "easting", "northing"}
_PLACES = {"x", "y", "xcoord", "ycoord", "x_coord", "y_coord", "coord_x", "coord_y"}
_NAMES = ("name", "nom", "namn", "navn", "label", "gemeinde", "kreis", "district", "municip",
          "commune", "comune", "county")
#: Words in names of what stands beside a column: of standard errors, and of numbers tested.
#: A margin of error (moe) is another number, and a standard deviation that of individuals.
_BESIDE = {"standard_error": ("se", "stderr", "error"),
           "trials": ("tested", "trials", "examined", "sampled", "sample", "n", "size", "tests")}
_STANDARD = {"standard", "std"}
#: Words in names of positives and of those tested, in several languages: such as say so alone, and
#: such as say so beside one of the others that does, of those tested only as a whole name.
_POSITIVES = ({"positive", "positives", "pos", "npos", "positif", "positifs", "positivo",
               "positivos", "infected", "seropositive", "seropos", "successes"},
              {"case", "cases", "event", "events", "cas", "caso", "casos", "faelle", "fälle",
               "diseased", "sick", "ill"})
_TRIALS = ({"tested", "ntested", "trial", "trials", "examined", "nexamined", "screened",
            "examinees", "testes", "testés", "examinés", "examines", "examinados", "testados",
            "getestet", "untersucht"},
           {"n", "sample", "samples", "sampled", "test", "tests", "exam", "exams", "surveyed",
            "participants", "denominator", "denom"})
#: Words beside these in whole names, such as sample_size.
_NUMBER_OF = {"size", "number", "num", "no", "nb", "of", "total"}
#: Beside "pos" they say that it is a position.
_AXES = {"x", "y", "z", *_PLACE_WORDS}
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
    >>> [is_number_of_row(name) for name in ("STATE_FIPS", "AreaID", "IDnum0", "covid")]
    [True, True, True, False]
    >>> [is_number_of_row(name) for name in ("STATE_", "COLUMBUS_I", "cases_i")]
    [True, True, False]
    """
    if name.endswith("_") or len(name) == _DBF and name.lower().endswith("_i"):
        return True             # of ArcInfo: STATE# and STATE-ID, as shapefiles cut them off
    plain = re.sub(r"[_ .-]?\d$", "", name.lower())
    return plain in _NUMBERS or name.lower() in _SHAPES or bool(_ID_WORDS & {*_words(name)[-1:]})


def is_place(name: str) -> bool:
    """Whether a column says where an area is.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> [is_place(name) for name in ("X_CENTROID", "lat", "y", "plate")]
    [True, True, True, False]
    """
    return name.lower() in _PLACES or bool(_PLACE_WORDS & {*_words(name)[-1:]})


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
    >>> beside(["hiv_tested", "malaria_tested"], "trials", "malaria_pos")   # which is its first
    ['malaria_tested', 'hiv_tested']
    """
    words, own = set(_BESIDE.get(option, ())), words_in(column)
    found = [name for name in names if words & words_in(name) and (
        option == "trials" or own & words_in(name) or not words_in(name) - words - _STANDARD)]
    return sorted(found, key=lambda name: -shared(column, name)) if option == "trials" else found


def named_like_positives(name: str) -> str:
    """How surely a column is called like positives: "sure", "perhaps", or empty.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> [named_like_positives(name) for name in ("n_pos", "cases", "positive_rate", "pos_x")]
    ['sure', 'perhaps', '', '']
    """
    return "" if _AXES & words_in(name) else _said(name, _POSITIVES)


def named_like_trials(name: str) -> str:
    """How surely a column is called like the number of those tested: "sure", "perhaps", or empty.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> [named_like_trials(name) for name in ("n_tested", "sample_size", "size", "n_households")]
    ['sure', 'perhaps', '', '']
    """
    said = _said(name, _TRIALS)
    whole = words_in(name) <= _TRIALS[1] | _NUMBER_OF
    return said if said == "sure" or whole else ""


def _said(name: str, words: tuple[set[str], set[str]]) -> str:
    own = words_in(name)
    if own & MEANS:
        return ""
    return "sure" if own & words[0] else "perhaps" if own & words[1] else ""


def shared(name: str, other: str) -> int:
    """How many words and numbers two columns' names share that say of what, or when, they are.

    Parameters
    ----------
    name, other : str

    Examples
    --------
    >>> shared("hiv_pos_2019", "n_hiv_tested_2019"), shared("n_pos", "n_tested")
    (2, 0)
    """
    common = set(_words(name) + re.findall(r"\d+", name)) & set(
        _words(other) + re.findall(r"\d+", other))
    return len(common - _NUMBER_OF - set().union(*_POSITIVES, *_TRIALS))


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
    return set(_words(name))


def _words(name: str) -> list[str]:
    """Words that a column's name is made of, in their order."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return [word for word in re.split(r"[^a-zà-ÿ]+", parted) if word]


def totals_first(columns: Sequence[str], keys: Sequence[str] = ()) -> list[str]:
    """Columns of numbers with those first that are likely to be the totals.

    Parameters
    ----------
    columns : sequence of str
    keys : sequence of str
        Those by which a table is joined, which are not its totals.

    Examples
    --------
    >>> totals_first(["fid", "einwohner", "income", "faelle"])
    ['faelle', 'income', 'einwohner', 'fid']
    >>> totals_first(["nr", "einwohner", "income"], ["nr"])
    ['income', 'einwohner', 'nr']
    >>> totals_first(["n_tested", "total_examined", "n_pos"])
    ['n_pos', 'n_tested', 'total_examined']
    """
    people = set(likely(columns))
    tested = any(map(named_like_positives, columns))

    def order(name: str) -> int:
        if name in keys or is_number_of_row(name) or is_place(name):
            return 3
        if name in people:
            return 2
        if named_like_positives(name):
            return 0
        if tested and named_like_trials(name) == "sure":
            return 1
        return 0 if any(word in name.lower() for word in COUNTS) else 1

    return sorted(columns, key=order)
