"""The one-dimensional world: a function that is drawn or chosen, and what sources show of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.ui.sources.designs import Design

PLACES = 301            # at which posteriors are drawn
KNOTS = 25              # of a drawn function
LOWEST, HIGHEST = -2.0, 7.0     # of its values
DIGITS = 1
DRAWN = "drawn"
FUNCTIONS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "waves": ("5 sin(x)², the paper's", lambda x: 5 * np.sin(x) ** 2),
    "slow": ("a slow wave", lambda x: 2.5 + 2.5 * np.sin(x / 2)),
    "rougher": ("rougher to the right", lambda x: 2.5 + 2 * np.sin(0.03 * (x + 12) ** 2)),
    "step": ("a step", lambda x: 2.5 + 2.5 * np.tanh(2 * (x - 6))),
}


@dataclass(frozen=True, eq=False)
class Shown:
    """What one source shows.

    Parameters
    ----------
    design : Design
        What it is like.
    x : array (B, size)
        Points behind each value.
    points : array (B, size)
        What it would have shown at each of them.
    """

    design: Design
    x: np.ndarray
    points: np.ndarray

    @property
    def values(self) -> np.ndarray:
        """Its observations (B,)."""
        return self.points.mean(1)

    @property
    def noise(self) -> float:
        """Standard deviation of the noise of one observation."""
        return self.design.noise / np.sqrt(self.design.size)


@dataclass(frozen=True, eq=False)
class World:
    """A function, and what all sources show of it."""

    span: tuple[float, float]
    truth: Callable[[np.ndarray], np.ndarray]
    sources: tuple[Shown, ...]

    @cached_property
    def places(self) -> np.ndarray:
        """Where posteriors are drawn (PLACES,)."""
        return np.linspace(*self.span, PLACES)

    @cached_property
    def known(self) -> np.ndarray:
        """The function there."""
        return self.truth(self.places)

    @cached_property
    def seen(self) -> np.ndarray:
        """Whether some source observes there."""
        return np.any([self.inside(k) for k in range(len(self.sources))], axis=0)

    def inside(self, k: int) -> np.ndarray:
        """Whether a source observes at each place."""
        design = self.sources[k].design
        return (self.places >= design.low) & (self.places <= design.high)


def make(span: tuple[float, float], name: str, drawn: str, designs: tuple[Design, ...],
         draw: int) -> World:
    """A world; the noise of the first source is that of the paper's released code at draw 0."""
    truth = curve(read(drawn), span) if name == DRAWN else FUNCTIONS[name][1]
    first, sources = None, []
    for k, design in enumerate(designs):
        stream = (np.random.RandomState(draw) if k == 0
                  else np.random.default_rng([draw, k]))
        white = stream.standard_normal(design.points)
        x = np.linspace(design.low, design.high, design.points)
        if first is None:
            first = x, white
        else:
            white = _mixed(white, x, *first, design.copied)
        points = design.offset + design.scale * truth(x) + design.noise * white
        rows = design.x
        sources.append(Shown(design, rows, points[: rows.size].reshape(rows.shape)))
    return World(span, truth, tuple(sources))


def knots(span: tuple[float, float]) -> np.ndarray:
    """Where a drawn function has its values (KNOTS,)."""
    return np.linspace(*span, KNOTS)


def curve(values: np.ndarray, span: tuple[float, float]) -> Callable[[np.ndarray], np.ndarray]:
    """The drawn function: monotone cubic pieces through its values, without overshoot."""
    from scipy.interpolate import PchipInterpolator

    return PchipInterpolator(knots(span), values)


def written(values: np.ndarray) -> str:
    """Values of a drawn function as the text that a URL carries."""
    return "_".join(f"{value:.{DIGITS}f}".removesuffix(".0") for value in values)


def read(text: str) -> np.ndarray | None:
    """Values of a drawn function from their text; None if they are not what can be drawn.

    Nothing is drawn yet where there is no text: the function is flat.
    """
    if not text:
        return np.full(KNOTS, (LOWEST + HIGHEST) / 2)
    try:
        values = np.array([float(word) for word in text.split("_")])
    except ValueError:
        return None
    good = values.size == KNOTS and np.isfinite(values).all()
    return values if good and LOWEST <= values.min() and values.max() <= HIGHEST else None


def _mixed(own: np.ndarray, x: np.ndarray, other: np.ndarray, theirs: np.ndarray, share: float
           ) -> np.ndarray:
    """White noise of which a share of the variance is another's, where that has a point."""
    if not share:
        return own
    nearest = np.abs(x[:, None] - other).argmin(1)
    near = np.abs(other[nearest] - x) <= (other[1] - other[0]) / 2 + 1e-9
    mixed = np.sqrt(share) * theirs[nearest] + np.sqrt(1 - share) * own
    return np.where(near, mixed, own)
