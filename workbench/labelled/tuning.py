"""Choosing options on a grid, for bagged datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd
import xarray as xr

from workbench.baselines import tuning
from workbench.labelled.fit import Fit
from workbench.labelled.models import LabelledModel
from workbench.labelled.source import to_source


def tune(
    model: type[LabelledModel],
    grid: Mapping[str, Iterable] | Iterable[Mapping],
    ds: xr.Dataset,
    validation: xr.Dataset | None = None,
    early_stop: xr.Dataset | None = None,
    **how,
) -> tuple[Fit, pd.DataFrame]:
    """Fit a model with every option dict of a grid; the best fit, and one row per run.

    Parameters
    ----------
    model : type
        A public model class, such as ``workbench.VBAgg``.
    grid : mapping of option to values, or sequence of option dicts
        A mapping stands for the product of its values.
    ds, validation, early_stop : xr.Dataset
        What is fitted to; what is selected on; what stops training early (baselines only).
    **how
        ``select``, ``common``, ``progress`` and ``callback`` of `workbench.baselines.tuning.tune`,
        which also lists the columns of the table and the errors raised.

    References
    ----------
    Law et al. 2018, section 4.
    """
    sources = [None if part is None else to_source(part) for part in (ds, validation, early_stop)]
    tuned = tuning.tune(model.torch_model, grid, *sources, **how)
    return Fit(tuned.fit, model(**tuned.options), ds), pd.DataFrame(tuned.runs)
