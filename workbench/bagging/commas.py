"""Commas, blanks and points in columns of numbers: whether they separate thousands or decimals."""

from __future__ import annotations

import pandas as pd

THOUSANDS = r"[+-]?[1-9]\d{0,2}(,\d{3})+"       # 1,234: of which nobody knows which comma it is
_GROUPS = rf"{THOUSANDS}(\.\d+)?"                # as above, or 1,234.5
_SEVERAL = r".*,\d{3}[,.].*"                      # of groups: what no decimal comma explains
_POINTED = r"[+-]?(\d*|\d{1,3}(\.\d{3})+),\d+"   # 0,5 and 1.234,5
_SMALL = r"[+-]?(\d{1,3}|\d*\.\d+)"              # without a comma, as beside 1,234 it need not be
_DECIMALS = r"[+-]?\d*\.(\d{1,2}|\d{4,})"        # 12.5, and not 1.798, whose point may be another
_STRIPPED = r".*,\d*0"                            # 1,790: of a decimal comma this zero says nothing
_MANY = 10              # so many times as many whole numbers as such with a comma are no decimals
_HUNDREDS = r"[+-]?[1-9]\d\d"                     # 345: beside 1,790 far from it if that is decimal
# What separates thousands where no comma does, and numbers that are written so.
_OTHERS = {"blanks": r"[+-]?[1-9]\d{0,2}([ \u00a0\u2009\u202f]\d{3})+([.,]\d+)?",
           "apostrophes": r"[+-]?[1-9]\d{0,2}(['\u2019]\d{3})+([.,]\d+)?",
           "points": r"[+-]?[1-9]\d{0,2}(\.\d{3}){2,}(,\d+)?|[+-]?\d{1,3}(\.\d{3})+,\d+"}
_OF_POINTS = r"[+-]?(\d{1,3}(\.\d{3})*(,\d+)?|\d+,\d+)"     # numbers beside 1.234.567
_LIST = r"\d+(,\d+){2,}"                          # 1,2,3: neither thousands nor decimals
_PAIR = r"[1-9]\d?,[1-9]\d?"                      # 1,2: a decimal comma, or a list of two
_CODES = r"[1-9]\d{2}(,[1-9]\d{2})+"              # 101,102: thousands, or codes in a list
_POST = r"\d{3}\s\d{3}"                          # 110 001: if all are as long, codes as of mail


def punctuated(texts: pd.Series) -> pd.Series:
    """Which entries are numbers with separators of thousands, or with decimal commas.

    Parameters
    ----------
    texts : Series of str

    Returns
    -------
    Series of bool
        None of a column of lists, such as 1,2,3.

    Examples
    --------
    >>> punctuated(pd.Series(["1,798", "0,5", "12 345", "1.798.111", "12"])).tolist()
    [True, True, True, True, False]
    >>> punctuated(pd.Series(["1,2", "1,2,3"])).tolist()
    [False, False]
    """
    found = _with_commas(texts)
    for which in _others(texts).values():
        found |= which
    return found


def commas_of(texts: pd.Series) -> str:
    """Whether the commas in a column of numbers separate thousands or decimals.

    Parameters
    ----------
    texts : Series of str
        Without missing entries and blanks about them.

    Returns
    -------
    {"thousands", "decimal", "either", ""}
        Empty where there are none. Of commas before three digits each nobody knows, unless a
        number has several, or a decimal point, or there are smaller ones without a comma, ten times
        as many or some of them of hundreds, beside one that ends in a zero: a decimal would be
        written without this zero, and be neither so rare nor so far from the others. Either sign
        alone is none, as decimals that were typed by hand have zeros, too. Nor is it known of what
        may be codes in a list.

    Examples
    --------
    >>> [commas_of(pd.Series(one)) for one in (["1,790", "345"], ["1,798", "0,5"], ["1,798"])]
    ['thousands', 'decimal', 'either']
    >>> commas_of(pd.Series(["2", "1,250", "1,500"]))
    'either'
    """
    commas = _with_commas(texts)
    if not commas.any():
        return ""
    groups = texts.str.fullmatch(_GROUPS)
    several = groups & texts.str.fullmatch(_SEVERAL)
    if (commas & ~groups).any():
        return "either" if several.any() else "decimal"
    if _rising(texts[commas], _CODES):
        return "either"
    others = texts[~commas]
    others = others[others.str.fullmatch(r"[+-]?[\d.]+")]
    both = texts[groups].str.fullmatch(_STRIPPED).any() and (
        others.str.fullmatch(_HUNDREDS).any() or len(others) >= _MANY * commas.sum())
    small = len(others) > 0 and bool(others.str.fullmatch(_SMALL).all()) and bool(
        others.str.fullmatch(_DECIMALS).any() or both)
    return "thousands" if several.any() or small else "either"


