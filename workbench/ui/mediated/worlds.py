"""Fields that are known everywhere: thinned for answers while a slider moves, and in full."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
import xarray as xr

HOURS = (10, 11, 12)
LEVELS = {1: 5, 4: 75, 7: 205, 10: 395, 13: 645, 16: 955, 19: 1325}    # m above flat ground
SIZE = 180              # rows of the made climate
TARGET = "temperature"
NOISE = 0.2             # K, sd of what is added to the mean of a block of the made climate
SEED = 11               # stream of the noise on blocks of the made climate
LADDER = (1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0)


def stops(low: float, high: float) -> list[float]:
    """Round values a factor of about 1.4 apart."""
    found = [float(f"{step * 10.0**power:g}") for power in range(-9, 7) for step in LADDER]
    return [value for value in found if low <= value <= high]


@dataclass(frozen=True)
class Place:
    """A source of fields: what can be chosen there, and where sliders begin.

    Parameters
    ----------
    title : str
    thin : int
        Pixels that are averaged, along each side, for live answers.
    sides : tuple of int
        Sides of the blocks in thinned pixels: at most 500 bags.
    unit : str
        Of places.
    pixel : float
        Side of a full pixel in that unit.
    reach : (float, float)
        Shortest and longest lengthscale over places.
    detail : (float, float, str)
        The same of the kernel on covariates, with its unit.
    mediators : mapping
        Fields that can mediate: title, unit, and a typical difference.
    start : mapping
        Where sliders begin: learnt at the first split.
    fine : bool
        Whether the map in full can be computed within minutes.
    """

    title: str
    thin: int
    sides: tuple[int, ...]
    unit: str
    pixel: float
    reach: tuple[float, float]
    detail: tuple[float, float, str]
    mediators: Mapping[str, tuple[str, str, float]]
    start: Mapping[str, object]
    fine: bool = True


_AIR = {f"theta_{level}": (f"air {height:,} m up", "K", 0.5) for level, height in LEVELS.items()}
PLACES = {
    "uk": Place(
        "UK, forecast at 1.5 km (real data)", 3, (3, 4, 5, 6, 8, 10, 12, 15), "km", 1.5, (4, 1500),
        (20, 3000, "m"), {**_AIR, "orography": ("orography", "m", 100.0)},
        {"side": 4, "lengthscale": 80.0, "spread": 0.56, "detail": 400.0, "detail_spread": 0.8,
         "noise": 0.1, "mediator": "theta_19.place", "joint": "sum", "far": 140.0, "near": 0.28,
         "share_of_place": 0.3, "ridge": 1e-6}),
    "made": Place(
        "Synthetic globe, 1 degree", 4, (3, 4, 5, 6, 9, 15), "degree", 1.0, (1, 180),
        (0.1, 20, "sd"), {"pressure": ("pressure", "hPa", 50.0),
                          "cloud_cover": ("cloud cover", "%", 25.0),
                          "altitude": ("altitude", "m", 500.0)},
        {"side": 3, "lengthscale": 56.0, "spread": 10.0, "detail": 2.8, "detail_spread": 5.6,
         "noise": 1.4, "mediator": "pressure.place", "joint": "sum", "far": 56.0, "near": 80.0,
         "share_of_place": 0.7, "ridge": 1e-5}),
    "cmip6": Place(
        "CMIP6, cloud top, annual mean (your files)", 8, (3, 4, 5, 6, 8, 11), "degree", 0.5,
        (1, 180), (50, 8000, "m"), {"pressure": ("pressure", "Pa", 5000.0),
                                    "altitude": ("altitude", "m", 500.0)},
        {"side": 4, "lengthscale": 10.0, "spread": 20.0, "detail": 56.0, "detail_spread": 4.0,
         "noise": 4.0, "mediator": "pressure.place", "joint": "sum", "far": 28.0, "near": 20e3,
         "share_of_place": 0.5, "ridge": 1e-4}, fine=False),
}


@dataclass(frozen=True, eq=False)
class World:
    """Fields on the thinned grid and on the full one.

    Parameters
    ----------
    name : str
        In `PLACES`.
    thin, full : xr.Dataset (y, x)
        ``temperature``, the covariates, and fields that can mediate.
    covariates : dict of str to str
        Covariates of pixels, and their units.
    title : str
    noise : float
        Standard deviation of what is added to the mean of every block.
    draw : int
        Seed of that noise.
    """

    name: str
    thin: xr.Dataset
    full: xr.Dataset
    covariates: dict[str, str]
    title: str
    noise: float = 0.0
    draw: int = 0
    colours: tuple[float, float] = field(init=False)    # 1st to 99th percentile of the truth

    def __post_init__(self):
        ends = np.quantile(self.thin[TARGET].values, (0.01, 0.99))
        object.__setattr__(self, "colours", (float(ends[0]), float(ends[1])))

    @property
    def place(self) -> Place:
        """What can be chosen here."""
        return PLACES[self.name]

    def pixel(self, fine: bool = False) -> float:
        """Side of a pixel."""
        return self.place.pixel * (1 if fine else self.place.thin)


def offered() -> dict[str, str]:
    """Sources by title: the user's own only where their files are."""
    from workbench.checks import InputError
    from workbench.datasets.climate.cmip6 import SHA256
    from workbench.datasets.downloads import locate

    names = ["uk", "made"]
    try:
        locate("cmip6", SHA256, None)
        names.append("cmip6")
    except InputError:
        pass
    return {PLACES[name].title: name for name in names}


