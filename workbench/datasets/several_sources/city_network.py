"""Stations of a simulated city: where they stand, what they read, what gets lost."""

from __future__ import annotations

import numpy as np
import pandas as pd

from workbench.datasets.several_sources.city_air import START, City
from workbench.datasets.several_sources.city_plan import CENTRE, EXTENT, FEATURES

_ROADSIDE = 0.6                 # share of the stations
_OUTAGE = 5                     # hours, mean length


def station_network(city: City, count: int, rng: np.random.Generator) -> pd.DataFrame:
    """Places of stations with their features, more of them where it is densely built.

    Parameters
    ----------
    city : City
        Where they stand.
    count : int
        Six out of ten stand 10 to 40 m from a main road, the others have none within 100 m.
    rng : np.random.Generator
        Source of randomness.

    Returns
    -------
    pandas.DataFrame
        Columns x, y (km), kind, station and the features.
    """
    roadside = round(_ROADSIDE * count)
    plan, found = city.plan, []
    while len(found) < count:
        by_road = len(found) < roadside
        if by_road:
            piece = plan.segments[rng.integers(len(plan.segments))]
            start, end = piece[:2], piece[2:]
            across = np.array([start[1] - end[1], end[0] - start[0]]) / np.hypot(*(end - start))
            place = start + rng.uniform() * (end - start) + across * rng.uniform(0.01, 0.04)
        else:
            place = CENTRE + rng.normal(0, 8, 2) * (1.15, 1)
        inside = bool(((place > 0.5) & (place < np.array(EXTENT) - 0.5)).all())
        apart = all(np.hypot(*(place - other)) > 0.6 for other in found)
        dense = plan.density(place[None])[0] > rng.uniform(0, 0.7)
        away = by_road or plan.features(place[None])[0, 0] == 0
        if inside and apart and dense and away and not plan.is_green(place[None])[0]:
            found.append(place)
    table = pd.DataFrame(np.array(found), columns=["x", "y"])
    table["kind"] = np.where(np.arange(count) < roadside, "road", "background")
    table["station"] = [f"S{n + 1:0{len(str(count))}d}" for n in range(count)]
    return with_features(table, city)


def with_features(table: pd.DataFrame, city: City) -> pd.DataFrame:
    """A table of places x, y (km) with the features of the city's plan as columns."""
    found = city.plan.features(table[["x", "y"]].to_numpy(float))
    return table.assign(**dict(zip(FEATURES, found.T, strict=True)))


def hourly_readings(city: City, places: pd.DataFrame, hours: int) -> pd.DataFrame:
    """One row per station and hour, station by station, with the true NO2.

    Parameters
    ----------
    city : City
        Its air.
    places : DataFrame
        From `station_network`.
    hours : int
        From the start.

    Returns
    -------
    pd.DataFrame
        Columns of the stations, ``time`` and ``truth``.
    """
    truth = city.table(places[["x", "y"]].to_numpy(float), np.arange(hours))
    table = places.loc[places.index.repeat(hours)].reset_index(drop=True)
    table["time"] = np.tile(pd.date_range(START, periods=hours, freq="h", unit="ns"), len(places))
    return table.assign(truth=truth.ravel())


def outages(stations: int, hours: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Which readings are lost, (stations, hours) of bool: exactly the share, rounded.

    Parameters
    ----------
    stations, hours : int
        Size of the network and length of its time.
    share : float
        Share that is lost, in stretches of some hours.
    rng : np.random.Generator
        Source of randomness.

    Returns
    -------
    bool array (stations, hours)
        True where lost.
    """
    lost, wanted = np.zeros((stations, hours), dtype=bool), round(share * stations * hours)
    while (left := wanted - int(lost.sum())) > 0:
        station, start = rng.integers(stations), rng.integers(hours)
        length = min(rng.geometric(1 / _OUTAGE), left)
        lost[station, start:start + length] = True
    return lost
