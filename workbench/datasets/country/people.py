"""People of a simulated country: towns by rank, farms along rivers, roads between them."""

from __future__ import annotations

import numpy as np
from scipy import ndimage
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from workbench.datasets.country.terrain import Terrain, noise


def make_population(
    terrain: Terrain, persons: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Settle a country: towns whose sizes fall with rank, and a countryside.

    Parameters
    ----------
    terrain : Terrain
        The land.
    persons : float
        People in all.
    rng : np.random.Generator
        Source of randomness.

    Returns
    -------
    population : np.ndarray
        Persons per pixel, positive on land and zero at sea.
    towns : np.ndarray
        Flat positions of the towns, the largest first.
    """
    land, pixels = terrain.land, int(terrain.land.sum())
    span = terrain.cell * np.sqrt(pixels)
    fit = np.exp(
        -terrain.elevation / 900 - terrain.river_distance / (0.05 * span)
        + 0.5 * noise(land.shape, 1.0, 0.2, rng)
    ) + 0.02
    fit *= land
    count = int(np.clip(pixels / 180, 12, 600))
    towns = rng.choice(land.size, size=count, replace=False, p=(fit**2 / (fit**2).sum()).ravel())
    size = 1 / np.arange(1, count + 1) ** 0.9  # Zipf
    population = np.zeros(land.shape)
    # Larger towns are wider; towns of about one width are blurred together.
    width = np.clip(0.035 * np.sqrt(pixels) * np.sqrt(size), 0.7, None)
    step = np.round(np.log(width) / 0.15)
    for s in np.unique(step):
        seeds = np.zeros(land.shape)
        seeds.ravel()[towns[step == s]] = size[step == s]
        population += ndimage.gaussian_filter(seeds, np.exp(0.15 * s), mode="constant")
    population *= land * np.exp(0.35 * noise(land.shape, 0.3, 0.05, rng))
    rural = fit * np.exp(0.6 * noise(land.shape, 0.6, 0.1, rng))
    population = persons * (
        0.6 * population / population.sum() + 0.4 * rural / rural.sum()
    )
    return np.where(land, np.maximum(population, 0.1), 0.0), towns


def travel_time(terrain: Terrain, towns: np.ndarray) -> np.ndarray:
    """Hours to the nearest of the given towns, slower uphill and across rivers.

    Parameters
    ----------
    terrain : Terrain
        The land.
    towns : np.ndarray
        Flat positions of the towns.

    Returns
    -------
    np.ndarray
        Hours on land; meaningless at sea.
    """
    land, cell = terrain.land, terrain.cell
    gradient = np.hypot(*np.gradient(terrain.elevation, cell * 1000))
    pace = (1 / 40) * (1 + 25 * gradient + 0.5 * (terrain.river_distance == 0))  # hours per km
    number = np.cumsum(land.ravel()).reshape(land.shape) - 1
    left, right, hours = [], [], []
    for (here, there), length in (
        (((slice(None), slice(None, -1)), (slice(None), slice(1, None))), 1.0),
        (((slice(None, -1), slice(None)), (slice(1, None), slice(None))), 1.0),
        (((slice(None, -1), slice(None, -1)), (slice(1, None), slice(1, None))), np.sqrt(2)),
        (((slice(None, -1), slice(1, None)), (slice(1, None), slice(None, -1))), np.sqrt(2)),
    ):
        both = land[here] & land[there]
        left.append(number[here][both])
        right.append(number[there][both])
        hours.append(length * cell * (pace[here] + pace[there])[both] / 2)
    count = int(land.sum())
    graph = coo_array(
        (np.concatenate(hours), (np.concatenate(left), np.concatenate(right))),
        shape=(count, count),
    ).tocsr()
    time = dijkstra(graph, directed=False, indices=number.ravel()[towns], min_only=True)
    field = np.zeros(land.shape)
    # A pixel cut off by the sea is reached by boat from the nearest that is not.
    field[land] = np.where(np.isfinite(time), time, time[np.isfinite(time)].max())
    return field
