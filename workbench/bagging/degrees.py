"""Degrees of longitude beside degrees of latitude."""

from __future__ import annotations

import numpy as np

#: Length of a degree of longitude beside one of latitude below which maps suffer: 25° and beyond.
NARROW = 0.9


def ratio_at(latitude: np.ndarray) -> float:
    """How long a degree of longitude is beside one of latitude, on average over places.

    Parameters
    ----------
    latitude : array
        Degrees.

    Returns
    -------
    float
        1 on the equator, 0 at a pole.

    Examples
    --------
    >>> round(ratio_at(60.0), 3)
    0.5
    """
    return float(np.cos(np.deg2rad(latitude)).mean())
