"""Numbers of things in messages, with their verbs: 1 area has, 2 areas have."""

from __future__ import annotations

_MANY = {"is": "are", "was": "were", "has": "have", "belongs": "belong", "looks": "look"}


def amount(count: int, one: str, verb: str = "", of: str = "") -> str:
    """So many of something, and what they do.

    Parameters
    ----------
    count : int
    one : str
        What one of them is called; several have an s.
    verb : str
        What one of them does.
    of : str
        What stands between both.

    Returns
    -------
    str

    Examples
    --------
    >>> amount(1, "area", "has"), amount(3, "area", "has"), amount(2, "gap")
    ('1 area has', '3 areas have', '2 gaps')
    >>> amount(1, "row", "was", "of a.csv"), amount(2, "row", "was", "of a.csv")
    ('1 row of a.csv was', '2 rows of a.csv were')
    """
    words = [str(count), one if count == 1 else f"{one}s", of,
             verb if count == 1 else _MANY.get(verb, verb)]
    return " ".join(word for word in words if word)
