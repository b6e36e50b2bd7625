"""Imagined truths: fields drawn from a model on the user's own areas, and totals observed of them.

Geometry, covariates, weights and trials stay; what was observed is replaced.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import xarray as xr

from workbench import schema
from workbench.checks import require
from workbench.gp.models.options import non_defaults
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.labelled.source import Converted


def imagine(model, ds: xr.Dataset, hyperparameters: Mapping | None = None, seed: int = 0,
            posterior: bool = False) -> xr.Dataset:
    """Draw a field from a model on a dataset's individuals, and totals of its areas.

    Parameters
    ----------
    model : LabelledModel
        ``VBAgg``, ``CentrePointGP``, ``Constant`` or ``AggregatedGP``.
    ds : xr.Dataset
        Bagged dataset; its values only scale default priors and starting values.
    hyperparameters : mapping, optional
        Values by name in natural units, as `Fit.hyperparameters` gives them. Others are fixed by
        the model, or drawn from their priors; one without a prior (the mean, a noise) keeps the
        value that a fit would start from.
    seed : int
        Of hyperparameters and field.
    posterior : bool
        Whether the field is drawn given the dataset's values; otherwise from the prior.

    Returns
    -------
    xr.Dataset
        The same areas with other values, and ``truth`` (individual), the rate that they were drawn
        at; its attribute ``hyperparameters`` is JSON.

    Raises
    ------
    InputError
        If the model has no prior to draw from, or a drawn observation is not finite.

    Examples
    --------
    >>> import workbench as wb
    >>> from workbench.labelled.imagined import imagine
    >>> ds = wb.load("swiss-roll", n_bags=12, mean_size=8, size_std=3)
    >>> other = imagine(wb.VBAgg(kernel="rbf"), ds, {"rbf.variance": 0.5}, seed=1)
    >>> other["truth"].sizes == {"individual": ds.sizes["individual"]}
    True
    """
    source = Converted(schema.check_learnable(ds)).source()
    drawing, observing = np.random.SeedSequence(seed).generate_state(2)
    known = model._inner.hyperparameters(source)
    given = {}
    for name, value in (hyperparameters or {}).items():
        known[name].set(value["value"] if isinstance(value, Mapping) else value)
        given[name] = known[name].report()["value"]
    values = known.draw(np.random.default_rng(drawing), given)
    values |= {name: known[name].report()["value"] for name in _fixed(known)} | given
    rates, observed = model._inner.imagine(source, values, int(observing), posterior)
    rates, observed = rates.cpu().numpy().astype(float), observed.cpu().numpy().astype(float)
    require(bool(np.isfinite(rates).all() and np.isfinite(observed).all()),
            "the drawn field is beyond what numbers can hold; give priors nearer to what you "
            "believe, or fix variances")
    out = ds.drop_vars(("truth", "individual_value"), errors="ignore")
    return out.assign(
        value=("bag", observed, ds["value"].attrs),
        truth=("individual", rates, {"long_name": "imagined rate",
                                     "hyperparameters": json.dumps(values)}))


def learnt(model, ds: xr.Dataset) -> dict[str, bool]:
    """The hyperparameters that a model learns from a dataset, and whether each is positive.

    Parameters
    ----------
    model : LabelledModel
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    dict of str to bool
        By name; True for one that is learnt as its logarithm.
    """
    known = model._inner.hyperparameters(Converted(schema.check_learnable(ds)).source())
    return {item.name: item.constraint is not None for item in known.free}


def with_priors_of(model, ds: xr.Dataset):
    """The same model with the priors that it has on a dataset, whatever other data it is fitted to.

    Default priors and effects go by the values that a model is fitted to. Truths that are drawn
    from them are to be learnt under the same ones.

    Parameters
    ----------
    model : LabelledModel
    ds : xr.Dataset
        Bagged dataset.

    Returns
    -------
    LabelledModel
        Of the same class, with option ``priors`` written out.
    """
    known = model._inner.hyperparameters(Converted(schema.check_learnable(ds)).source())
    said = getattr(model.options, "priors", {})     # "none" is one, too, that default priors see
    priors = {item.name: "none" if item.prior is None else item.prior for item in known.free
              if item.prior is not None or item.name in said}
    return type(model)(**{**non_defaults(model.options), "priors": priors})


def _fixed(known: HyperparameterSet) -> list[str]:
    return [item.name for item in known if item.fixed]
