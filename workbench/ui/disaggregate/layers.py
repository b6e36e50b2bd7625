"""What a map rests on, as further maps: information, summands of f, and ranks of areas.

Each is made when it is first looked at, and kept for as long as its fit is likely to be shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from workbench.checks import InputError, require
from workbench.ui.base.cache import Cache
from workbench.ui.disaggregate import messages
from workbench.ui.disaggregate.kinds import AMOUNT, COUNT, in_words_of, kind_of

if TYPE_CHECKING:
    import xarray as xr

    from workbench.labelled import Fit
    from workbench.ui.disaggregate.engine import Answer, Scene

INFORMATION, COMPONENTS, RANKS = "information", "components", "ranks"
LAYERS = (INFORMATION, COMPONENTS, RANKS)
EXPOSURE = "exposure"
SAMPLES = 300
#: Maps of ranks, by what `Fit.ranks` calls them.
RANKED = {"top": "top_probability", "rank": "rank_median", "lowest": "rank_upper",
          "highest": "rank_lower"}
_LAYERS = Cache(18)


@dataclass(frozen=True)
class Layer:
    """One or several maps of a fit.

    Parameters
    ----------
    name : str
        Of `LAYERS`.
    maps : Mapping of str to array (individual,)
        By what is in them.
    told : str
        What stands below them; if there are none, why.
    """

    name: str
    maps: Mapping[str, np.ndarray]
    told: str = ""


def layer(answer: Answer, scene: Scene, name: str) -> Layer:
    """A layer of an answer; a model that has none says why.

    Parameters
    ----------
    answer : Answer
    scene : Scene
    name : str
        Of `LAYERS`.
    """
    def make() -> Layer:
        try:
            return {INFORMATION: _information, COMPONENTS: _components,
                    RANKS: _ranks}[name](answer, scene)
        except InputError as error:
            return Layer(name, {}, messages.no_layer(str(error)))

    return _LAYERS.get(_key(answer, name), make) if answer.again else make()


def ready(answer: Answer, name: str) -> Layer | None:
    """A layer if it is there."""
    return _LAYERS.peek(_key(answer, name)) if answer.again else None


def _key(answer: Answer, name: str) -> tuple:
    return answer.spec, answer.fitted, answer.kind, name


def _information(answer: Answer, scene: Scene) -> Layer:
    told = answer.fit.information(scene.plain).values
    return Layer(INFORMATION, {INFORMATION: _frozen(told)}, messages.INFORMATION)


def _components(answer: Answer, scene: Scene) -> Layer:
    found, _ = summands(answer.fit, scene.plain)
    maps = {str(name): _frozen(found.sel(component=name).values)
            for name in found["component"].values}
    base = float(maps.pop("intercept", np.zeros(1))[0])
    maps = {name: values for name, values in maps.items() if np.ptp(values) > 0}
    require(bool(maps), "this model has one rate for all: nothing is added up")
    link, kind = str(found.attrs.get("link", "")), kind_of(scene.plain)
    return Layer(COMPONENTS, maps | {EXPOSURE: scene.plain["weight"].values},
                 in_words_of(kind, messages.components(base, link, kind in (COUNT, AMOUNT))))


def summands(fit: Fit, data: xr.Dataset) -> tuple[xr.DataArray, bool]:
    """Means of the summands of f by role, and whether effects of areas are among them."""
    try:
        return fit.component_maps(data, True, "role")["component_mean"], True
    except InputError:                  # a model without effects of areas
        return fit.component_maps(data, False, "role")["component_mean"], False


def _ranks(answer: Answer, scene: Scene) -> Layer:
    found = answer.fit.ranks(scene.plain, samples=SAMPLES, area_effect=True)
    member = scene.plain["membership"].values
    return Layer(RANKS, {name: _frozen(found[variable].values[member])
                         for name, variable in RANKED.items()},
                 in_words_of(kind_of(scene.plain), messages.ranks(
                     int(found.attrs["top"]), found["rank_median"].size)))


def _frozen(values: np.ndarray) -> np.ndarray:
    values = np.array(values, dtype=float)
    values.flags.writeable = False
    return values
