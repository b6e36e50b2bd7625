"""Processor time that the server needs for one event of the app "granularity", in milliseconds.

    python benchmarks/granularity_events.py

Each is the least of three tries at settings that are not known from before; an app that follows a
slider should stay below 100.
"""

import time

from workbench.ui.granularity.state import VARIANCES, State
from workbench.ui.granularity.store import Store

EVENTS = {"line": {"points": [100, 1000], "cells": [4, 128, 1000], "lengthscale": [0.2, 0.5]},
          "map": {"side": [5.0, 1.0, 0.4, 0.2], "map_lengthscale": [0.5, 2.0]}}


def least(state: State, store: Store, tab: str, name: str, value: float) -> float:
    """Of three settings of the kernel's variance."""
    spent, variance = [], "variance" if tab == "line" else "map_variance"
    for new in VARIANCES[3:6]:
        state.param.update(**{variance: new})
        store.close()
        other = next(v for v in state.param[name].names.values() if v != value)
        state.param.update(**{name: other})
        store.close()
        start = time.thread_time()
        state.param.update(**{name: value})
        spent.append(1000 * (time.thread_time() - start))
        store.close()
    return min(spent)


def main() -> None:
    """Print one line for each event."""
    for tab, events in EVENTS.items():
        state = State(tab=tab)
        store = Store(state)
        store.refresh()
        for name, values in events.items():
            for value in values:
                if value in state.param[name].names.values():
                    print(f"{tab}: {name}={value:g}: {least(state, store, tab, name, value):.0f}")


if __name__ == "__main__":
    main()
