"""The simulated city: its readings, its stations over time, and a grid of pixels at any hour."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.ui.base.cache import Cache

SPACING = 0.5           # km, of a pixel
APART = 1.75            # km between the points of a satellite cell's bag, each way
_CITIES = Cache(4)
QUANTILES = (0.01, 0.99)


@dataclass(frozen=True, eq=False)
class Places:
    """Fixed places with the inputs of models, but for the time.

    Parameters
    ----------
    xy : array (n, 2)
        In km.
    features : array (n, 3)
        Covariates that do not change.
    still : dict
        What of the air does not change: for `workbench.datasets.several_sources.city_air.City.no2`.
    """

    xy: np.ndarray
    features: np.ndarray
    still: dict

    def inputs(self, hours: np.ndarray) -> np.ndarray:
        """Inputs of models at all places for each hour, hour by hour (h n, 6)."""
        count = len(self.xy)
        time = np.repeat(np.asarray(hours, dtype=float), count)[:, None]
        fixed = np.hstack([self.features, self.xy])
        return np.hstack([time, np.tile(fixed, (len(hours), 1))])


@dataclass(frozen=True, eq=False)
class CityData:
    """A city with its sources.

    Parameters
    ----------
    air : City
        The truth.
    sources : dict
        Bagged datasets, "stations" and "satellite".
    pixels, stations : Places
    names : tuple of str
        Of the stations.
    readings : array (stations, hours)
        With noise; NaN where missing.
    truth : array (stations, hours)
    half : int
        Hours that stations train.
    outlines : xr.Dataset
    cells : array (cells, 2)
        Centres of the satellite's cells; they are ``side`` km wide.
    seen : dict
        Satellite's values in the order of the cells, by hour.
    colours : (float, float)
        Ends of the colour scale of NO2.
    """

    air: object
    sources: dict
    pixels: Places
    stations: Places
    names: tuple[str, ...]
    readings: np.ndarray
    truth: np.ndarray
    half: int
    outlines: object
    cells: np.ndarray
    side: float
    seen: dict[int, np.ndarray]
    shape: tuple[int, int]
    colours: tuple[float, float]

    @property
    def hours(self) -> np.ndarray:
        """All hours."""
        return np.arange(2 * self.half)

    def truth_at(self, hour: int) -> np.ndarray:
        """True NO2 of each pixel at an hour."""
        return self.air.no2(self.pixels.xy, float(hour), self.pixels.still)

    @property
    def own_means(self) -> float:
        """RMSE in the held-out half of each station's mean reading: what a model is to beat."""
        known = np.isfinite(self.readings[:, :self.half])
        total = np.where(known, self.readings[:, :self.half], 0.0).sum(1)
        means = total / np.maximum(known.sum(1), 1)
        return float(np.sqrt(((means[:, None] - self.truth)[:, self.half:] ** 2).mean()))

    def overpass(self, hour: int) -> int:
        """Hour of the last overpass, or of the first before that."""
        return max((h for h in self.seen if h <= hour), default=min(self.seen))


def options(seed: int, stations: int, hours: int, cell: float) -> dict:
    """Options of ``load_sources("simulated-city")`` for a city of this app."""
    return {"seed": seed, "stations": stations, "hours": hours, "cell": cell,
            "points": round(cell / APART)}


def city(seed: int, stations: int, hours: int, cell: float = 7.0) -> CityData:
    """A city, made once for the whole process; takes some seconds.

    Parameters
    ----------
    seed, stations, hours
        Of the dataset ``simulated-city``.
    cell : float
        Side of the satellite's cells in km; points of their bags lie equally dense in all.
    """
    key = seed, stations, hours, cell
    return _CITIES.get(key, lambda: _make(options(*key), hours))


def _make(given: dict, hours: int) -> CityData:
    from workbench.datasets import load_sources
    from workbench.datasets.several_sources import city_map, city_outlines
    from workbench.datasets.several_sources.city_air import make_city
    from workbench.datasets.several_sources.tree import settings

    tree = load_sources("simulated-city", **given)
    sources = {name: node.to_dataset() for name, node in tree["sources"].children.items()}
    target, air = tree["target"].to_dataset(), make_city(int(settings(tree)["seed"]))
    grid = city_map(tree, 0, SPACING)
    names = tuple(dict.fromkeys(target["station"].values.tolist()))
    rows = [int(np.flatnonzero(target["station"].values == name)[0]) for name in names]
    pixels, where = _places(grid, air), _places(target.isel(individual=rows), air)
    readings = np.full((len(names), 2 * hours), np.nan)
    for ds in (sources["stations"], target):
        at = [names.index(name) for name in ds["station"].values]
        readings[at, ds["covariates"].values[:, 0].astype(int)] = ds["individual_value"].values
    truth = np.column_stack([air.no2(where.xy, float(h), where.still) for h in range(2 * hours)])
    every = np.concatenate([air.no2(pixels.xy, float(h), pixels.still)
                            for h in range(0, 2 * hours, 3)])
    cells = sources["satellite"]
    first = np.unique(cells["membership"].values, return_index=True)[1]
    when = cells["covariates"].values[first, 0].astype(int)
    centres = np.column_stack([cells["cell_x"].values, cells["cell_y"].values])
    return CityData(
        air, sources, pixels, where, names, readings, truth, hours, city_outlines(tree),
        centres[when == when[0]], float(cells["cell_size"].values[0]),
        {int(h): cells["value"].values[when == h] for h in np.unique(when)},
        tuple(grid.attrs["grid_shape"]),
        tuple(float(v) for v in np.quantile(every, QUANTILES)))


def _places(ds, air) -> Places:
    xy = np.column_stack([ds["x"].values, ds["y"].values])
    return Places(xy, ds["covariates"].values[:, 1:], air.places(xy))