@lru_cache(maxsize=6)
def world(name: str, hour: int = 10, level: int = 1, draw: int = 0) -> World:
    """Fields of a source; those of the UK at an hour and a height, a simulated globe of a draw."""
    import workbench as wb

    dataset, options = loaded(name, hour, level, draw)
    more = {"noise": NOISE, "draw": draw} if name == "made" else {}
    return _world(name, wb.load(dataset, **options), **more)


def loaded(name: str, hour: int = 10, level: int = 1, draw: int = 0) -> tuple[str, dict]:
    """Which dataset holds the fields of a source, and its options; its blocks are thinned pixels.

    Parameters
    ----------
    name, hour, level, draw
        As of `world`.
    """
    thin, fields = PLACES[name].thin, list(PLACES[name].mediators)
    if name == "uk":
        return "uk-temperature", {"level": level, "hour": hour, "block": thin, "mediators": [
            n for n in fields if n != f"theta_{level}"]}
    if name == "made":
        return "simulated-climate", {"size": SIZE, "block": thin, "seed": draw, "noise": 0.0}
    return "cmip6-temperature", {"block": thin}


def _world(name: str, ds: xr.Dataset, **more) -> World:
    """Block means are the thinned fields, and the pixels inside them the full ones."""
    from workbench.bagging import bag_values

    thin = PLACES[name].thin
    rows, columns = (int(n) for n in ds.attrs["block_shape"])
    weight, members = ds["weight"].values, ds["membership"].values
    covariates = {str(n): str(u) for n, u in
                  zip(ds["covariate"].values, ds["covariate_units"].values, strict=True)}
    units = {str(n): str(u) for n, u in
             zip(ds["mediator"].values, ds["mediator_units"].values, strict=True)
             if n not in ("x", "y")}
    coarse = {TARGET: ds["value"].values} | {
        n: bag_values(ds["covariates"].values[:, i], weight, members, ds.sizes["bag"], "mean")
        for i, n in enumerate(covariates)} | {
        n: ds["mediators"].sel(mediator=n).values for n in units}
    own = {TARGET: ds["truth"].values} | {
        n: ds["covariates"].values[:, i] for i, n in enumerate(covariates)}
    fine = {n: own.get(n, coarse[n][members]) for n in coarse}
    told = {TARGET: ds["truth"].attrs} | {n: {"units": u} for n, u in {**covariates,
                                                                        **units}.items()}
    unit = PLACES[name].unit

    def grid(values, row, column, x, y, shape) -> xr.Dataset:
        east, north = np.empty(shape[1]), np.empty(shape[0])
        east[column], north[row] = x, y
        # Even to the last digit: means over pixels leave coordinates uneven by rounding.
        axes = {axis: (axis, np.linspace(along[0], along[-1], along.size), {"units": unit})
                for axis, along in (("y", north), ("x", east))}
        images = {}
        for n, v in values.items():
            images[n] = np.empty(shape)
            images[n][row, column] = v
        return xr.Dataset({n: (("y", "x"), v, told[n]) for n, v in images.items()}, axes)

    return World(
        name,
        grid(coarse, ds["block_row"].values, ds["block_column"].values, ds["bag_x"].values,
             ds["bag_y"].values, (rows, columns)),
        grid(fine, ds["row"].values, ds["column"].values, ds["x"].values, ds["y"].values,
             (rows * thin, columns * thin)),
        covariates, str(ds.attrs["title"]), **more)
