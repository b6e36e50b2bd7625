"""One small problem by two engines, as `workbench.compare_engines` does it."""

from __future__ import annotations

import xarray as xr

from workbench.ui.compare.state import Pair

DATASET = {"pixels": 240, "districts": 20, "regions": 4, "provinces": 2}
SAMPLER = {"draws": 300, "warmup": 300, "chains": 2}
MINUTES = 5.0       # that sampling may take


def options(pair: Pair) -> dict:
    """Options of the model, `workbench.VBAgg`.

    Parameters
    ----------
    pair : Pair
    """
    found = {"kernel": "linear+matern32"}
    if pair.likelihood == "normal":
        found |= {"likelihood": "normal", "link": "identity", "nugget": 0.0}
    return found


def arguments(pair: Pair) -> dict:
    """Arguments of `workbench.compare_engines` besides dataset and model.

    Parameters
    ----------
    pair : Pair
    """
    found = {"engines": list(dict.fromkeys([pair.one, pair.other])),
             "fix_hyperparameters": not pair.learnt}
    return found | (SAMPLER | {"limit": MINUTES} if "nuts" in found["engines"] else {})


def compute(pair: Pair) -> xr.Dataset:
    """What `workbench.compare_engines` finds; it takes seconds, a minute or more with NUTS.

    Parameters
    ----------
    pair : Pair
    """
    import warnings

    import workbench

    ds = workbench.load("simulated-country", **DATASET)
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        found = workbench.compare_engines(ds, workbench.VBAgg(**options(pair)), **arguments(pair))
    told = [str(w.message) for w in issued if issubclass(w.category, UserWarning)]
    return found.assign_attrs(warned="\n".join(dict.fromkeys(told)))
