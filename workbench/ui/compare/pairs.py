"""One small problem by two engines, as `workbench.compare_engines` does it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xarray as xr

from workbench.checks import recorded_warnings
from workbench.ui.base.cache import Cache
from workbench.ui.compare.state import Pair

DATASET = {"pixels": 240, "districts": 20, "regions": 4, "provinces": 2}
SAMPLER = {"draws": 300, "warmup": 300, "chains": 2}
MINUTES = 5.0       # that sampling may take
_FITS = Cache(4)    # that engines start from, kept for a comparison that was cancelled


class _Fitted:
    """A model whose fit, once made, is there for the next comparison too."""

    def __init__(self, model, key: object):
        self._model, self._key = model, key
        self.name, self.options = model.name, model.options

    def __repr__(self) -> str:
        return repr(self._model)

    def fit(self, ds: xr.Dataset, progress: bool = False):
        """Fit as the model does, or take the fit that was made."""
        return _FITS.get(self._key, lambda: self._model.fit(ds, progress=progress))


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


def compute(pair: Pair, finished: Callable[[xr.Dataset], None] | None = None) -> xr.Dataset:
    """What `workbench.compare_engines` finds; it takes seconds, a minute or more with NUTS.

    Parameters
    ----------
    pair : Pair
    finished : callable, optional
        Called after each engine but the last with what is there so far.
    """
    import workbench

    ds = workbench.load("simulated-country", **DATASET)
    with recorded_warnings() as issued:
        model = _Fitted(workbench.VBAgg(**options(pair)), pair.likelihood)
        found = workbench.compare_engines(ds, model, **arguments(pair), finished=finished)
    told = [str(w.message) for w in issued if issubclass(w.category, UserWarning)]
    return found.assign_attrs(warned="\n".join(dict.fromkeys(told)))


def cut_short(pair: Pair, found: xr.Dataset) -> xr.Dataset:
    """What is finished of a comparison, as one that says which engines are not.

    Parameters
    ----------
    pair : Pair
    found : xr.Dataset
        What `compute` told when an engine was finished.
    """
    there = found["engine"].values.tolist()
    missing = [one for one in dict.fromkeys([pair.one, pair.other]) if one not in there]
    return found.assign_attrs(warned="", unfinished="\n".join(missing))


def distance(found: xr.Dataset, one: str, other: str) -> tuple[np.ndarray, np.ndarray]:
    """How far the posterior of one engine is from that of another, at each individual.

    Parameters
    ----------
    found : xr.Dataset
        Of `compute`.
    one, other : str

    Returns
    -------
    (np.ndarray, np.ndarray)
        Differences of means, in standard deviations of the second, and ratios of standard
        deviations.
    """
    yard, row = found.sel(engine=other), found.sel(engine=one)
    return (np.abs((row["mean"] - yard["mean"]) / yard["std"]).values,
            (row["std"] / yard["std"]).values)


def unfinished(found: xr.Dataset) -> list[str]:
    """Engines that were stopped before they were finished.

    Parameters
    ----------
    found : xr.Dataset
        Of `compute` or `cut_short`.
    """
    return found.attrs.get("unfinished", "").split()
