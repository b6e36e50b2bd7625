"""Plan of a simulated city: roads, parks, a river, buildings, and what a 100 m circle holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

#: Kilometres from west to east and from south to north.
EXTENT = (42.0, 35.0)
CENTRE = (EXTENT[0] / 2, EXTENT[1] / 2)
#: Features of a place and their units, after the paper's three.
FEATURES = {"road_length": "m", "canyon_ratio": "1", "green_area": "ha"}
BUFFER = 0.1                    # km, radius
_STREET, _MAIN = 14.0, 26.0     # widths in m
_REACH = 11                     # decays beyond which a road adds nothing (1.7e-5)


class Waves:
    """A smooth Gaussian field of any number of dimensions, as a sum of cosines.

    Parameters
    ----------
    scales : sequence of float
        Lengthscale along each dimension (squared exponential covariance).
    rng : np.random.Generator
        Source of randomness.
    """

    def __init__(self, scales: tuple[float, ...], rng: np.random.Generator):
        count = 100
        self._frequency = rng.standard_normal((len(scales), count)) / np.array(scales)[:, None]
        self._phase = rng.uniform(0, 2 * np.pi, count)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """The field at points (n, d): (n,), with mean 0 and variance 1."""
        waves = np.cos(points @ self._frequency + self._phase)
        return waves.sum(1) * np.sqrt(2 / self._phase.size)


@dataclass(frozen=True)
class CityPlan:
    """What does not change with time.

    Parameters
    ----------
    segments : array (S, 4)
        Ends x, y, x, y of straight pieces of main road, sorted by road.
    road : array (S,)
        Road of each piece.
    flow : array (R,)
        Traffic of each road relative to a busy one.
    parks : array (K, 5)
        Ellipses: centre x, y, half axes, angle.
    river : array (V, 2)
        Its course; it is ``river_width`` wide.
    """

    segments: np.ndarray
    road: np.ndarray
    flow: np.ndarray
    parks: np.ndarray
    river: np.ndarray
    river_width: float
    built: Waves
    texture: Waves

    def density(self, places: np.ndarray) -> np.ndarray:
        """How densely built it is, from 0 to 1, at places (n, 2)."""
        away = np.hypot(*((places - CENTRE) / (1.15, 1.0)).T)
        return np.exp(-((away / 9.5) ** 1.3)) ** np.exp(0.25 * self.built(places))

    def features(self, places: np.ndarray) -> np.ndarray:
        """The features of `FEATURES` at places (n, 2) in km: (n, 3).

        ``road_length``: main road inside a circle of 100 m; ``canyon_ratio``: height of buildings
        over width of the street; ``green_area``: parks and water inside the circle.
        """
        place, piece, along, squared = self._pieces_near(places, BUFFER)
        half = np.sqrt(np.maximum(BUFFER**2 - squared, 0))
        chord = np.minimum(along + half, self._length[piece]) - np.maximum(along - half, 0)
        chord = np.where(squared < BUFFER**2, np.maximum(chord, 0), 0)
        inside = np.bincount(place, chord, len(places))
        height = 7 + 17 * self.density(places) * np.exp(0.3 * self.texture(places))
        green = self._green(places)
        # Nothing is built where all is green.
        canyon = (1 - green) * height / np.where(inside > 0, _MAIN, _STREET)
        return np.column_stack([1000 * inside, canyon, 100 * np.pi * BUFFER**2 * green])

    def exposure(self, places: np.ndarray, decay: float) -> np.ndarray:
        """Traffic near places (n, 2): sum over roads of flow times ``exp(-distance / decay)``."""
        place, piece, along, squared = self._pieces_near(places, _REACH * decay)
        beyond = along - np.clip(along, 0, self._length[piece])
        away = np.sqrt(squared + beyond**2)
        # Of every road its nearest piece counts: first of each place and road by distance.
        order = np.lexsort((away, self.road[piece], place))
        place, road, away = place[order], self.road[piece][order], away[order]
        first = np.flatnonzero(np.diff(place, prepend=-1) | np.diff(road, prepend=-1))
        return np.bincount(place[first], self.flow[road[first]] * np.exp(-away[first] / decay),
                           len(places))

    @property
    def _length(self) -> np.ndarray:
        return np.hypot(*(self.segments[:, 2:] - self.segments[:, :2]).T)

    def _pieces_near(self, places: np.ndarray, radius: float) -> tuple[np.ndarray, ...]:
        """Pairs of places and pieces of road that may be nearer than ``radius``.

        Position of the place, of the piece, distance along it and squared distance from its line.
        """
        start, end, length = self.segments[:, :2], self.segments[:, 2:], self._length
        near = cKDTree((start + end) / 2).query_ball_point(places, radius + length.max() / 2)
        place = np.repeat(np.arange(len(places)), [len(found) for found in near])
        piece = np.concatenate([np.array(found, dtype=np.int64) for found in near])
        across = places[place] - start[piece]
        along = (across * (end - start)[piece]).sum(1) / length[piece]
        return place, piece, along, np.maximum((across**2).sum(1) - along**2, 0)

    def _green(self, places: np.ndarray) -> np.ndarray:
        """Share of the circle that is park or water, from nineteen points of it."""
        turn = np.arange(6) * np.pi / 3
        ring = np.stack([np.cos(turn), np.sin(turn)], 1)
        offsets = BUFFER * np.concatenate([[[0, 0]], 0.48 * ring, 0.85 * ring,
                                           0.85 * ring @ _rotation(np.pi / 6)])
        points = (places[:, None] + offsets).reshape(-1, 2)
        return self.is_green(points).reshape(len(places), -1).mean(1)

    def is_green(self, places: np.ndarray) -> np.ndarray:
        """Whether places (n, 2) are in a park or in the river."""
        green = np.abs(places[:, 1] - np.interp(places[:, 0], *self.river.T)) < self.river_width / 2
        known = cKDTree(places)
        for x, y, a, b, angle in self.parks:
            near = known.query_ball_point((x, y), max(a, b))
            turned = (places[near] - (x, y)) @ _rotation(angle)
            green[near] |= ((turned / (a, b)) ** 2).sum(1) < 1
        return green


def make_plan(rng: np.random.Generator) -> CityPlan:
    """Draw a city: radial roads, two rings, cross roads, parks, a river from west to east.

    Parameters
    ----------
    rng : np.random.Generator
        Source of randomness.

    Returns
    -------
    CityPlan
        Another one for every seed.
    """
    roads, flow = _roads(rng)
    pieces = [np.concatenate([road[:-1], road[1:]], 1) for road in roads]
    course = np.linspace(-1, EXTENT[0] + 1, 400)
    bends = Waves((3.5,), rng)(course[:, None])
    river = np.stack([course, CENTRE[1] - 0.8 + 1.1 * bends - 0.06 * (course - CENTRE[0])], 1)
    return CityPlan(
        segments=np.concatenate(pieces),
        road=np.repeat(np.arange(len(roads)), [len(p) for p in pieces]),
        flow=np.array(flow), parks=_parks(rng), river=river, river_width=0.25,
        built=Waves((5.0, 5.0), rng), texture=Waves((0.8, 0.8), rng))


def _roads(rng: np.random.Generator) -> tuple[list[np.ndarray], list[float]]:
    roads, flow = [], []
    count, turns = 12, np.linspace(0, 2 * np.pi, 121)
    for number in range(count):             # radials, from the inner ring to the edge
        far = np.arange(1.2, 30, 0.4)
        angle = 2 * np.pi * (number + 0.3 * rng.uniform(-1, 1)) / count
        bend = Waves((6.0,), rng)(far[:, None])
        angle = angle + 0.12 * bend + 0.25 * np.log(far / 1.2) / far
        roads.append(_inside(_polar(far, angle)))
        flow.append(rng.uniform(0.6, 1.0))
    for radius, wave in ((2.6, 0.08), (9.5, 0.10)):
        roads.append(_polar(radius * (1 + wave * _closed(turns, rng)), turns))
        flow.append(1.1)
    for _ in range(30):                     # roads across, between random points of the inner city
        middle = rng.normal(0, 5.5, 2) * (1.15, 1)
        angle, half = rng.uniform(0, np.pi), rng.uniform(2.5, 6)
        along = np.arange(-half, half, 0.3)
        bend = 0.35 * Waves((2.0,), rng)(along[:, None])
        line = np.stack([along, bend], 1) @ _rotation(angle) + middle + CENTRE
        roads.append(_inside(line))
        flow.append(rng.uniform(0.3, 0.7))
    kept = [i for i, road in enumerate(roads) if len(road) > 1]
    return [roads[i] for i in kept], [flow[i] for i in kept]


def _parks(rng: np.random.Generator) -> np.ndarray:
    count = 60
    away, turn = 2 + 17 * np.sqrt(rng.uniform(size=count)), rng.uniform(0, 2 * np.pi, count)
    centre = _polar(away, turn)
    # Larger ones further out.
    size = rng.lognormal(-0.9, 0.5, count) * (0.6 + away / 12)
    return np.column_stack([centre, size, size * rng.uniform(0.4, 1, count),
                            rng.uniform(0, np.pi, count)])


def _closed(turns: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A smooth periodic function."""
    orders = np.arange(2, 7)
    return (rng.standard_normal(orders.size) / orders
            * np.cos(turns[:, None] * orders + rng.uniform(0, 2 * np.pi, orders.size))).sum(1)


def _polar(radius: np.ndarray, angle: np.ndarray) -> np.ndarray:
    return np.stack([1.15 * radius * np.cos(angle), radius * np.sin(angle)], 1) + CENTRE


def _inside(line: np.ndarray) -> np.ndarray:
    return line[((line >= 0) & (line <= EXTENT)).all(1)]


def _rotation(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

