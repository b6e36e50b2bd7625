"""Models of the city: learnt once for the whole process, then mapped hour by hour."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import numpy as np

from workbench.ui.base.bands import HALF_95, Band
from workbench.ui.base.cache import Cache
from workbench.ui.base.jobs import Run, load_models
from workbench.ui.sources import stored
from workbench.ui.sources.city import CityData, Places, city
from workbench.ui.sources.state import CityKey

STEPS = 300             # most evaluations of the objective, of deep GPs also jointly
INDUCING = {"quick": 60, "paper": 150}
QUICK = 24              # most hours of a half that is learnt quickly
PAUSE = 0.4             # seconds without an event, after which learning begins
_FITS = Cache(12)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model learnt on a city, with its predictions at the stations for all hours.

    Parameters
    ----------
    key : CityKey
    data : CityData
    fit : object
        A fit to several sources, see `workbench.labelled`.
    mean, sd : array (stations, hours)
        Of the field.
    noise : array (stations, hours)
        Fitted standard deviation of a reading around it.
    seconds : float
        That learning took.
    cancelled, converged : bool
    stored : bool
        Whether it came with the app instead of being learnt now.
    """

    key: CityKey
    data: CityData
    fit: object
    mean: np.ndarray
    sd: np.ndarray
    noise: np.ndarray
    seconds: float
    cancelled: bool
    converged: bool
    stored: bool = False
    maps: dict = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def total(self) -> np.ndarray:
        """Standard deviation of a reading (stations, hours)."""
        return np.hypot(self.sd, self.noise)

    @property
    def held_out(self) -> Band:
        """Predictions of the readings in the half that is held out."""
        return Band(self.mean[self._later], self.total[self._later])

    @property
    def later(self) -> np.ndarray:
        """The readings there."""
        return self.data.readings[self._later]

    @property
    def rmse(self) -> float:
        """Against the truth at the stations in the half that is held out."""
        error = (self.mean - self.data.truth)[:, self.data.half:]
        return float(np.sqrt((error**2).mean()))

    @property
    def coverage(self) -> float:
        """Share of the readings there inside 95 % intervals of a reading."""
        return _inside(self.held_out.mean - self.later, self.held_out.sd)

    @property
    def field_coverage(self) -> float:
        """Share of the truth there inside 95 % intervals of the field, without noise."""
        later = slice(self.data.half, None)
        return _inside((self.mean - self.data.truth)[:, later], self.sd[:, later])

    @property
    def later_noise(self) -> float:
        """Median noise of a reading there."""
        return float(np.median(self.noise[:, self.data.half:]))

    @property
    def _later(self) -> np.ndarray:
        """Which readings are held out, and not missing (stations, hours)."""
        return np.isfinite(self.data.readings) & (self.data.hours >= self.data.half)

    def at(self, hour: int) -> Hour:
        """The map of an hour; kept."""
        with self.lock:
            if hour not in self.maps:
                found = predict(self.fit, self.data.pixels, np.array([hour]))
                self.maps[hour] = Hour(self, hour, *(values[:, 0] for values in found),
                                       self.data.truth_at(hour))
            return self.maps[hour]


@dataclass(frozen=True, eq=False)
class Hour:
    """What a model says of one hour at every pixel, and the truth."""

    fitted: Fitted
    hour: int
    mean: np.ndarray
    sd: np.ndarray          # of the field
    noise: np.ndarray       # of a reading around it
    truth: np.ndarray

    @property
    def total(self) -> np.ndarray:
        """Standard deviation of a reading at each pixel."""
        return np.hypot(self.sd, self.noise)

    @property
    def error(self) -> np.ndarray:
        """Predicted mean less truth."""
        return self.mean - self.truth

    @property
    def rmse(self) -> float:
        """Of the map."""
        return float(np.sqrt((self.error**2).mean()))

    @property
    def coverage(self) -> np.ndarray:
        """Share of the pixels' truth inside central intervals of a reading, at `bands.LEVELS`."""
        return Band(self.mean, self.total).coverage(self.truth)


def learn(key: CityKey, run: Run) -> Fitted:
    """A model of a city: kept, or the one that is stored, unless stopped early."""
    found = _FITS.peek(key)
    if found is not None:
        return found
    run.rest(PAUSE)
    run.send("doing", "city")
    load_models()
    data = city(*key.place)
    run.check()
    run.send("data", data)
    run.send("doing", "fit")
    fitted = from_store(key, data) or fit(data, key, run.tick)
    if not fitted.cancelled:
        _FITS.keep(key, fitted)
    return fitted


def from_store(key: CityKey, data: CityData) -> Fitted | None:
    """The fit that the page opens on, if it is asked for and its file is there."""
    found = stored.fit() if key == stored.KEY else None
    return None if found is None else _fitted(key, data, found, found.inner.history.elapsed, True)


def fit(data: CityData, key: CityKey, callback=None) -> Fitted:
    """Learn a model on some sources of a city."""
    start = time.perf_counter()
    found = make(key).fit({name: data.sources[name] for name in key.seen}, callback=callback)
    return _fitted(key, data, found, time.perf_counter() - start)


def _fitted(key: CityKey, data: CityData, found, seconds: float, is_stored: bool = False) -> Fitted:
    history = found.inner.history
    return Fitted(key, data, found, *predict(found, data.stations, data.hours), seconds,
                  history.cancelled, history.converged, is_stored)


def options(key: CityKey) -> tuple[str, dict]:
    """Class of a model in `workbench`, and its options; few inducing inputs, to be quick.

    Parameters
    ----------
    key : CityKey
    """
    inducing = INDUCING["quick" if key.hours <= QUICK else "paper"]
    found = {"kernel": f"{key.kernel}(covariates)+{key.kernel}(coordinates)",
             "inducing": inducing, "max_steps": STEPS}
    network = key.model in ("centre", "gprn")
    if key.reach:
        name = f"{'f.' if network else ''}{key.kernel}_2.lengthscale"
        found["hyperparameters"] = {name: key.reach}
    if network:
        found |= {"inducing": 2 * inducing // 3, "weight_kernel": "matern32"}
    if key.model == "dgp":
        found |= {"samples": 8, "joint_steps": STEPS}
    if key.model == "composite":
        found["composite"] = "ribatet"
    return {"product": "MRGP", "composite": "MRGP", "dgp": "MRDGP", "centre": "CentrePointGPRN",
            "gprn": "MRGPRN"}[key.model], found


def make(key: CityKey):
    """The model of a key."""
    import workbench as wb

    name, found = options(key)
    return getattr(wb, name)(**found)


def predict(found, places: Places, hours: np.ndarray
            ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean and sd of NO2, and the noise of a reading, at all places for each hour (n, h)."""
    import torch

    from workbench.gp.data.bags import Bags

    inner = found.inner
    x = torch.as_tensor(places.inputs(hours))
    columns = inner.state.source.bags.columns
    bags = Bags(x, torch.arange(len(x)), torch.ones(len(x), dtype=x.dtype), len(x), columns)
    predictive, shape = inner.at(bags), (len(hours), len(places.xy))
    return tuple(v.detach().cpu().numpy().reshape(shape).T
                 for v in (predictive.mean, predictive.std, inner.noise_std(bags)))


def _inside(error: np.ndarray, sd: np.ndarray) -> float:
    """Share of the errors inside 95 % intervals."""
    return float((np.abs(error) <= HALF_95 * sd).mean())


def work(key: CityKey, hour: int, run: Run) -> None:
    """Learn if need be, and map the hour."""
    fitted = learn(key, run)
    run.send("fitted", fitted)
    run.send("hour", fitted.at(hour))
