"""A fit by its address, of a mixture with weights and hyperparameters of each of its models.

The address names models by keys (`fitted.key_of`); which models there are depends on the data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.checks import require
from workbench.ui.base.fitted import written
from workbench.ui.disaggregate.fitted import Fitted, key_of, written_mixture

if TYPE_CHECKING:
    import xarray as xr

    from workbench.labelled import AutoFit, Fit
    from workbench.pipeline.spec import Spec

AUTO = "auto"


def address(spec: Spec, fit: Fit) -> str:
    """What an address has of a fit that was learnt.

    Parameters
    ----------
    spec : Spec
        What was asked for.
    fit : Fit
    """
    if spec.model == AUTO:
        return written_mixture(fit.hyperparameters)
    return written(fit.hyperparameters, spec.hyperparameters)


def values_of(model: str, fitted: Fitted, data: xr.Dataset) -> dict:
    """Hyperparameters of a fit in an address, as ``condition`` of its model takes them.

    Parameters
    ----------
    model : str
        Whose fit it is: the texts of a mixture and of a single model may look alike.
    fitted : Fitted
    data : xr.Dataset
        What it was fitted to.

    Raises
    ------
    InputError
        If the address names a model that these data do not allow.
    """
    from workbench.labelled.candidates import candidates_for, effort_named

    if model != AUTO:
        return fitted.values
    known = {key_of(one.name): one.name
             for one in candidates_for(data, effort_named("thorough"))}
    for key in fitted.mixture:
        require(key in known, f"{key[:40]!r} is none of the models that auto weighs on these data "
                f"({', '.join(known)})")
    return {known[key]: one for key, one in fitted.mixture.items()}


def settled(fit: AutoFit, fitted: Fitted, data: xr.Dataset) -> AutoFit:
    """The mixture as its address gives it to anybody, with the test that its weights rest on.

    Parameters
    ----------
    fit : AutoFit
        As it was learnt: there q of each model was found on all individuals in a hurry.
    fitted : Fitted
        The same in an address.
    data : xr.Dataset
        What it was fitted to.
    """
    return fit.conditioned(values_of(AUTO, fitted, data))


def plain(given: dict) -> dict:
    """Hyperparameters of a fit as plain values; of a mixture those of its models, by model.

    Parameters
    ----------
    given : dict
        As of ``fit.hyperparameters``; models of a mixture that have no weight are left out.
    """
    found = {}
    for name, one in given.items():
        if "hyperparameters" not in one:
            found[name] = one["value"]
        elif one["weight"] > 0:
            found[name] = {"weight": one["weight"],
                           "hyperparameters": plain(one["hyperparameters"])}
    return found
