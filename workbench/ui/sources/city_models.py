"""Models of the city: learnt once for the whole process, then mapped hour by hour."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

import numpy as np

from workbench.ui.base.bands import HALF_95
from workbench.ui.base.cache import Cache
from workbench.ui.base.jobs import Run
from workbench.ui.sources.city import CityData, Places, city

KERNEL = "matern32(covariates)+matern32"
STEPS = {"quick": 20, "paper": 40}
INDUCING = {"quick": 60, "paper": 150}
_FITS = Cache(12)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model learnt on a city, with its predictions at the stations for all hours.

    Parameters
    ----------
    key : tuple
        See `State.fit_key`.
    data : CityData
    fit : object
        A fit to several sources, in torch.
    mean, sd : array (stations, hours)
    seconds : float
        That learning took.
    cancelled, converged : bool
    """

    key: tuple
    data: CityData
    fit: object
    mean: np.ndarray
    sd: np.ndarray
    seconds: float
    cancelled: bool
    converged: bool
    maps: dict = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def rmse(self) -> float:
        """Against the truth at the stations in the half that is held out."""
        return float(np.sqrt(((self.mean - self.data.truth)[:, self.data.half:] ** 2).mean()))

    @property
    def coverage(self) -> float:
        """Share of it inside 95 % bands."""
        inside = np.abs(self.mean - self.data.truth) <= HALF_95 * self.sd
        return float(inside[:, self.data.half:].mean())

    def at(self, hour: int) -> Hour:
        """The map of an hour; kept."""
        with self.lock:
            if hour not in self.maps:
                mean, sd = predict(self.fit, self.data.pixels, np.array([hour]))
                self.maps[hour] = Hour(self, hour, mean[:, 0], sd[:, 0], self.data.truth_at(hour))
            return self.maps[hour]


@dataclass(frozen=True, eq=False)
class Hour:
    """What a model says of one hour at every pixel, and the truth."""

    fitted: Fitted
    hour: int
    mean: np.ndarray
    sd: np.ndarray
    truth: np.ndarray

    @property
    def error(self) -> np.ndarray:
        """Predicted mean less truth."""
        return self.mean - self.truth

    @property
    def rmse(self) -> float:
        """Of the map."""
        return float(np.sqrt((self.error**2).mean()))


def learn(key: tuple, run: Run) -> Fitted:
    """A model of a city: kept, unless stopped early."""
    found = _FITS.peek(key)
    if found is not None:
        return found
    *place, seen, name = key
    run.send("doing", "city")
    data = city(*place)
    run.check()
    run.send("data", data)
    run.send("doing", "fit")
    fitted = fit(data, key, seen, name, run.tick)
    if not fitted.cancelled:
        _FITS.keep(key, fitted)
    return fitted


def fit(data: CityData, key: tuple, seen: tuple[str, ...], name: str, callback=None) -> Fitted:
    """Learn a model on some sources of a city."""
    from workbench.labelled.sources import to_sources

    start = time.perf_counter()
    sources = to_sources({source: data.sources[source] for source in seen})
    found = make(name, "quick" if data.half <= 24 else "paper").fit(sources, callback=callback)
    seconds = time.perf_counter() - start
    mean, sd = predict(found, data.stations, data.hours)
    return Fitted(key, data, found, mean, sd, seconds, found.history.cancelled,
                  found.history.converged)


def make(name: str, scope: str):
    """A model by name; few inducing inputs and steps, so that it is learnt while one waits."""
    from workbench.gp.models.several_sources.gprn import MRGPRN, CentrePointGPRN
    from workbench.gp.models.several_sources.mr_gp import MRGP

    options = {"kernel": KERNEL, "inducing": INDUCING[scope], "max_steps": STEPS[scope]}
    if name in ("product", "composite"):
        return MRGP(composite="ribatet" if name == "composite" else "none", **options)
    if name == "dgp":
        from workbench.gp.models.several_sources.tree.mr_dgp import MRDGP

        return MRDGP(samples=8, joint_steps=30, **options)
    options |= {"inducing": 2 * INDUCING[scope] // 3, "weight_kernel": "matern32"}
    return {"centre": CentrePointGPRN, "gprn": MRGPRN}[name](**options)


def predict(found, places: Places, hours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd of NO2 at all places for each hour (n, h)."""
    import torch

    from workbench.gp.data.bags import Bags

    x = torch.as_tensor(places.inputs(hours))
    columns = found.state.source.bags.columns
    predictive = found.at(Bags(x, torch.arange(len(x)), torch.ones(len(x), dtype=x.dtype), len(x),
                        columns))
    shape = len(hours), len(places.xy)
    return tuple(v.detach().cpu().numpy().reshape(shape).T
                 for v in (predictive.mean, predictive.std))


def work(key: tuple, hour: int, run: Run) -> None:
    """Learn if need be, and map the hour."""
    fitted = learn(key, run)
    run.send("fitted", fitted)
    run.send("hour", fitted.at(hour))
