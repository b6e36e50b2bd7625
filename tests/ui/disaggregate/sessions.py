"""Stores of the app without a server, and waiting for what they work on."""

import threading

import numpy as np
import xarray as xr

from workbench.ui.disaggregate.store import Store

SMALL = "dataset=swiss-roll&granularity=10&model=vbagg&kernel=linear"
MAPS_SHOWN = ("scoring", "")        # what a store works on when its maps are up to date


class Session:
    """A store, and waiting until it is where it is wanted."""

    def __init__(self, state):
        self.state, self.store = state, Store(state)
        self._changed = threading.Condition()
        self.store.param.watch(self._note, ["work", "answer", "error"])
        self.store.refresh()

    def _note(self, *events):
        with self._changed:
            self._changed.notify_all()

    def wait(self, until, seconds=150):
        with self._changed:
            assert self._changed.wait_for(until, seconds), (self.store.work, self.store.error)

    def maps(self):
        """The store, its maps up to date; scores take longer and are not waited for."""
        self.wait(lambda: self.store.work in MAPS_SHOWN)
        return self.store

    def settled(self):
        """The store with nothing left to do."""
        self.wait(lambda: self.store.work == "")
        return self.store


def stops(state):
    return list(state.param.variance.names.values())


def outcome(scores, **values):
    """What a test with held-out areas gives: models by the scores they got, of one grouping."""
    models, count = list(values), len(scores)
    square = np.zeros((len(models), len(models), count))
    return xr.Dataset(
        {"scores": (("model", "score"), [values[name] for name in models]),
         "difference": (("model", "other", "score"), square),
         "difference_error": (("model", "other", "score"), square + 1),
         "extrapolated": (("model", "score"), square[0] + 1),
         "group": (("level", "draw", "area"), np.zeros((1, 1, 3))),
         "error": (("model", "level", "draw"), np.full((len(models), 1, 1), ""))},
        {"model": models, "other": models, "score": list(scores),
         "score_title": ("score", list(scores.values()))}, {"headline": next(iter(scores))})
