"""The test of a map where nothing finer than its areas is known.

Values that add up, or means, are merged and recovered; shares of those tested, which merged areas
do not tell apart, are predicted by the model conditioned on other areas.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from workbench.checks import InputError
from workbench.ui.base.cache import Cache
from workbench.ui.disaggregate.verdict import FLAT

if TYPE_CHECKING:
    from workbench.ui.disaggregate.engine import Answer

DRAWS, SAMPLES = 2, 300     # groupings of each size, joint draws of the areas
TURNS = 5                   # in which areas are held out
_TESTS = Cache(12)


def recover(answer: Answer, data: xr.Dataset, progress: Callable[[int, int, str], None]
            ) -> xr.Dataset:
    """The map's model beside the simple maps, each predicting areas whose values it does not see.

    Parameters
    ----------
    answer : Answer
        What is tested.
    data : xr.Dataset
        What it was fitted to.
    progress : callable
        Gets (done, total, what was just done); what it raises stops the test.

    Returns
    -------
    xr.Dataset
        As of `workbench.recover`.

    Raises
    ------
    InputError
        If there are too few areas, or the model cannot be tested.
    """
    from workbench.evaluation import recover
    from workbench.labelled.weighing import AsFitted

    def make() -> xr.Dataset:
        name, fit = answer.fit.model.name, answer.fit
        tested = {name: AsFitted(fit.model, fit.hyperparameters)}
        if "trials" in data:
            return _held_out(tested, data, progress)
        return recover(tested | simple_maps(name, data), data, draws=DRAWS, samples=SAMPLES,
                       progress=progress)

    return _TESTS.get((answer.spec, answer.fitted, answer.kind), make) if answer.again else make()


def _held_out(tested: dict[str, object], data: xr.Dataset, progress: Callable) -> xr.Dataset:
    """A model of shares beside one share for all areas."""
    from workbench.labelled.held_out import hold_out

    found = hold_out(tested, data, TURNS, samples=SAMPLES, seed=0, workers=1, progress=progress)
    [name] = tested
    if not np.isfinite(found.draws[name]).any():
        raise InputError(next(iter(found.errors.values())))
    return found.compared(seed=0)


def simple_maps(model: str, data: xr.Dataset) -> dict[str, object]:
    """What a map has to beat: of totals of counts those that `workbench.Auto` compares with, too.

    Parameters
    ----------
    model : str
        Name of the model of the map; the flat one is no rival of itself where there are others.
    data : xr.Dataset
        Bagged dataset.

    Returns
    -------
    dict of str to model
        By name.
    """
    from workbench.evaluation.baselines import simple_maps as beside
    from workbench.labelled import make_model

    found = beside(data)
    return found if found and model == "constant" else found | {FLAT: make_model("constant")}


def ready(answer: Answer) -> xr.Dataset | None:
    """The test of an answer if it was run."""
    return _TESTS.peek((answer.spec, answer.fitted, answer.kind)) if answer.again else None
