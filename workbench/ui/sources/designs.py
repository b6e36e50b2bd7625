"""What sources on a line are like, and how a URL writes them."""

from __future__ import annotations

from dataclasses import astuple, dataclass, replace

import numpy as np

MOST = 4                # sources
STEP = 0.5              # of the ends of a support
NARROWEST = 1.0         # support
POINTS = [5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200]
SIZES = [1, 2, 3, 4, 5, 8, 10, 20, 25, 50]
SCALES = [round(0.1 * k, 1) for k in range(1, 21)]
OFFSETS = [round(0.5 * k, 1) for k in range(-8, 9)]
NOISES = [0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.5, 2.0]
COPIES = [round(0.1 * k, 1) for k in range(11)]
#: Stops of each property that is a choice.
STOPS = {"points": POINTS, "size": SIZES, "scale": SCALES, "offset": OFFSETS, "noise": NOISES,
         "copied": COPIES}


@dataclass(frozen=True)
class Design:
    """One source: where it observes, how coarsely, and what is wrong with its values.

    Parameters
    ----------
    low, high : float
        Ends of its support.
    points : int
        Equally spaced points on it.
    size : int
        Consecutive points behind each value: one observes points, more observe means.
    scale, offset : float
        Its bias: it shows ``offset + scale * f``.
    noise : float
        Standard deviation of a point's noise.
    copied : float
        Share of the noise's variance that is the first source's at the same place.
    """

    low: float
    high: float
    points: int = 50
    size: int = 1
    scale: float = 1.0
    offset: float = 0.0
    noise: float = 0.5
    copied: float = 0.0

    @property
    def x(self) -> np.ndarray:
        """Points behind each value (values, size); the last ones that fill no value are left."""
        x = np.linspace(self.low, self.high, self.points)
        count = self.points // self.size
        return x[: count * self.size].reshape(count, self.size)

    @property
    def biased(self) -> bool:
        """Whether it shows anything but the function and noise."""
        return (self.scale, self.offset) != (1.0, 0.0)

    def placed(self, low: float, high: float, span: tuple[float, float]) -> Design:
        """On another support, on the nearest steps inside the span."""
        low = min(max(_step(low), span[0]), span[1] - NARROWEST)
        high = max(min(_step(high), span[1]), low + NARROWEST)
        return replace(self, low=low, high=high)


def written(designs: tuple[Design, ...]) -> str:
    """Sources as the text that a URL carries."""
    return "~".join("_".join(f"{value:g}" for value in astuple(one)) for one in designs)


def read(text: str, span: tuple[float, float]) -> tuple[Design, ...] | None:
    """Sources from their text; None unless each is one that the app offers."""
    found = []
    for part in text.split("~"):
        try:
            numbers = [float(word) for word in part.split("_")]
            low, high, points, size, *rest = numbers
            if not np.isfinite(numbers).all() or points % 1 or size % 1:
                return None
            design = Design(low, high, int(points), int(size), *rest)
        except (ValueError, TypeError, OverflowError):
            return None
        known = len(rest) == 4 and all(
            getattr(design, name) in stops for name, stops in STOPS.items())
        fits = design.size <= design.points and design == design.placed(low, high, span)
        if not known or not fits or (not found and design.copied):
            return None
        found.append(design)
    return tuple(found) if len(found) <= MOST else None


def fresh(span: tuple[float, float]) -> Design:
    """A further source: aggregates of points of its own, over the middle of the span."""
    middle, reach = sum(span) / 2, (span[1] - span[0]) / 4
    return Design(0, 1, 50, 5).placed(middle - reach, middle + reach, span)


def _step(value: float) -> float:
    return round(value / STEP) * STEP
