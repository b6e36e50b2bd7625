"""A simulated city: hourly NO2 at stations and in biased satellite cells; known everywhere."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from workbench.checks import require, whole
from workbench.datasets.several_sources.city_air import START, City, make_city
from workbench.datasets.several_sources.city_bags import (
    regular_places,
    satellite_bags,
    station_bags,
)
from workbench.datasets.several_sources.city_network import (
    hourly_readings,
    outages,
    station_network,
    with_features,
)
from workbench.datasets.several_sources.city_plan import EXTENT, FEATURES, Waves
from workbench.datasets.several_sources.tree import make_tree

_INNER = 3                      # points of a cell's mean per point of its bag, each way


def load(
    seed: int = 0,
    stations: int = 30,
    hours: int = 36,
    cell: float = 7.0,
    points: int = 10,
    every: int = 6,
    missing: float = 0.2,
    station_noise: float = 2.0,
    satellite_noise: float = 1.5,
    satellite_scale: float = 0.6,
    satellite_offset: float = 6.0,
) -> xr.DataTree:
    """Simulated city: NO2 at 30 stations and in satellite cells, true at every place.

    A city of 42 x 35 km with main roads, parks and a river; NO2 is a background that the weather
    moves and, within some hundred metres of main roads, what traffic adds by the hour. Stations
    and satellite see the first half of three days, the satellite alone the second; stations in
    the second half are the target. It stands for the paper's London, whose data are not shipped
    here: `workbench.sources_from_tables` makes the same task of your own tables.

    Parameters
    ----------
    seed : int
        Another city, weather and network for every seed.
    stations : int
        Six out of ten stand by main roads, the others away from them.
    hours : int
        Length of each half.
    cell : float
        Side of a satellite cell in km, of which 42 and 35 are multiples.
    points : int
        A cell's bag has ``points`` x ``points`` individuals.
    every : int
        Hours between overpasses, the first of them a third of that after midnight (2, 8, 14 and
        20 h for six). The product of the paper is hourly; fewer hours keep models on a laptop.
    missing : float
        Share of the stations' training readings that are lost, in outages of some hours.
    station_noise, satellite_noise : float
        Standard deviations in ug/m3.
    satellite_scale, satellite_offset : float
        The satellite shows about ``offset + scale * mean``; both vary smoothly, by a tenth of the
        scale over space and by 1.5 ug/m3 over space and time.

    Returns
    -------
    xr.DataTree
        Sources "stations" and "satellite", and ``target``. Covariates: time in h since midnight of
        the first day; main road within 100 m (m); height of buildings over width of street; parks
        and water within 100 m (ha); coordinates x, y in km. ``truth`` is the NO2 without noise and
        bias at every individual, in the satellite's bags too. The target has no missing readings;
        ``station`` and ``kind`` ("road" or "background") name its places.

    Raises
    ------
    InputError
        If a number is out of range or cells do not tile the city.

    References
    ----------
    Hamelijnck et al. 2019, section 6 (intra-task multi-resolution), Figure 4 and C.2; its
    satellite table has 196 rows of 100 points, its stations 1,020 rows (814 with readings) to
    train and 1,034 to test; here 360, 1,080 (864) and 1,080.
    """
    seed, stations = whole("seed", seed, 0), whole("stations", stations, 2)
    hours, points = whole("hours", hours, 2), whole("points", points, 1)
    every = whole("every", every, 1, hours)
    _check(cell, missing, (station_noise, satellite_noise, satellite_scale))
    options = {"seed": seed, "stations": stations, "hours": hours,
               "cell": float(cell), "points": points, "every": every,
               "missing": float(missing), "station_noise": float(station_noise),
               "satellite_noise": float(satellite_noise),
               "satellite_scale": float(satellite_scale),
               "satellite_offset": float(satellite_offset)}
    city = make_city(seed)
    # Every part has its own stream, so that one option does not stir the others.
    network, noise, lost, above = (
        np.random.default_rng(s) for s in np.random.SeedSequence([seed, 1]).spawn(4))
    readings = hourly_readings(city, station_network(city, stations, network), 2 * hours)
    readings["value"] = readings["truth"] + station_noise * noise.standard_normal(len(readings))
    early = readings["time"] < START + pd.Timedelta(hours=hours)
    train, test = readings[early].copy(), readings[~early]
    train.loc[outages(stations, hours, missing, lost).ravel(), "value"] = np.nan
    satellite = _satellite(city, cell, points, np.arange(every // 3, 2 * hours, every), above,
                           satellite_noise, (satellite_scale, satellite_offset))
    return make_tree(
        {"stations": station_bags(train, FEATURES, START, "of the first half", truth="truth"),
         "satellite": satellite},
        station_bags(test, FEATURES, START, "of the second half", truth="truth"),
        title=f"A simulated city, seed {seed}", settings=options,
        notes=["Made by a simulation; the paper's data of London are not shipped here "
               "(sources_from_tables makes the task of your own tables).",
               "A cell's value is its mean over nine points for each individual of its bag, then "
               "biased: the bag discretises the cell, as in the paper.",
               f"Satellite every {every} h, the paper's hourly."],
        dataset="simulated-city", source="simulated", licence="BSD-3-Clause")


def _check(cell: float, missing: float, positive: tuple[float, ...]) -> None:
    tiles = [width / cell for width in EXTENT] if cell > 0 else [np.nan]
    require(bool(np.allclose(tiles, np.round(tiles))), f"cells of {cell} km do not tile a city of "
            f"{EXTENT[0]:g} x {EXTENT[1]:g} km; take 7, 3.5 or 1.75")
    require(0 <= missing <= 0.8, f"missing is a share from 0 to 0.8, got {missing}")
    require(min(positive) >= 0, "noise and scale must be zero or more, got "
            f"{', '.join(map(str, positive))}")


def _satellite(
    city: City, cell: float, points: int, hours: np.ndarray, rng: np.random.Generator,
    noise: float, bias: tuple[float, float],
) -> xr.Dataset:
    scale_field, offset_field = Waves((12.0, 12.0), rng), Waves((12.0, 12.0, 15.0), rng)
    columns, rows = (round(width / cell) for width in EXTENT)
    row, column = np.divmod(np.arange(rows * columns), columns)
    cells = pd.DataFrame({"x": (column + 0.5) * cell, "y": (row + 0.5) * cell, "size": cell})
    centres = cells[["x", "y"]].to_numpy()
    inner = city.table(regular_places(cells, _INNER * points)[["x", "y"]].to_numpy(), hours)
    mean = inner.reshape(len(cells), -1, hours.size).mean(1)
    scale = bias[0] * (1 + 0.1 * scale_field(centres))[:, None]
    offset = bias[1] + 1.5 * np.column_stack([
        offset_field(np.column_stack([centres, np.full(len(cells), hour)])) for hour in hours])
    table = cells.loc[cells.index.repeat(hours.size)].reset_index(drop=True)
    table["time"] = np.tile(START + pd.to_timedelta(hours, unit="h"), len(cells))
    table["value"] = (offset + scale * mean + noise * rng.standard_normal(mean.shape)).ravel()
    places = with_features(regular_places(cells, points), city)
    ds = satellite_bags(table, places, FEATURES, START)
    truth = city.table(places[["x", "y"]].to_numpy(), hours)
    when = np.searchsorted(hours, ds["covariates"].sel(covariate="time").values)
    ds["truth"] = ("individual", truth[ds["place"].values, when],
                   {"long_name": "NO2", "units": "ug/m3"})
    ds["value"].attrs |= {"scale": bias[0], "offset": bias[1]}
    return ds
