"""A field seen by counts of wide areas and by measurements at a few places."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from workbench.bagging import bag_along, from_table


def counts_and_measurements(seed: int = 1) -> dict[str, xr.Dataset]:
    """Cases counted in six areas of a line, and the log rate measured at six places.

    Parameters
    ----------
    seed : int
        Of the counts and of the noise of the measurements (standard deviation 0.1).

    Returns
    -------
    dict
        ``cases``: 240 places with two people each, in areas 2 wide, ``truth`` in cases per person;
        ``measured``: log rates at places from 6.5 to 9.5, each a bag of its own.

    Examples
    --------
    >>> {name: ds.sizes["bag"] for name, ds in counts_and_measurements().items()}
    {'cases': 6, 'measured': 6}
    """
    rng = np.random.default_rng(seed)
    place = np.linspace(0.025, 11.975, 240)
    rate = np.exp(np.sin(1.6 * place) - 0.5)
    people = pd.DataFrame({"x": place, "people": 2.0, "rate": rate,
                           "cases": rng.poisson(2 * rate)})
    counted = from_table(people, ["x"], "cases", weight="people", truth="rate")
    spots = pd.DataFrame({"x": np.linspace(6.5, 9.5, 6)})
    spots["log_rate"] = np.sin(1.6 * spots["x"]) - 0.5 + 0.1 * rng.normal(size=6)
    logs = from_table(spots, ["x"], "log_rate", aggregation="mean", kind="continuous")
    return {"cases": bag_along(counted, "x", sizes=np.full(6, 40), descending=False),
            "measured": bag_along(logs, "x", sizes=np.ones(6, int), descending=False)}
