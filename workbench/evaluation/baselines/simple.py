"""The two maps of totals of counts that every model has to beat, under one name everywhere."""

from __future__ import annotations

import xarray as xr

from workbench.evaluation.baselines.glm import TotalsGLM
from workbench.evaluation.baselines.split import PopulationSplit
from workbench.evaluation.evidence import GLM, SPLIT
from workbench.schema import COVARIATE, counts_add_up


def simple_maps(ds: xr.Dataset, seed: int = 0) -> dict[str, PopulationSplit | TotalsGLM]:
    """The simple maps of a dataset, by name.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    seed : int
        Of the folds that choose the GLM's ridge.

    Returns
    -------
    dict of str to PopulationSplit or TotalsGLM
        Both; the split alone where there are no covariates; none unless values are totals of
        counts.
    """
    if not counts_add_up(ds):
        return {}
    glm = {GLM: TotalsGLM(seed=seed)} if ds.sizes[COVARIATE] else {}
    return {SPLIT: PopulationSplit()} | glm
