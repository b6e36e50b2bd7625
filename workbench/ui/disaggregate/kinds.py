"""What the values of areas are, and what of links, likelihoods and options goes with that."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from workbench import schema
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.columns import words_in

if TYPE_CHECKING:
    import xarray as xr

_ANY = {"identity": "identity"}
_POSITIVE = {"exp (log rate)": "exp", "square": "square", **_ANY}
_WORDS = frozenset(
    "mean means avg average rate rates median ratio share percent percentage pct proportion "
    "prevalence incidence temperature temp density mittel mittelwert quote anteil taux moyenne "
    "tasa promedio media".split())


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
_CALLED = {MEAN: "mean", TESTED: "share"}       # what areas have that is no total
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


def guessed(column: str) -> str:
    """What a column of areas holds, by its name: counts, unless it is called like a mean.

    Parameters
    ----------
    column : str

    Examples
    --------
    >>> [guessed(name) for name in ("cases", "mean_income", "RatePer1000", "corporate")]
    ['count', 'mean', 'mean', 'count']
    """
    return MEAN if _WORDS & words_in(column) else COUNT


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
    """
    if kind not in _CALLED:
        return text
    word = _CALLED[kind]
    text = text.replace("one value per area, totals as rates", f"one {word} per area")
    return re.sub(r"\b([Tt])otal(s?)\b", lambda found: (
        (word.capitalize() if found[1] == "T" else word) + found[2]), text)


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
