"""Coarsen and recover: the test of a map where nothing finer than its areas is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import xarray as xr

from workbench.schema import counts_add_up
from workbench.ui.base.cache import Cache
from workbench.ui.disaggregate.verdict import FLAT, REGRESSION, SPLIT

if TYPE_CHECKING:
    from workbench.ui.disaggregate.engine import Answer

DRAWS, SAMPLES = 2, 300     # groupings of each size, joint draws of the areas
_TESTS = Cache(12)


class AsFitted:
    """The model of a fit, at the hyperparameters of that fit, for totals of merged areas.

    Learnt again from a few merged areas they would test how little a model needs to be learnt, not
    how well it shares out a total; `workbench.Auto` weighs its candidates in the same way.
    """

    def __init__(self, answer: Answer):
        self._model, self._values = answer.fit.model, answer.fit.hyperparameters

    def fit(self, ds: xr.Dataset):
        """Condition on the totals; nothing is trained."""
        return self._model.condition(ds, self._values)


def recover(answer: Answer, data: xr.Dataset, progress: Callable[[int, int, str], None]
            ) -> xr.Dataset:
    """The map's model beside the simple maps, each finding known areas from merged ones.

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
    """
    from workbench.evaluation import recover

    def make() -> xr.Dataset:
        name = answer.fit.model.name
        return recover({name: AsFitted(answer)} | simple_maps(name, data), data, draws=DRAWS,
                       samples=SAMPLES, progress=progress)

    return _TESTS.get((answer.spec, answer.fitted, answer.kind), make) if answer.again else make()


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
    from workbench.evaluation.baselines import PopulationSplit, TotalsGLM
    from workbench.labelled import make_model

    found: dict[str, object] = {}
    if counts_add_up(data):
        found[SPLIT] = PopulationSplit()
        if data.sizes["covariate"]:
            found[REGRESSION] = TotalsGLM()
    return found if found and model == "constant" else found | {FLAT: make_model("constant")}


def ready(answer: Answer) -> xr.Dataset | None:
    """The test of an answer if it was run."""
    return _TESTS.peek((answer.spec, answer.fitted, answer.kind)) if answer.again else None
