"""The work of a comparison: fits one after the other, the time that is left, and a stop at once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from workbench.checks import Cancelled
from workbench.ui.base import leftovers
from workbench.ui.base.cache import Cache
from workbench.ui.compare.catalogue import INDIVIDUALS
from workbench.ui.compare.engine import Board, arguments, board_of, data_of, own_models
from workbench.ui.compare.state import Setting

if TYPE_CHECKING:
    from workbench.comparison.clock import Clock

QUICK = 1.5         # seconds that a map may take when everything else is to stop
_MAPS = Cache(60)
#: ``tell(share, what, seconds left)``; it may raise `Stop`, or whatever ends the work.
Tell = Callable[[float, str, float], None]


class Stop(KeyboardInterrupt):
    """Raised in between the fits of a comparison; what is finished is kept."""


class Watched:
    """A model that says how far its fit is, stops when asked to, and keeps its fit of all areas.

    Parameters
    ----------
    model : model
        Of `workbench`.
    areas : int
        Of the whole dataset.
    step : callable
        ``step(fraction)``; raises `Cancelled` to stop.
    """

    def __init__(self, model, areas: int, step: Callable[[float], None]):
        self._model, self._areas, self._step, self.whole = model, areas, step, None
        self.name = model.name

    def __repr__(self) -> str:
        return repr(self._model)

    def fit(self, ds: xr.Dataset):
        """Fit as the model does."""
        fit = self._model.fit(ds, callback=lambda step, objective, share: self._step(share))
        if ds.sizes["bag"] == self._areas and not getattr(fit, "cancelled", False):
            self.whole = fit
        return fit


@dataclass
class _Progress:
    """How far all the fits are, and how long those that are left will take."""

    tell: Tell
    fits: int
    clock: Clock | None = None
    done: int = 0

    def within(self, name: str, share: float) -> None:
        """Called at the steps of a fit."""
        try:
            self.tell(min((self.done + share) / self.fits, 1.0), f"fitting {name}", self.left)
        except Stop:
            raise Cancelled from None

    def after(self, name: str, what: str) -> None:
        """Called after a fit."""
        self.done += 1
        self.clock.done(name)
        self.tell(min(self.done / self.fits, 1.0), f"{what}: done", self.left)

    @property
    def left(self) -> float:
        """Seconds."""
        return self.clock.left() if self.clock is not None else 0.0


def compute(setting: Setting, tell: Tell = lambda *told: None,
            resume: Path | None = None) -> Board:
    """Compare, and fit every model to all areas for its map.

    Parameters
    ----------
    setting : Setting
    tell : callable
        Told of progress; `Stop` raised in it ends the work with what is finished.
    resume : Path or None
        Folder of finished fits.

    Raises
    ------
    Stop
        If nothing was finished by then.
    """
    import workbench
    from workbench.comparison.clock import Clock
    from workbench.comparison.line_up import line_up
    from workbench.evaluation import Interrupted

    tell(0.0, "reading the data", 0.0)
    ds = data_of(setting.data)
    areas, models = ds.sizes["bag"], own_models(setting)
    every, *_ = line_up(ds, models, setting.effort, setting.seed)
    progress = _Progress(tell, 1)
    watched = {name: model if model is None else Watched(
        model, areas, partial(progress.within, name))
               for name, model in models.items()}

    # The fits to all areas are those of the test of individuals: their maps cost no other.
    free = {n for n, one in watched.items() if one is not None and setting.test == INDIVIDUALS}

    def after(done: int, total: int, what: str) -> None:
        name = max((n for n in every if what.startswith(f"{n}, ")), key=len)
        if progress.clock is None:
            left = {one: total // len(every) + (one not in free) for one in every}
            progress.clock, progress.fits = Clock(left, _guesses(models, ds)), sum(left.values())
        progress.after(name, what)

    stopped = False
    try:
        result = workbench.compare(ds, watched, **arguments(setting), progress=after,
                                   resume=resume).data
    except Interrupted as stop:
        if stop.partial is None:
            raise Stop from None
        result, stopped = stop.partial.data, True
    seconds, failed = (result[n].isel(test=0).to_series() for n in ("seconds", "error"))
    maps = {}
    for name in every:
        if failed[name] and not stopped:    # it is said beside its scores
            continue
        model = watched.get(name) or every[name]
        known = _ready(setting, name) or getattr(model, "whole", None) is not None
        if stopped and not known and (name in watched or not seconds[name] < QUICK):
            continue
        try:
            maps[name] = _map(setting, name, model, ds)
            if not stopped and name not in free:
                progress.after(name, f"{name}, map")
        except Stop:
            stopped = True
            result = result.assign_attrs(partial="stopped before all maps were made")
    return board_of(setting, result, ds, maps)


def _guesses(models: Mapping, ds: xr.Dataset) -> dict[str, float]:
    from workbench.labelled.timing import cost

    found = {}
    for name, model in models.items():
        known = None if model is None else cost(model, ds)
        found |= {} if known is None else {name: known[0]}
    return found


def _key(setting: Setting, name: str) -> tuple:
    data = setting.data
    return data.name, tuple(data.options.items()), name, setting.effort, setting.seed


def _ready(setting: Setting, name: str) -> bool:
    return _MAPS.peek(_key(setting, name)) is not None


def _map(setting: Setting, name: str, model, ds: xr.Dataset) -> np.ndarray:
    """The rate of every individual, so that areas have their totals, in natural units."""
    from workbench.evaluation.accuracy import rescale_to_totals
    from workbench.evaluation.conditioning import bare

    def make() -> np.ndarray:
        known = bare(ds)
        fit = getattr(model, "whole", None) or model.fit(known)
        if getattr(fit, "cancelled", False):
            raise Stop
        # Of the smooth map: one given totals has been moved by them already.
        rate = fit.at(known, area_effect=not setting.data.counts).mean.values.astype(float)
        weight = known["weight"].values
        if setting.data.counts and (rate >= 0).all():
            rate = rescale_to_totals(known, rate * weight).values / weight
        return rate.astype(np.float32)

    if setting.data.handed is not None:     # no cache of all sessions holds data of one's own
        return make()
    return _MAPS.get(_key(setting, name), make)


@cache
def finished_fits() -> tempfile.TemporaryDirectory:
    """A folder of fits that were finished, shared by all sessions; gone when the server ends."""
    return leftovers.folder(leftovers.COMPARED)
