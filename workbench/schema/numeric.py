"""Variables of a dataset that must hold numbers: which of their values are none, and where."""

from __future__ import annotations

from numbers import Real

import numpy as np
import xarray as xr

from workbench.checks import InputError


def require_numbers(ds: xr.Dataset, name: str) -> np.ndarray:
    """The values of a variable, if all are numbers; NaN is one, None is not.

    Parameters
    ----------
    ds : xr.Dataset
        With the variable.
    name : str
        Of the variable.

    Returns
    -------
    np.ndarray
        As they are.

    Raises
    ------
    InputError
        On text, dates and the like: how many, and the first with its place. Numbers written as
        text are text, as arithmetic fails on them later.
    """
    values = ds[name].values
    if values.dtype.kind in "biuf":
        return values
    wrong = np.argwhere([not isinstance(one, Real) for one in values.ravel()])
    if len(wrong):
        first = np.unravel_index(int(wrong[0, 0]), values.shape)
        raise InputError(
            f"{name} must hold numbers, but {len(wrong)} of {values.size} values are none, the "
            f"first {_shown(values[first])} at {_place(ds, name, first)}; correct or drop them, "
            "then convert the variable with .astype(float)")
    raise InputError(f"{name} holds Python objects in the place of an array of numbers; convert "
                     "the variable with .astype(float)")


def require_finite(ds: xr.Dataset, name: str) -> None:
    """Refuse a variable with values that are no numbers, missing or infinite.

    Parameters
    ----------
    ds : xr.Dataset
        With the variable.
    name : str
        Of the variable.

    Raises
    ------
    InputError
        If there are any: how many, and the first with its place.
    """
    bad = ~np.isfinite(require_numbers(ds, name))
    if bad.any():
        first = tuple(np.argwhere(bad)[0])
        raise InputError(f"{name} has {int(bad.sum())} values that are not finite, the first at "
                         f"{_place(ds, name, first)}; drop or fill them by a named treatment "
                         "before bagging")


def _place(ds: xr.Dataset, name: str, index: tuple) -> str:
    """An index as labels, such as "bag 'north'", or "individual 3, covariate 'height'"."""
    told = []
    for dim, position in zip(ds[name].dims, index, strict=True):
        label = ds[dim].values[position]
        told.append(f"{dim} {str(label)!r}" if isinstance(label, str) else f"{dim} {label}")
    return ", ".join(told)


def _shown(value: object) -> str:
    """A value in a message; text without the name of numpy's type."""
    return repr(str(value)) if isinstance(value, str) else repr(value)
