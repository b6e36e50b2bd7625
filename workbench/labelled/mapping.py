"""The map that a Spec asks for, and the flat model that it is compared with."""

from __future__ import annotations

import warnings

import xarray as xr

from workbench.checks import FitWarning, NotExact
from workbench.labelled.models import Constant
from workbench.spec import Spec


def mapped(fit, ds: xr.Dataset, spec: Spec) -> xr.Dataset:
    """The map; one that cannot be made to add up to the totals is not lost, and says so.

    Parameters
    ----------
    fit : Fit
        Of the Spec's model to ``ds``.
    ds : xr.Dataset
        Bagged dataset.
    spec : Spec
        Its quantiles, threshold, area_effect and rescale_to_totals apply.

    Warns
    -----
    FitWarning
        If the model has no draws that preserve totals.
    """
    asked = (ds, spec.quantiles, spec.threshold, spec.area_effect)
    if not spec.rescale_to_totals:
        return fit.to_dataset(*asked)
    try:
        return fit.to_dataset(*asked, preserve_totals=True, seed=spec.seed)
    except NotExact as error:
        told = f"the map does not add up to the totals, as was asked for: {error}"
        warnings.warn(told, FitWarning, stacklevel=3)
        maps = fit.to_dataset(*asked)
        before = maps.attrs.get("treatments", "none")
        return maps.assign_attrs(treatments=told if before == "none" else f"{before}\n{told}")


def flat_beside(model) -> Constant:
    """The flat model to compare with: with the likelihood and overdispersion of the other.

    Beside a model without overdispersion, too, counts get the effects that any model has by
    default: one rate and Poisson counts are beaten by anything.

    Parameters
    ----------
    model : LabelledModel
        What is scored.
    """
    names = ("likelihood", "overdispersion", "nugget")
    if not all(hasattr(model.options, name) for name in names):
        return Constant()
    options = {name: getattr(model.options, name) for name in names}
    if options["overdispersion"] == "none":
        options |= {"overdispersion": "auto", "nugget": "auto"}
    return Constant(**options)
