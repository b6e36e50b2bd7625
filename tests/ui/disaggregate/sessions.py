"""Stores of the app without a server, and waiting for what they work on."""

import threading

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
