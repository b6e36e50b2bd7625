"""A world on a line in which the conditional means are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging import add_mediators, assemble, from_table, targets_from_table

SPREAD, NOISE = 0.4, 0.05       # of x around y, and of the targets around their means


def field(x: np.ndarray) -> np.ndarray:
    """The wanted field, f(x) = sin 2x + x/4.

    Examples
    --------
    >>> float(field(0.0))
    0.0
    """
    return np.sin(2 * x) + x / 4


def mean_field(y: np.ndarray) -> np.ndarray:
    """E[f(X) | Y = y] for X Normal around y with standard deviation `SPREAD`.

    Examples
    --------
    >>> round(float(mean_field(np.pi / 4) - np.pi / 16), 2)     # a peak of the wave, damped
    0.73
    """
    return np.exp(-2 * SPREAD**2) * np.sin(2 * y) + y / 4


def bagged(x: np.ndarray, members: np.ndarray, y: np.ndarray) -> xr.Dataset:
    """Bags of points without values, and the mediator of each bag.

    Parameters
    ----------
    x : array (N,)
        Points; ``truth`` is f there.
    members : array of int (N,)
        Position of each point's bag.
    y : array (B,)
        The bags' mediators.

    Examples
    --------
    >>> bagged(np.zeros(3), np.array([0, 0, 1]), np.zeros(2)).sizes["bag"]
    2
    """
    table = pd.DataFrame({"x": x, "f": field(x)})
    points = from_table(table, ["x"], "f", truth="f", aggregation="mean", kind="continuous")
    ds = assemble(points, members, np.zeros(len(y)), np.arange(len(y))).drop_vars("value")
    return add_mediators(ds, pd.DataFrame({"y": y}, index=ds["bag"].values))


@dataclass(frozen=True)
class LineWorld:
    """Bags of points, targets at other y, and places to predict at.

    Parameters
    ----------
    x, members : array (N,)
        Points, and the position of each one's bag.
    y : array (B,)
        Mediators of the bags.
    at, z : array (T,)
        Mediators of the targets, and the targets.
    line : array (201,)
        Places from 0 to 10.
    """

    x: np.ndarray
    members: np.ndarray
    y: np.ndarray
    at: np.ndarray
    z: np.ndarray
    line: np.ndarray

    @property
    def bags(self) -> xr.Dataset:
        """The bags, as `bagged`."""
        return bagged(self.x, self.members, self.y)

    @property
    def targets(self) -> xr.Dataset:
        """The targets, as `workbench.targets_from_table`."""
        return targets_from_table(pd.DataFrame({"y": self.at, "z": self.z}), "z", ["y"])

    @property
    def places(self) -> xr.Dataset:
        """The line as one bag, to predict at."""
        return bagged(self.line, np.zeros(len(self.line), int), np.zeros(1))


def line_world(seed: int = 3, *, bags: int = 60, targets: int = 30) -> LineWorld:
    """Draw bags of 5 to 40 points and targets of conditional means, at other places.

    Parameters
    ----------
    seed : int
        Of everything random.
    bags, targets : int
        How many.

    Returns
    -------
    LineWorld

    Examples
    --------
    >>> line_world().x.size
    1291
    """
    rng = np.random.default_rng(seed)
    sizes, y = rng.integers(5, 41, bags), np.sort(rng.uniform(0, 10, bags))
    members = np.repeat(np.arange(bags), sizes)
    x = y[members] + SPREAD * rng.normal(size=members.size)
    at = np.sort(rng.uniform(0, 10, targets))
    return LineWorld(x, members, y, at, mean_field(at) + NOISE * rng.normal(size=targets),
                     np.linspace(0, 10, 201))
