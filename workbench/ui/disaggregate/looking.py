"""What is found in the data before a fit, and why the map says what it says at one place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely
import xarray as xr

from workbench.checks import InputError
from workbench.pipeline.spec import Spec
from workbench.ui.base.cache import Cache
from workbench.ui.disaggregate import engine

if TYPE_CHECKING:
    from workbench.preflight import Check
    from workbench.ui.disaggregate.engine import Answer, Scene

NEAR = 0.03         # of the map's extent: a click this near to a point means it
_CHECKS = Cache(12)


def check(spec: Spec) -> Check:
    """All that is wrong or odd in the data of a Spec, and what its fit would cost.

    Parameters
    ----------
    spec : Spec

    Returns
    -------
    Check
        As of `workbench.check`.
    """
    def make() -> Check:
        from workbench.pipeline.run import model_of
        from workbench.preflight import check

        return check(engine.scene(spec).data, model=model_of(key))

    key = engine.base_spec(spec)
    return _CHECKS.get(key, make)


def ready_check(spec: Spec) -> Check | None:
    """The check if it was made."""
    return _CHECKS.peek(engine.base_spec(spec))


def keep_check(spec: Spec, found: Check) -> None:
    """Take a check that was made of a Spec's files for that of its data.

    Parameters
    ----------
    spec : Spec
    found : Check
    """
    _CHECKS.keep(engine.base_spec(spec), found)


def place_at(scene: Scene, axes: tuple[str, str], x: float, y: float) -> int | None:
    """Position of the individual that is drawn at a place of the map, if there is one.

    Parameters
    ----------
    scene : Scene
    axes : (str, str)
        Coordinates that make the map.
    x, y : float
    """
    data = scene.drawn
    if "individual_geometry" in data.coords:
        inside = np.flatnonzero(shapely.contains_xy(data["individual_geometry"].values, x, y))
        return int(inside[0]) if inside.size else None
    if axes == ("x", "y") and "grid_transform" in data.attrs:
        from workbench.evaluation.explaining import locate

        try:
            return locate(data, (x, y))
        except InputError:
            return None
    across, up = (np.asarray(data[name].values, dtype=float) for name in axes)
    gap = np.hypot((across - x) / max(np.ptp(across), 1e-12), (up - y) / max(np.ptp(up), 1e-12))
    nearest = int(gap.argmin())
    return nearest if gap[nearest] <= NEAR else None


def highest(answer: Answer, scene: Scene) -> int:
    """Position of the individual with the highest estimate, of those with a positive weight.

    Parameters
    ----------
    answer : Answer
    scene : Scene
    """
    return int(np.where(scene.data["weight"].values > 0, answer.mean, -np.inf).argmax())


def middle(scene: Scene, axes: tuple[str, str], place: int) -> tuple[float, float]:
    """Where the map shows an individual.

    Parameters
    ----------
    scene : Scene
    axes : (str, str)
        Coordinates that make the map.
    place : int
        Position of the individual.
    """
    if "individual_geometry" in scene.drawn.coords:
        inside = scene.drawn["individual_geometry"].values[place].representative_point()
        return float(inside.x), float(inside.y)
    return tuple(float(scene.drawn[name].values[place]) for name in axes)


def beside(scene: Scene, axes: tuple[str, str], place: int, across: int, up: int) -> int:
    """Position of the nearest individual in a direction; the same one where there is none.

    Parameters
    ----------
    scene : Scene
    axes : (str, str)
        Coordinates that make the map.
    place : int
        Position of the individual that the way starts at.
    across, up : int
        -1, 0 or 1 along each axis, one of them 0.
    """
    x, y = (np.asarray(scene.drawn[name].values, dtype=float) for name in axes)
    wide, high = np.ptp(x), np.ptp(y)
    if axes == ("x", "y"):          # of one unit
        wide = high = max(wide, high)
    east, north = (x - x[place]) / max(wide, 1e-12), (y - y[place]) / max(high, 1e-12)
    ahead, aside = (east * across, np.abs(north)) if across else (north * up, np.abs(east))
    there = np.flatnonzero((ahead > 1e-9) & (aside <= ahead))
    if not there.size:
        return place
    return int(there[np.hypot(ahead[there], aside[there]).argmin()])


def explain(answer: Answer, scene: Scene, place: int) -> xr.Dataset:
    """Why the map says what it says at one individual, as it is shown.

    Parameters
    ----------
    answer : Answer
    scene : Scene
    place : int
        Its position.

    Returns
    -------
    xr.Dataset
        As of ``Fit.explain``.
    """
    return answer.fit.explain(scene.data, place, area_effect=answer.area_effect)
