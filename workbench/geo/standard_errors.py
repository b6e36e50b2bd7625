"""Standard errors of areas' means: a column beside the values; squared, their variances."""

from __future__ import annotations

import numpy as np
import xarray as xr

from workbench import schema
from workbench.bagging.findings import part, refuse
from workbench.checks import option, require
from workbench.geo.attributes import numeric_column


def refuse_of_others(standard_error: str | None, kind: str, aggregation: str,
                     trials: str | None, duplicates: str = "error") -> None:
    """Refuse standard errors of anything but means of continuous values.

    Parameters
    ----------
    standard_error, trials : str, optional
        Columns.
    kind, aggregation : str
        What the values are.
    duplicates : str
        Of `workbench.geo.CleaningOptions`.

    Raises
    ------
    InputError
        With what would have to be said of the values.
    """
    if standard_error is None:
        return
    require(trials is None, "positives out of trials have their error by the number of trials; "
            f"leave out {option('standard_error')}")
    require(kind == "continuous" and aggregation == "mean", "standard errors are of means of "
            "continuous values, and a count has its error by its likelihood; pass "
            f"{option('kind', 'continuous')} and {option('aggregation', 'mean')}, or leave out "
            f"{option('standard_error')}")
    require(duplicates != "merge", f"{option('duplicates', 'merge')} adds the values of polygons "
            "that share an id, and means with standard errors do not add up; pass "
            f"{option('duplicates', 'once')} if each part has the mean of the whole")


def refuse_column(areas, standard_error: str | None) -> None:
    """Refuse a column of standard errors, if there is to be one, as `refuse_unusable` does.

    Parameters
    ----------
    areas : geopandas.GeoDataFrame
        Indexed by id, all of them with a value.
    standard_error : str, optional
        The column.

    Raises
    ------
    InputError
        Also if there is no such column, or it does not hold numbers.
    """
    if standard_error is not None:
        with part("value", standard_error):
            errors = numeric_column(areas, standard_error, "standard error")
            refuse_unusable(errors, areas.index.to_numpy(), standard_error)


def refuse_unusable(errors: np.ndarray, areas: np.ndarray, name: str) -> None:
    """Refuse standard errors that are not all positive numbers.

    Parameters
    ----------
    errors : array (area,)
        Standard errors.
    areas : array (area,)
        Ids.
    name : str
        Of their column.

    Raises
    ------
    InputError
        With the ids of areas whose standard error is missing, or is not positive and finite.
    """
    for bad, what, code in (
            (np.isnan(errors), "have no standard error", "standard-error-missing"),
            ((errors <= 0) | np.isinf(errors), "have a standard error that is not positive and "
             "finite", "standard-error-wrong")):
        if bad.any():
            refuse(f"{int(bad.sum())} areas {what} (first: {areas[bad][:3].tolist()})",
                   f"give every area with a value a positive number in column {name!r}, or "
                   "leave that area out",
                   code=code, where=areas[bad], count=int(bad.sum()))


def with_variances(ds: xr.Dataset, errors: np.ndarray, name: str) -> xr.Dataset:
    """A bagged dataset with the squares of its values' standard errors.

    Parameters
    ----------
    ds : xr.Dataset
        Whose bags are the areas, in their order.
    errors : array (bag,)
        Standard errors, checked by `refuse_unusable`.
    name : str
        Of the column of standard errors.

    Returns
    -------
    xr.Dataset
        With ``noise_variance``, which models of Normal observations take for known.
    """
    units = str(ds["value"].attrs.get("units", ""))
    return schema.check(ds.assign(noise_variance=(schema.BAG, np.asarray(errors, float)**2, {
        "long_name": f"square of {name}", **({"units": f"({units})²"} if units else {})})))
