"""Choices that are numbers: the stops that are offered, and any other that is dragged or typed."""

from __future__ import annotations

import math

from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.catalogue import Choice, a_lengthscale, lengthscales, stop_labels
from workbench.ui.disaggregate.kinds import TESTED

FEWEST = 1e-12          # a number nearer to zero is none


def a_threshold(choice: Choice, text: str) -> tuple[float | None, str]:
    """The threshold that a text means, to the six digits of an address, or why it is none.

    Parameters
    ----------
    choice : Choice
        The data, in whose unit the number is.
    text : str
        As typed, or of an address.

    Returns
    -------
    float or None
    str
        Why there is none; else empty.
    """
    plain = text.strip().replace("−", "-")
    try:
        value = float(f"{float(plain):g}")      # what is checked is what an address has
    except ValueError:
        return None, labels.NO_COMMA if "," in plain else labels.NO_NUMBER
    if "_" in plain or not math.isfinite(value):
        return None, labels.NO_NUMBER
    if choice.kind == TESTED and not 0 < value < 1:
        return None, labels.no_share(value)
    if not choice.negative and value < FEWEST:
        return None, labels.ABOVE_ZERO
    return value, ""


def was_rounded(text: str, value: float) -> bool:
    """Whether a text has more digits than the threshold that `a_threshold` made of it.

    Parameters
    ----------
    text : str
    value : float
    """
    return float(text.strip().replace("−", "-")) != value


def in_digits(value: float) -> str:
    """A number as one types it, without a power of ten.

    Parameters
    ----------
    value : float

    Examples
    --------
    >>> in_digits(1234570.0), in_digits(33.25), in_digits(1e-05)
    ('1234570', '33.25', '0.00001')
    """
    import numpy as np

    return np.format_float_positional(float(f"{value:g}"), trim="-")


class Stops:
    """What a state does with its lengthscale and its threshold, besides choosing among stops."""

    def fix_lengthscale(self, value: float) -> None:
        """Fix the lengthscale anywhere, which then is a stop too; an address has six digits."""
        value = float(f"{value:g}")
        self._offer_lengthscales([self.lengthscale, value])
        self.lengthscale = value

    def _offer_lengthscales(self, more: list) -> None:
        """Offer the stops of the slider, and those that were chosen between them."""
        between = {value for value in more if isinstance(value, float)}
        stops = sorted({*lengthscales(self.choice), *between})
        self.offer("lengthscale", stop_labels(stops, self.choice.unit))

    def fix_threshold(self, value: float) -> None:
        """Ask for exceedances of any number, which is then offered too."""
        self._offer_thresholds([self.threshold, value])
        self.threshold = value

    def _offer_thresholds(self, more: list) -> None:
        """Offer the thresholds of the data, and those that were chosen besides."""
        offered = self.choice.thresholds
        stops = sorted({*offered, *(one for one in more if one is not None)})
        self.offer("threshold", {in_digits(t): t for t in stops}, self.choice.threshold)

    def _fix(self, name: str, text: str) -> bool:
        """Take the number of an address for one of the two; whether it is one."""
        value = (a_lengthscale(self.choice, text) if name == "lengthscale" else
                 a_threshold(self.choice, text)[0] if name == "threshold" else None)
        if value is not None:
            (self.fix_lengthscale if name == "lengthscale" else self.fix_threshold)(value)
        return value is not None