def comma_advice(texts: pd.Series) -> str:
    """What to do about separators in a column of numbers, without falsifying any.

    Parameters
    ----------
    texts : Series of str
        As of `commas_of`; its index numbers the rows.

    Returns
    -------
    str
        Empty where there are none.

    Examples
    --------
    >>> comma_advice(pd.Series(["345", "1,790"]))
    "remove the thousands separators ('1,790' in row 1)"
    >>> comma_advice(pd.Series(["345", "12 345"]))
    "remove the thousands separators, which are blanks ('12 345' in row 1)"
    """
    if (other := _other_separators(texts)) is not None:
        return other
    kind = commas_of(texts)
    if not kind:
        return ""
    # The one that shows which commas they are.
    commas, groups = _with_commas(texts), texts.str.fullmatch(_GROUPS)
    shown = texts[commas & ~groups] if kind == "decimal" else texts[groups]
    first = f"{shown.iloc[0]!r} in row {shown.index[0]}"
    if kind == "decimal" and commas.sum() > 1 and _rising(texts[commas], _PAIR):
        return (f"write points for the commas ({first}) if they are decimal commas and not those "
                "of lists")
    return {"thousands": f"remove the thousands separators ({first})",
            "decimal": f"write points for decimal commas ({first})",
            "either": f"remove the commas if they separate thousands ({first}), write points for "
                      "them if they are decimal commas"}[kind]


def _with_commas(texts: pd.Series) -> pd.Series:
    """Which entries are numbers with commas; none of a column with lists."""
    groups = texts.str.fullmatch(_GROUPS)
    lists = texts.str.fullmatch(_LIST) & ~groups
    return (groups | texts.str.fullmatch(_POINTED)) & (not lists.any())


def _rising(texts: pd.Series, pattern: str) -> bool:
    """Whether all entries are whole numbers in a row, each larger, as codes in a list are."""
    if not texts.str.fullmatch(pattern).all():
        return False
    parts = [[int(one) for one in text.split(",")] for text in texts]
    return all(one < other for row in parts for one, other in zip(row, row[1:], strict=False))


def _others(texts: pd.Series) -> dict[str, pd.Series]:
    """Which entries have thousands that are separated by something else than commas, by what."""
    if len(texts) > 1 and texts.str.fullmatch(_POST).all():
        return {}
    found = {what: texts.str.fullmatch(pattern) for what, pattern in _OTHERS.items()}
    return {what: which for what, which in found.items() if which.any()}


def _other_separators(texts: pd.Series) -> str | None:
    """What to do where thousands are separated by something else than commas; None where none are.

    Empty where several such ways, or other points or commas, leave open what is meant.
    """
    found = _others(texts)
    if not found:
        return None
    (what, which), *more = found.items()
    rest = texts[~which & texts.str.fullmatch(r"[+-]?[\d.,]+")]
    known = rest.str.fullmatch(_OF_POINTS if what == "points" else r"[+-]?(\d+|\d*[.,]\d+)")
    doubtful = more or not known.all() or rest.str.fullmatch(THOUSANDS).any()
    marks = {mark for mark in ",." if pd.concat([texts[which], rest]).str.contains(
        mark, regex=False).any()}
    if doubtful or what != "points" and len(marks) > 1:
        return ""
    first = f"{texts[which].iloc[0]!r} in row {texts[which].index[0]}"
    decimal = ", and write points for decimal commas" if "," in marks else ""
    return f"remove the thousands separators, which are {what} ({first}){decimal}"
