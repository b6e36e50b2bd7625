"""Numbers in sentences and tables: as many digits as are worth reading, and no e+03 or e-08."""

from __future__ import annotations

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_SMALLEST = 1e-4        # that is written without a power of ten


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
    >>> [figure(v) for v in (2356110.0, 1234.6, 9999.9, 0.0125, -490.2)]
    ['2,356,110', '1,235', '10,000', '0.0125', '-490.2']
    >>> figure(7.23e-08), figure(0.0, 3)
    ('7.23·10⁻⁸', '0')
    """
    rounded = float(f"{value:.{digits}g}")
    if abs(rounded) >= 10**digits:
        return f"{value:{sign},.0f}"
    if 0 < abs(rounded) < _SMALLEST:
        part, power = f"{value:{sign}.{digits - 1}e}".split("e")
        part = part.rstrip("0").rstrip(".") if "." in part else part
        return f"{part}·10{str(int(power)).translate(_RAISED)}"
    return f"{value:{sign},.{digits}g}"
