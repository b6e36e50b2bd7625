"""Draws of a posterior that move: turned from one independent draw into the next, with no refit.

If d and e are independent draws of a zero-mean Gaussian process, d cos t + e sin t is one for every
t. From each draw a quarter turn leads to the next, and from the last to the first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack, solve_triangular
from scipy.spatial.distance import cdist

from workbench.ui.granularity.cells import Summaries
from workbench.ui.granularity.engine import Bench, Model

NUMBER = 6              # draws on the way round


@dataclass(frozen=True, eq=False)
class Draws:
    """What moving draws are made of, at a world's pixels.

    Parameters
    ----------
    mean : array (n,)
        Posterior mean from summaries.
    departures : array (draws, n)
        Independent draws of the process less its mean.
    """

    mean: np.ndarray
    departures: np.ndarray

    def at(self, turn: float) -> np.ndarray:
        """The draw (n,) after so many quarter turns."""
        count = len(self.departures)
        first, angle = int(turn) % count, (turn % 1) * np.pi / 2
        return (self.mean + np.cos(angle) * self.departures[first]
                + np.sin(angle) * self.departures[(first + 1) % count])


def draws(bench: Bench, cells: Summaries, model: Model, seed: int = 0) -> Draws:
    """Draws of the posterior from summaries."""
    world = bench.world
    places = world.places[: world.pixels.size]
    fit, cross = bench.summary(cells, model)
    cross = cross[: world.pixels.size]
    white = solve_triangular(fit.root, cross.T, lower=True, check_finite=False)
    covariance = model.covariance(cdist(places, places)) - white.T @ white
    return Draws(world.constant + fit.mean(cross), gaussian(covariance, NUMBER, seed))


def gaussian(covariance: np.ndarray, number: int, seed: int) -> np.ndarray:
    """Independent zero-mean Normal vectors (number, n) of a covariance that may be singular.

    Parameters
    ----------
    covariance : array (n, n)
        Semidefinite, up to rounding.
    number, seed : int
    """
    factor, pivots, rank, _ = lapack.dpstrf(covariance, lower=1)    # stops where nothing is left
    root = np.tril(factor)[:, :rank]
    drawn = np.empty((number, len(covariance)))
    drawn[:, pivots - 1] = np.random.default_rng(seed).standard_normal((number, rank)) @ root.T
    return drawn
