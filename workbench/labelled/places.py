"""Whether datasets are of one place: in one coordinate reference system, and meeting there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.checks import package


class Extent(NamedTuple):
    """Least and greatest coordinates.

    Attributes
    ----------
    x, y : tuple of float
        Least and greatest.
    """

    x: tuple[float, float]
    y: tuple[float, float]

    @classmethod
    def of(cls, x: np.ndarray, y: np.ndarray) -> Extent:
        """That of places; there must be some."""
        return cls(*((float(np.min(one)), float(np.max(one))) for one in (x, y)))

    def __str__(self) -> str:
        return ", ".join(f"{axis} {low:.6g} to {high:.6g}"
                         for axis, (low, high) in zip("xy", self, strict=True))

    def gap(self, other: Extent) -> float:
        """How far another extent lies beside this one, along the axis where it is farther.

        Parameters
        ----------
        other : Extent

        Returns
        -------
        float
            Zero where they meet.

        Examples
        --------
        >>> Extent((0, 2), (0, 1)).gap(Extent((5, 6), (0, 1)))
        3.0
        """
        return float(max(0.0, *(max(b[0] - a[1], a[0] - b[1])
                                for a, b in zip(self, other, strict=True))))

    @property
    def width(self) -> float:
        """The longer side."""
        return max(high - low for low, high in self)


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
