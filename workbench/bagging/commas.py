"""Commas in columns of numbers: whether they separate thousands or decimals."""

from __future__ import annotations

import pandas as pd

THOUSANDS = r"[+-]?[1-9]\d{0,2}(,\d{3})+"       # 1,234: of which nobody knows which comma it is
_GROUPS = rf"{THOUSANDS}(\.\d+)?"                # as above, or 1,234.5
_SEVERAL = r".*,\d{3}[,.].*"                      # of groups: what no decimal comma explains
_POINTED = r"[+-]?(\d*|\d{1,3}(\.\d{3})+),\d+"   # 0,5 and 1.234,5
_SMALL = r"[+-]?(\d{1,3}|\d*\.\d+)"              # without a comma, as beside 1,234 it need not be


def with_commas(texts: pd.Series) -> pd.Series:
    """Which entries are numbers with commas, of thousands or decimals.

    Parameters
    ----------
    texts : Series of str

    Returns
    -------
    Series of bool
    """
    return texts.str.fullmatch(_GROUPS) | texts.str.fullmatch(_POINTED)


def commas_of(texts: pd.Series) -> str:
    """Whether the commas in a column of numbers separate thousands or decimals.

    Parameters
    ----------
    texts : Series of str
        Without missing entries and blanks about them.

    Returns
    -------
    {"thousands", "decimal", "either", ""}
        Empty where there are none. Of commas before three digits each nobody knows, unless there
        are smaller numbers without one, or several commas in a number.

    Examples
    --------
    >>> [commas_of(pd.Series(one)) for one in (["1,798", "345"], ["1,798", "0,5"], ["1,798"])]
    ['thousands', 'decimal', 'either']
    """
    groups, commas = texts.str.fullmatch(_GROUPS), with_commas(texts)
    if not commas.any():
        return ""
    several = groups & texts.str.fullmatch(_SEVERAL)
    if (commas & ~groups).any():
        return "either" if several.any() else "decimal"
    others = texts[~commas]
    others = others[others.str.fullmatch(r"[+-]?[\d.]+")]
    small = len(others) > 0 and bool(others.str.fullmatch(_SMALL).all())
    return "thousands" if several.any() or small else "either"


def comma_advice(texts: pd.Series) -> str:
    """What to do about the commas in a column of numbers, without falsifying any.

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
    >>> comma_advice(pd.Series(["345", "1,798"]))
    "remove the thousands separators ('1,798' in row 1)"
    """
    kind = commas_of(texts)
    if not kind:
        return ""
    # The one that shows which commas they are.
    groups = texts.str.fullmatch(_GROUPS)
    shown = texts[with_commas(texts) & ~groups] if kind == "decimal" else texts[groups]
    first = f"{shown.iloc[0]!r} in row {shown.index[0]}"
    return {"thousands": f"remove the thousands separators ({first})",
            "decimal": f"write points for decimal commas ({first})",
            "either": f"remove the commas if they separate thousands ({first}), write points for "
                      "them if they are decimal commas"}[kind]
