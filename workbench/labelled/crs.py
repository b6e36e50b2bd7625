"""Whether datasets have one coordinate reference system, so that places are the same in both."""

from __future__ import annotations

from workbench.checks import package


def same_crs(one: str | None, other: str | None) -> bool:
    """Whether two coordinate reference systems are the same, as far as both are known.

    Parameters
    ----------
    one, other : str or None
        As of the attribute ``crs`` of bagged datasets; None where there is none.

    Returns
    -------
    bool
        True where one of them is not known.
    """
    if not one or not other or one == other:
        return True
    crs = package("pyproj", extra="geo").CRS
    return crs.from_user_input(one).equals(crs.from_user_input(other), ignore_axis_order=True)
