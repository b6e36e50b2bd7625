"""A simulated country: rivers, towns, three administrative levels, a rate known everywhere."""

from __future__ import annotations

import numpy as np
import xarray as xr
from scipy import ndimage

from workbench import schema
from workbench.bagging import assemble, bag_values, merge
from workbench.checks import choose, package, require
from workbench.datasets.country.borders import area_mass, divide, without_fragments
from workbench.datasets.country.people import make_population, travel_time
from workbench.datasets.country.terrain import Terrain, make_terrain, noise

LEVELS = ("district", "region", "province")
# A plane in kilometres around a point in the empty South Atlantic: the country is nowhere.
CRS_KM = "+proj=aeqd +lat_0=-30 +lon_0=-20 +datum=WGS84 +units=km +no_defs"
UNITS = {
    "elevation": "m", "wetness": "1", "temperature": "degC", "night_lights": "1",
    "accessibility": "h", "slope": "degree", "river_distance": "km", "coast_distance": "km",
    "rainfall": "mm/year", "vegetation": "1", "temperature_range": "degC", "clay": "%",
    "sand": "%", "cloud_cover": "%", "humidity": "%", "forest": "%", "northness": "1",
    "irrigation": "1",
}


def load(
    level: str = "district",
    pixels: int = 10_000,
    districts: int = 120,
    regions: int = 24,
    provinces: int = 6,
    smallest: int = 8,
    largest: int = 600,
    covariates: int = 5,
    cell_km: float = 5.0,
    persons_per_pixel: float = 500.0,
    mean_rate: float = 0.05,
    seed: int = 0,
) -> xr.Dataset:
    """Simulated country (made): cases by district, and the true rate of every pixel, for teaching.

    The rate rises along rivers and in warm lowland, falls where lights are bright, and varies
    smoothly by something no covariate knows. Cases are Poisson in every pixel. The shape of Law
    et al.'s malaria data comes with ``pixels=1_044_683, districts=957, regions=150,
    provinces=18, smallest=13, largest=6_667, covariates=18, cell_km=1``.

    Parameters
    ----------
    level : {"district", "region", "province"}
        Areas whose totals are seen; districts nest in regions and these in provinces.
    pixels : int
        Pixels of land.
    districts, regions, provinces : int
        Areas of each level.
    smallest, largest : int
        Bounds on the pixels in a district.
    covariates : int
        How many, 5 to 18: elevation, wetness, temperature, night lights, accessibility first.
    cell_km : float
        Side of a pixel in km.
    persons_per_pixel : float
        Mean population of a pixel.
    mean_rate : float
        Cases per person in the whole country, in expectation.
    seed : int
        Another country for every seed.

    Returns
    -------
    xr.Dataset
        Individuals are pixels with truth (cases per person) and individual_value (cases).
    """
    choose("level", level, LEVELS)
    require(5 <= covariates <= len(UNITS),
            f"covariates must be a number from 5 to {len(UNITS)}, got {covariates}")
    require(pixels >= 200, f"a country needs at least 200 pixels, got {pixels}")
    require(cell_km > 0 and persons_per_pixel > 0 and mean_rate > 0,
            "cell_km, persons_per_pixel and mean_rate must be positive")
    # Every part has its own stream, so that one option does not stir all others.
    streams = [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(6)]
    terrain = make_terrain(pixels, cell_km, streams[0])
    population, towns = make_population(terrain, persons_per_pixel * pixels, streams[1])
    hours = travel_time(terrain, towns[: max(3, towns.size // 8)])
    fields = _covariates(terrain, population, hours, streams[2], covariates)
    rate = _rate(terrain, fields, population, mean_rate, streams[3])
    parts = _administration(terrain, population, (provinces, regions, districts),
                            (smallest, largest), streams[4])
    ds = _bagged(terrain, population, fields, rate, parts, streams[5])
    ds.attrs |= {
        "title": f"A simulated country, seed {seed}", "source": "simulated",
        "licence": "BSD-3-Clause", "level": "district", "levels": ",".join(LEVELS),
        "seed": int(seed),
    }
    return ds if level == "district" else merge(ds, level)


def _covariates(
    terrain: Terrain, population: np.ndarray, hours: np.ndarray, rng: np.random.Generator,
    count: int,
) -> dict[str, np.ndarray]:
    """The first ``count`` covariates, each on the whole grid."""
    land, shape, cell = terrain.land, terrain.land.shape, terrain.cell
    span = cell * np.sqrt(land.sum())
    north = np.linspace(1, -1, shape[0])[:, None] * np.ones(shape)
    height = terrain.elevation / 1000
    rain = noise(shape, 1.2, 0.4, rng)
    # Wet along rivers, the more so the more they drain, and where it rains.
    valley = np.exp(-terrain.river_distance / (0.03 * span))
    flow = ndimage.gaussian_filter(np.log1p(terrain.drained * land), 0.8)
    wetness = 1.6 * valley + 0.25 * flow + 0.35 * rain - 0.5 * height
    warm = 27 - 6.2 * height - 2.5 * north + 0.8 * noise(shape, 1.3, 0.3, rng)
    glow = ndimage.gaussian_filter(population, 0.7)
    lights = np.log1p(glow / 400) * np.exp(0.15 * noise(shape, 0.8, 0.3, rng))
    made = {
        "elevation": lambda: terrain.elevation,
        "wetness": lambda: wetness,
        "temperature": lambda: warm,
        "night_lights": lambda: lights,
        "accessibility": lambda: hours,
        "slope": lambda: np.degrees(np.arctan(np.hypot(
            *np.gradient(terrain.elevation, cell * 1000)))),
        "river_distance": lambda: terrain.river_distance,
        "coast_distance": lambda: terrain.coast_distance,
        "rainfall": lambda: 1100 * np.exp(0.3 * rain + 0.15 * height),
        "vegetation": lambda: 0.5 + 0.1 * rain + 0.1 * valley + 0.06 * noise(shape, 0.8, 0.2, rng),
        "temperature_range": lambda: 9 + 1.5 * height + noise(shape, 1.2, 0.3, rng),
        "clay": lambda: 30 + 8 * noise(shape, 0.9, 0.2, rng) + 5 * valley,
        "sand": lambda: 45 + 9 * noise(shape, 0.9, 0.2, rng) - 6 * valley,
        "cloud_cover": lambda: 50 + 9 * rain + 6 * noise(shape, 1.3, 0.4, rng),
        "humidity": lambda: 65 + 6 * rain + 5 * valley - 4 * height,
        "forest": lambda: 100 / (1 + np.exp(-(rain + height - 0.8 * lights
                                              + 0.7 * noise(shape, 0.7, 0.15, rng)))),
        "northness": lambda: np.cos(np.arctan2(*np.gradient(terrain.elevation)[::-1])),
        "irrigation": lambda: valley * np.exp(-height) * (1 + 0.2 * noise(shape, 0.8, 0.2, rng)),
    }
    return {name: made[name]()[land] for name in list(UNITS)[:count]}


def _rate(
    terrain: Terrain, fields: dict[str, np.ndarray], population: np.ndarray, mean_rate: float,
    rng: np.random.Generator,
) -> np.ndarray:
    """True cases per person: mostly explained, partly a smooth field of its own."""
    def standard(values: np.ndarray) -> np.ndarray:
        return (values - values.mean()) / values.std()

    hidden = noise(terrain.land.shape, 1.3, 0.25, rng)[terrain.land]
    log_rate = (
        0.65 * standard(fields["wetness"])
        + 0.45 * standard(fields["temperature"]) - 0.12 * standard(fields["temperature"]) ** 2
        - 0.25 * standard(fields["night_lights"])
        + 0.10 * standard(fields["accessibility"])
        + 0.30 * hidden
    )
    rate = np.exp(log_rate)
    people = population[terrain.land]
    return rate * mean_rate * people.sum() / (people * rate).sum()


def _administration(
    terrain: Terrain, population: np.ndarray, counts: tuple[int, int, int],
    bounds: tuple[int, int], rng: np.random.Generator,
) -> np.ndarray:
    """Province, region and district of every land pixel, (pixel, 3)."""
    land, shape = terrain.land, terrain.land.shape
    mass = area_mass(population[land], counts[2], *bounds)
    row, column = np.nonzero(land)
    # Bent coordinates make winding borders; the bend is about a third of a district.
    bend = 0.3 * np.sqrt(land.sum() / counts[2])
    points = np.column_stack([
        (axis + bend * noise(shape, 1.0, 0.12, rng)[land]) for axis in (row, column)
    ])
    labels = divide(points, mass, counts, rng)
    district = np.full(shape, -1)
    district[land] = labels[:, 2]
    above = np.zeros((counts[2], 3), dtype=np.int64)
    above[labels[:, 2]] = labels
    return above[without_fragments(district, *bounds)[land]]


def _bagged(
    terrain: Terrain, population: np.ndarray, fields: dict[str, np.ndarray], rate: np.ndarray,
    parts: np.ndarray, rng: np.random.Generator,
) -> xr.Dataset:
    land, shape, cell = terrain.land, terrain.land.shape, terrain.cell
    row, column = np.nonzero(land)
    people = population[land]
    cases = rng.poisson(people * rate).astype(float)
    individual, distance = schema.INDIVIDUAL, {"units": "km"}
    described = {"long_name": "cases", "units": "cases", "aggregation": "sum", "kind": "count"}
    pixels = xr.Dataset(
        {
            "covariates": ((individual, schema.COVARIATE), np.column_stack(list(fields.values()))),
            "weight": (individual, people, {"long_name": "population", "units": "persons"}),
            "truth": (individual, rate, {"long_name": "true rate", "units": "cases per person"}),
            "individual_value": (individual, cases, described),
        },
        coords={
            "covariate": list(fields),
            "covariate_units": (schema.COVARIATE, [UNITS[name] for name in fields]),
            "x": (individual, (column + 0.5) * cell, distance),
            "y": (individual, (shape[0] - row - 0.5) * cell, distance),
            "row": (individual, row),
            "column": (individual, column),
            "coverage": (individual, np.ones(row.size)),
        },
    )
    district = parts[:, 2]
    count = int(district.max()) + 1
    first = np.unique(district, return_index=True)[1]
    transform = (cell, 0.0, 0.0, 0.0, -cell, shape[0] * cell)
    width = len(str(count))
    ds = assemble(
        pixels, district, bag_values(cases, people, district, count, "sum"),
        np.array([f"D{d + 1:0{width}d}" for d in range(count)]),
        bag_coords={
            "bag_name": np.array([f"District {d + 1}" for d in range(count)]),
            "region": np.array([f"Region {r + 1:03d}" for r in parts[first, 1]]),
            "province": np.array([f"Province {p + 1:02d}" for p in parts[first, 0]]),
            "bag_geometry": _outlines(land, district, count, transform),
        },
        value_attrs=described,
    )
    ds = ds.assign_coords(individual=np.arange(row.size))
    ds.attrs |= {
        "crs": CRS_KM, "grid_transform": list(transform), "grid_shape": [int(n) for n in shape],
        "treatments": "none",
    }
    return ds


def _outlines(
    land: np.ndarray, district: np.ndarray, count: int, transform: tuple[float, ...]
) -> np.ndarray:
    """Outline of each district along its pixels."""
    shapely = package("shapely", extra="geo")
    features = package("rasterio.features", extra="geo")
    affine = package("affine", extra="geo")
    grid = np.full(land.shape, -1, dtype=np.int32)
    grid[land] = district
    parts: list[list] = [[] for _ in range(count)]
    for shape, number in features.shapes(grid, mask=land, transform=affine.Affine(*transform)):
        parts[int(number)].append(shapely.geometry.shape(shape))
    outlines = np.empty(count, dtype=object)
    outlines[:] = [p[0] if len(p) == 1 else shapely.union_all(p) for p in parts]
    return outlines
