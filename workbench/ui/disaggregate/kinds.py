"""What the values of areas are, and what of links, likelihoods and options goes with that."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench import schema
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.columns import MEANS, words_in

if TYPE_CHECKING:
    import xarray as xr

_ANY = {"identity": "identity"}
_POSITIVE = {"exp (log rate)": "exp", "square": "square", **_ANY}


@dataclass(frozen=True)
class Kind:
    """One kind of values.

    Parameters
    ----------
    label : str
        In the dialog for files of one's own.
    options : tuple of (str, str)
        Of `workbench.bag_polygons`, by which values are read so.
    column : str
        Option that names a second column of numbers; empty for none.
    asked : str
        What that column has, as the dialog asks for it.
    needed : bool
        Whether the column must be given.
    measured : bool
        Whether the values have a unit that only its user knows.
    links, likelihoods : dict
        By label, the default first.
    """

    label: str
    options: tuple[tuple[str, str], ...] = ()
    column: str = ""
    asked: str = ""
    needed: bool = False
    measured: bool = False
    links: dict = field(default_factory=lambda: _POSITIVE)
    likelihoods: dict = field(default_factory=lambda: {"Normal": "normal"})


COUNT, MEAN, AMOUNT, TESTED = "count", "mean", "amount", "tested"
#: What areas have that is no total, and what one number of their maps is.
_CALLED = {MEAN: ("mean", "value"), TESTED: ("share", "share")}
KINDS = {
    COUNT: Kind("counts", likelihoods={
        "Poisson": "poisson", "negative binomial": "negative-binomial", "Normal": "normal"}),
    MEAN: Kind("means or rates", (("aggregation", "mean"), ("kind", "continuous")),
               "standard_error", labels.STANDARD_ERRORS, measured=True),
    AMOUNT: Kind("amounts, not counts", (("kind", "continuous"),), measured=True),
    TESTED: Kind("positives of those tested", (), "trials", labels.TRIALS, needed=True,
                 links={"logit (log odds)": "logit", "probit": "probit"},
                 likelihoods={"binomial": "binomial"}),
}


def links_of(kind: str, negative: bool) -> dict[str, str]:
    """Links by label that go with values of a kind, the default first.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    negative : bool
        Whether some values are below zero, which positive rates cannot follow.
    """
    return _ANY if negative else KINDS[kind].links


def guessed(column: str, surveys: Collection[str] = ()) -> str:
    """What a column of areas holds: counts, unless it is called like a mean, or is of a survey.

    Parameters
    ----------
    column : str
    surveys : collection of str
        Columns of positives of those tested, by names and numbers (`surveys.surveys_in`).

    Examples
    --------
    >>> [guessed(name) for name in ("cases", "mean_income", "RatePer1000", "corporate")]
    ['count', 'mean', 'mean', 'count']
    >>> guessed("cases", {"cases": "examined"})
    'tested'
    """
    if column in surveys:
        return TESTED
    return MEAN if MEANS & words_in(column) else COUNT


def kind_of(ds: xr.Dataset) -> str:
    """What the values of a dataset are.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    """
    if "trials" in ds:
        return TESTED
    if schema.kind(ds) == "count":
        return COUNT
    return MEAN if schema.aggregation(ds) == "mean" else AMOUNT


def in_words_of(kind: str, text: str) -> str:
    """A text about totals in the words of other values: means and shares, which add up to none.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    text : str

    Examples
    --------
    >>> in_words_of("mean", "one value per area, totals as rates"), in_words_of("count", "totals")
    ('one mean per area', 'totals')
    >>> in_words_of("tested", "where rates are high")
    'where shares are high'
    """
    if kind not in _CALLED:
        return text
    word, number = _CALLED[kind]
    text = text.replace("one value per area, totals as rates", f"one {word} per area")
    for one, instead in (("total", word), ("rate", number)):
        text = re.sub(rf"\b({one}|{one.capitalize()})(s?)\b", lambda found, instead=instead: (
            (instead.capitalize() if found[1][0].isupper() else instead) + found[2]), text)
    return text


def options_of(kind: str, column: str = "", unit: str = "") -> dict[str, str]:
    """Options of `workbench.bag_polygons` for values of a kind.

    Parameters
    ----------
    kind : str
        One of `KINDS`.
    column : str
        The second column, where there is one.
    unit : str
        Of the values; empty where nobody says.

    Examples
    --------
    >>> options_of("mean", "se", "USD")
    {'aggregation': 'mean', 'kind': 'continuous', 'standard_error': 'se', 'value_units': 'USD'}
    >>> options_of("count")
    {}
    """
    one = KINDS[kind]
    found = dict(one.options)
    if one.column and column:
        found[one.column] = column
    return found | ({"value_units": unit} if one.measured and unit else {})
