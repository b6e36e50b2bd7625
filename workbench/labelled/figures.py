"""Numbers in sentences and tables: as many digits as are worth reading, and no exponents."""

from __future__ import annotations


def figure(value: float, digits: int = 4, sign: str = "") -> str:
    """A number with so many digits; whole where it has more.

    Parameters
    ----------
    value : float
    digits : int
        How many are shown of a number that is not whole.
    sign : {"", "+"}
        Whether a number above zero has a sign, too.

    Examples
    --------
    >>> [figure(v) for v in (2356110.0, 1234.6, 0.0125, -490.2)]
    ['2,356,110', '1,235', '0.0125', '-490.2']
    """
    form = ",.0f" if abs(value) >= 10**digits else f",.{digits}g"
    return f"{value:{sign}{form}}"
