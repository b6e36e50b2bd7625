"""What the adviser answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class CellAdvice:
    """Cells that are fine enough.

    Parameters
    ----------
    sides, counts : tuple (d,)
        Sides of a cell in the domain's unit, and how many cells lie side by side.
    areas : int
        Number of cells.
    error, lengthscale : float
        The measure there, and the lengthscale that it is answered for.
    """

    sides: tuple[float, ...]
    counts: tuple[int, ...]
    areas: int
    error: float
    lengthscale: float


@dataclass(frozen=True)
class TrustedLengthscales:
    """Lengthscales that a table can be trusted with: those from ``shortest`` on.

    Parameters
    ----------
    shortest : float
        Of the table as a whole.
    per_area : ndarray (m,), optional
        Of each area by itself (rms only).
    share : float, optional
        Prior probability of a trusted lengthscale, where a prior was given.
    """

    shortest: float
    per_area: np.ndarray | None
    share: float | None


@dataclass(frozen=True)
class Coarsening:
    """What coarser cells do.

    Parameters
    ----------
    factors, areas, errors : ndarray (k,)
        By which sides are multiplied, the number of cells left and the measure there.
    sides : ndarray (k, d)
        Of the cells.
    survives : ndarray (k,)
        Whether the error is within the tolerance.
    largest_factor : float, optional
        Up to which all survive; None if none does.
    lengthscale : float
        The one answered for.
    """

    factors: np.ndarray
    sides: np.ndarray
    areas: np.ndarray
    errors: np.ndarray
    survives: np.ndarray
    largest_factor: float | None
    lengthscale: float
