"""Choosing options on a grid, for bagged datasets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pandas as pd
import xarray as xr

from workbench import schema
from workbench.gp.models.baselines import tuning
from workbench.labelled.fit import Fit
from workbench.labelled.source import Converted, to_source


def tune(
    model: type,
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
        ``select``, ``common``, ``progress`` and ``callback`` of
        `workbench.gp.models.baselines.tuning.tune`, which also lists the columns of the table and
        the errors raised.

    Returns
    -------
    fit : Fit
        The best one.
    runs : pd.DataFrame
        One row per run.

    References
    ----------
    Law et al. 2018, section 4.
    """
    data = Converted(schema.check(ds))
    others = [None if part is None else to_source(part) for part in (validation, early_stop)]
    tuned = tuning.tune(model.torch_model, grid, data.source(), *others, **how)
    return Fit(tuned.fit, model(**tuned.options), data), pd.DataFrame(tuned.runs)
