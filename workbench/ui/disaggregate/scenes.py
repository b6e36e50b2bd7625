"""Data ready to be shown, loaded once and shared by all sessions: arrays are read-only."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import xarray as xr

from workbench.pipeline.spec import Spec
from workbench.plots import ColourScale, colour_scale, observed_rate, rate_unit, simplified
from workbench.schema import GEOMETRY
from workbench.ui.base.cache import Cache
from workbench.ui.base.jobs import load_models
from workbench.ui.disaggregate.kinds import kind_of
from workbench.ui.disaggregate.quantity import called, said

SCREEN = 500            # pixels along a map for which outlines are simplified
_SCENES = Cache(6)


@dataclass(frozen=True)
class Scene:
    """A dataset ready to be shown: values in the unit shown, and scales locked to the data."""

    data: xr.Dataset
    plain: xr.Dataset           # the same without outlines, which are slow to copy: for models
    drawn: xr.Dataset           # the same with outlines simplified to the screen
    factor: float
    unit: str
    observed: np.ndarray        # rate of each area
    known: np.ndarray | None    # fine rate, where the dataset knows it
    known_title: str
    rate: ColourScale
    spread: ColourScale
    noun: str = "rate"          # what one number of its maps is, see `quantity.called`


@lru_cache(256)
def data_spec(spec: Spec) -> Spec:
    """The part of a Spec that says which data: the key of `scene`."""
    return Spec(dataset=spec.dataset, dataset_options=spec.dataset_options, level=spec.level,
                areas=spec.areas)


def scene(spec: Spec) -> Scene:
    """The data of a Spec, loaded once."""
    load_models()       # alone: while a server starts, another thread may be at it
    from workbench.pipeline.run import data_of

    key = data_spec(spec)
    return _SCENES.get(key, lambda: _scene(data_of(key)))


def ready_scene(spec: Spec) -> Scene | None:
    """The data of a Spec if they are loaded."""
    return _SCENES.peek(data_spec(spec))


def _scene(data: xr.Dataset) -> Scene:
    factor, unit = rate_unit(data)
    observed = observed_rate(data).values
    known, title = _known(data)
    shown = [observed] if known is None else [observed, known]
    noun, told = called(kind_of(data)), said(unit)
    rate = colour_scale(*shown, label=noun, unit=told, factor=factor)
    spread = ColourScale("standard deviation", told, 0.0, (rate.upper - rate.lower) / 2, "spread",
                         factor, source=f"zero to half the span of the {noun}s")
    # scores have a "coverage" of their own beside that of pixels cut by a border
    plain = data.drop_vars([*GEOMETRY, "coverage"], errors="ignore")
    return Scene(data, plain, simplified(data, SCREEN), factor, unit, frozen(observed),
                 None if known is None else frozen(known), title, rate, spread, noun)


def _known(data: xr.Dataset) -> tuple[np.ndarray | None, str]:
    if "truth" in data:
        return data["truth"].values, "True rate"
    if "individual_value" in data:
        total = data["value"].attrs.get("aggregation", "sum") == "sum"
        fine = data["individual_value"] / data["weight"] if total else data["individual_value"]
        return fine.values, "Observed, fine (never used in fitting)"
    return None, ""


def frozen(values: np.ndarray) -> np.ndarray:
    """A copy that cannot be changed."""
    values = np.array(values, dtype=float)
    values.flags.writeable = False
    return values
