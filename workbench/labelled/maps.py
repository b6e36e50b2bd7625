"""The variables of a map: of single places, or from draws that preserve the areas' totals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from workbench.checks import DataWarning, require, warn
from workbench.gp.data.runs import split
from workbench.labelled.predictive import LabelledPredictive, labelled
from workbench.labelled.source import Converted
from workbench.schema.exceedance import Thresholds, exceedance_map, levels_of

if TYPE_CHECKING:
    from workbench.labelled.fit import Fit

BUDGET = 20_000_000     # draws x individuals that are held at once


def warn_of_thresholds(fit: Fit, threshold: Thresholds) -> None:
    """Warn of thresholds that no rate can exceed, as 30 of shares.

    Parameters
    ----------
    fit : Fit
        The fit.
    threshold
        As of `Fit.to_dataset`.
    """
    link = getattr(getattr(fit.inner, "state", None), "link", None)
    upper = getattr(link, "upper", np.inf)
    beyond = [] if threshold is None else [one for one in levels_of(threshold) if one >= upper]
    if beyond:
        warn(f"the threshold {beyond[0]:g} is above all rates, which are shares and stay below "
             f"{upper:g}, so that none exceeds it; give a share, such as 0.3 for 30 %",
             DataWarning)


def marginal_maps(rate: LabelledPredictive, expected: dict[str, str] | None, weight: xr.DataArray,
                  quantiles, threshold: Thresholds) -> dict[str, xr.DataArray]:
    """Variables of a map from the predictive distribution of the rate at each individual.

    Parameters
    ----------
    rate : LabelledPredictive
        Of the individuals.
    expected : dict, optional
        Attributes of the expected count; without them there is none, as values are means.
    weight : xr.DataArray (individual,)
        Weights.
    quantiles, threshold
        As of `Fit.to_dataset`.

    Returns
    -------
    dict of str to xr.DataArray
        By name.
    """
    maps = field_maps(rate, "the rate", quantiles, threshold)
    if expected is not None:
        maps["expected_count"] = (maps["mean"] * weight).assign_attrs(
            expected, long_name="expected value", distribution=rate.distribution)
    return maps


def field_maps(field: LabelledPredictive, name: str, quantiles, threshold: Thresholds
               ) -> dict[str, xr.DataArray]:
    """Mean, std, quantiles and exceedance of a field; ``name`` says in descriptions what it is."""
    maps = {
        "mean": field.mean.assign_attrs(long_name=f"posterior mean of {name}"),
        "std": field.std.assign_attrs(long_name=f"posterior std of {name}"),
        "rate_quantile": field.quantile(quantiles).assign_attrs(long_name=f"quantile of {name}"),
    }
    if threshold is not None:
        each = [field.exceedance(level) for level in levels_of(threshold)]
        maps["exceedance"] = exceedance_map(
            np.stack([one.values for one in each]), threshold, name.removeprefix("the "),
            each[0].coords, str(each[0].dims[0]), each[0].attrs)
    return maps


def preserving_maps(fit: Fit, data: Converted, levels: np.ndarray, threshold: Thresholds,
                    samples: int, seed: int) -> dict[str, xr.DataArray]:
    """The same from draws that add up to the areas' totals; some bags at a time.

    Parameters
    ----------
    fit : Fit
        A fit whose model has such draws.
    data : Converted
        What is predicted on, with its totals.
    levels : ndarray
        Levels of the quantiles.
    threshold, samples, seed
        As of `Fit.to_dataset`.

    Returns
    -------
    dict of str to xr.DataArray
        By name, with ``value_quantile``, of what an individual is observed as.
    """
    require(samples > 1, f"maps of draws need at least 2 samples, got {samples}")
    fit.require_of_all()
    bags, trained, totals, said = fit.totals_of(data)
    sums, found, limits = fit.sums, [], levels_of(threshold)
    parts = split(bags, max(1, BUDGET // samples))
    seeds = np.random.default_rng(seed).integers(2**31, size=bags.count)
    for own, (part, which) in zip(seeds, parts, strict=False):
        expected, drawn = (values.cpu().numpy() for values in fit.inner.preserve(
            part, trained[which], totals[which], samples, int(own)))
        rate = expected / part.weight.cpu().numpy() if sums else expected
        found.append([
            rate.mean(0)[None], rate.std(0, ddof=1)[None], np.quantile(rate, levels, axis=0),
            np.quantile(drawn, levels, axis=0), expected.mean(0)[None],
            np.stack([(rate > limit).mean(0) for limit in limits or [np.inf]])])
    mean, std, rates, values, expected, beyond = (
        np.concatenate(part, 1) for part in zip(*found, strict=True))
    places, of = data.places, {"units": fit.rate_units, **said}
    level, own_units = {"quantile": levels, **places}, {"units": fit.value_units, **said}

    def one(array, attrs, name, **extra):
        return labelled(array[0], ("individual",), places, {**attrs, "long_name": name, **extra})

    out = {
        "mean": one(mean, of, "posterior mean of the rate"),
        "std": one(std, of, "posterior std of the rate"),
        "rate_quantile": labelled(rates, ("quantile", "individual"), level,
                                  {**of, "long_name": "quantile of the rate"}),
        "value_quantile": labelled(values, ("quantile", "individual"), level, {
            **own_units, "long_name": "quantile of the individual's value"}),
    }
    if sums:
        out["expected_count"] = one(expected, own_units, "expected value")
    if threshold is not None:
        out["exceedance"] = exceedance_map(beyond, threshold, "rate", places, "individual", said)
    return out
