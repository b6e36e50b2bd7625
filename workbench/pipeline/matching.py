"""Whether a result that was made again is what it was."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import xarray as xr

_LISTED = 8


def differences(former: xr.Dataset, now: xr.Dataset) -> pd.DataFrame:
    """Where the numbers of a result made again are others.

    Parameters
    ----------
    former, now : xr.Dataset
        Results of the same Spec.

    Returns
    -------
    pd.DataFrame
        A row for each variable or coordinate that is not the same to the bit: ``largest``, the
        largest absolute difference in its own units (NaN of labels, and if the shapes differ or
        one has no such variable), and ``relative``, that as a share of its largest magnitude.

    Examples
    --------
    >>> import xarray as xr
    >>> former = xr.Dataset({"mean": ("individual", [1.0, 2.0])})
    >>> differences(former, former).empty
    True
    >>> differences(former, former + 0.5).loc["mean"].tolist()
    [0.5, 0.25]
    """
    rows = {}
    for name in sorted({*former.variables, *now.variables}, key=str):
        if name not in former.variables or name not in now.variables or (
                former[name].shape != now[name].shape):
            rows[name] = (np.nan, np.nan)
            continue
        one, two = (np.asarray(each[name].values) for each in (former, now))
        numbers = one.dtype.kind in "fiub" and two.dtype.kind in "fiub"
        if np.array_equal(one, two, equal_nan=numbers):
            continue
        if not numbers or (np.isnan(one) != np.isnan(two)).any():
            rows[name] = (np.nan, np.nan)
            continue
        largest = float(np.nanmax(np.abs(one.astype(float) - two.astype(float))))
        size = float(np.nanmax(np.abs(one.astype(float))))
        rows[name] = (largest, largest / size if size else np.inf)
    return pd.DataFrame.from_dict(rows, orient="index", columns=["largest", "relative"])


def matched(former: xr.Dataset, now: xr.Dataset, name: str) -> str:
    """Say whether a result made again is the former one.

    Parameters
    ----------
    former, now : xr.Dataset
        Results of the same Spec, with the attributes that runs give them.
    name : str
        Of the former result, for the text.

    Returns
    -------
    str
        One sentence, and a line for each of the variables that differ most.

    Examples
    --------
    >>> import xarray as xr
    >>> former = xr.Dataset({"mean": ("individual", [1.0, 2.0])})
    >>> matched(former, former, "map.nc")
    'matches map.nc to the bit'
    >>> print(matched(former, former * 1.5, "map.nc"))
    differs from map.nc in 1 of 1 variables:
      mean: by up to 1, 50 % of its largest value
    """
    if "partial" in former.attrs:
        return f"{name} is of a run that was stopped, so that it is not compared"
    found, every = differences(former, now), {*former.variables, *now.variables}
    if found.empty:
        return f"matches {name} to the bit"
    told = [f"differs from {name} in {len(found)} of {len(every)} variables"
            f"{_reasons(former, now)}:"]
    worst = found.sort_values("relative", ascending=False, na_position="first")
    for variable, row in worst.head(_LISTED).iterrows():
        told.append(f"  {variable}: " + (
            "other entries" if np.isnan(row["largest"]) else
            f"by up to {row['largest']:.3g}, {100 * row['relative']:.3g} % of its largest value"))
    if len(worst) > _LISTED:
        told.append(f"  and {len(worst) - _LISTED} more that differ less")
    return "\n".join(told)


def _reasons(former: xr.Dataset, now: xr.Dataset) -> str:
    """What else is different, of what results say of themselves."""
    if former.attrs.get("data_sha256") != now.attrs.get("data_sha256"):
        return " (the data are not the same to the bit)"
    then, today = (json.loads(each.attrs.get("versions", "{}")) for each in (former, now))
    other = [f"{name} {then.get(name)} then, {today[name]} now" for name in today
             if then.get(name) != today[name]]
    return f" ({'; '.join(other)})" if other else ""
