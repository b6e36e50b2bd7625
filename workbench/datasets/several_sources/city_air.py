"""NO2 over a simulated city: a background that weather moves, and what traffic adds at roads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from workbench.datasets.several_sources.city_plan import BUFFER, CityPlan, Waves, make_plan

#: First hour, after the paper's (19 to 21 February, a Tuesday to a Thursday).
START = pd.Timestamp("2019-02-19")
_DECAY = 0.09                   # km, of what a road adds
_LOCAL, _URBAN, _REGIONAL = 62.0, 26.0, 9.0     # ug/m3
_PEAKS = ((8.0, 1.8, 0.75), (12.5, 3.5, 0.35), (17.7, 2.3, 0.8))    # hour, width, height


@dataclass(frozen=True)
class City:
    """A simulated city and its air.

    Parameters
    ----------
    plan : CityPlan
        Roads, parks, river, buildings.
    weather : Waves
        Over hours: how still the air is.
    moving : Waves
        Over km, km and hours: patches of the background.
    hidden : Waves
        Over km: what no covariate says of the air near roads.
    wind : array (2,)
        km/h by which the patches drift.
    """

    plan: CityPlan
    weather: Waves
    moving: Waves
    hidden: Waves
    wind: np.ndarray

    def places(self, places: np.ndarray) -> dict[str, np.ndarray]:
        """What of the air does not change with time at places (n, 2): arrays (n,)."""
        features = self.plan.features(places)
        canyon, green = features[:, 1], features[:, 2] / (100 * np.pi * BUFFER**2)
        local = (_LOCAL * self.plan.exposure(places, _DECAY) * (0.55 + 0.45 * canyon)
                 * (1 - 0.5 * green) * np.exp(0.12 * self.hidden(places)))
        return {"local": local, "urban": self.plan.density(places)}

    def no2(self, places: np.ndarray, hour: float, still: dict[str, np.ndarray]) -> np.ndarray:
        """True NO2 in ug/m3 at places (n, 2) at one hour since the start: (n,).

        Parameters
        ----------
        places : array (n, 2)
            In km.
        hour : float
            Hours since midnight of the first day.
        still : dict
            Of `places`, which is the costly part.
        """
        drifted = np.column_stack([places - hour * self.wind, np.full(len(places), hour)])
        patches = np.exp(0.22 * self.moving(drifted))
        stillness = np.exp(0.32 * self.weather(np.array([[hour]]))[0])
        now = traffic(hour)
        background = (_REGIONAL + _URBAN * still["urban"] * (0.5 + 0.5 * now)) * patches
        return stillness * (background + now * still["local"])

    def table(self, places: np.ndarray, hours: np.ndarray) -> np.ndarray:
        """True NO2 at all places (n, 2) at all hours (h,): (n, h)."""
        still = self.places(places)
        return np.column_stack([self.no2(places, hour, still) for hour in hours])


def traffic(hour: float) -> float:
    """Traffic at an hour of a working day relative to a busy one: two peaks, little at night."""
    clock = hour % 24
    away = [min(abs(clock - peak), 24 - abs(clock - peak)) for peak, _, _ in _PEAKS]
    return 0.15 + sum(height * np.exp(-0.5 * (gap / width) ** 2)
                      for gap, (_, width, height) in zip(away, _PEAKS, strict=True))


def make_city(seed: int) -> City:
    """A city and its weather; another one for every seed."""
    plan, air = (np.random.default_rng(s) for s in np.random.SeedSequence([seed, 0]).spawn(2))
    return City(
        plan=make_plan(plan), weather=Waves((9.0,), air), moving=Waves((7.0, 7.0, 12.0), air),
        hidden=Waves((1.5, 1.5), air), wind=air.uniform(-1, 1, 2))
