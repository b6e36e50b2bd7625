"""What a fit is, as plain values that a stored map carries: from these a report is written."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

from workbench.gp.kernels.persistent import PERSISTENT
from workbench.gp.models.options import non_defaults

CARD = "model_card"     #: attribute of a map that holds it, as JSON
_MOST = 200         # values of one hyperparameter that are kept


def card_of(fit) -> dict[str, Any]:
    """The parts of a model, its hyperparameters with priors, and how training went.

    Parameters
    ----------
    fit : workbench.labelled.Fit
        Any labelled fit.

    Returns
    -------
    dict
        What JSON can hold: ``model``, ``class``, ``options`` that are not defaults, ``summary``,
        ``paper``; ``likelihood``, ``link``,
        ``aggregation``, ``rescaled`` (whether values are divided by the areas' weights),
        ``overdispersion``, ``persistence``, ``nugget``, ``trials``, ``noise``, ``kernel``,
        ``inducing`` and ``features`` where the model has them; ``terms`` (name, columns) of the
        kernel's map; ``hyperparameters`` (name, value, unit, prior, fixed) in natural units;
        ``coefficients`` (name, mean, std) of standardised covariates; ``areas``, ``steps``,
        ``seconds``, ``converged``, ``cancelled``, ``failed`` and ``notes``.
    """
    state, history = fit.inner.state, fit.inner.history
    inner = fit.model._inner
    found = {
        "model": inner.name, "class": type(fit.model).__name__,
        "options": {name: _plain(value) for name, value in non_defaults(fit.model.options).items()},
        "summary": inner.summary, "paper": getattr(inner, "paper", ""),
        "areas": len(fit._training.names), "aggregation": fit._aggregation,
        "steps": len(history.objective), "seconds": round(float(history.elapsed), 3),
        "converged": bool(history.converged), "cancelled": bool(history.cancelled),
        "failed": bool(history.failed), "notes": list(history.notes),
        "objective": float(fit.objective),
    }
    source = getattr(state, "source", None)
    targets = getattr(source, "targets", None)
    found |= {"count": getattr(source, "kind", "") == "count",
              "trials": getattr(getattr(source, "bags", None), "trials", None) is not None,
              "observed": 0 if targets is None else len(targets.value)}
    likelihood, link = getattr(state, "likelihood", None), getattr(state, "link", None)
    found["likelihood"] = str(getattr(likelihood, "name", ""))
    found["link"] = str(getattr(link, "name", ""))
    found["rescaled"] = bool(getattr(state, "rescaled", False))
    options = getattr(state, "options", fit.model.options)
    for name in ("overdispersion", "persistence", "nugget", "noise", "kernel", "inducing", "bound",
                 "average", "transform", "composite"):
        value = getattr(options, name, None)
        if isinstance(value, str | Real) and value is not None:
            found[name] = value
    found["terms"] = _terms(fit, state)
    found["hyperparameters"] = [_hyperparameter(item) for item in
                                getattr(state, "hyperparameters", ())]
    found["coefficients"] = _coefficients(fit)
    return found


def _terms(fit, state) -> list[dict]:
    names = fit._columns.names
    return [{"name": str(term.name), "columns": [str(names[c]) for c in term.columns]}
            for term in getattr(getattr(state, "field", None), "terms", ())
            if term.name != PERSISTENT]         # which is no part of the map


def _hyperparameter(item) -> dict:
    report = item.report()
    value = report["value"]
    if isinstance(value, list):
        value = value[:_MOST]
    prior = "fixed" if item.fixed else str(item.prior or "flat")
    return {"name": item.name, "value": value, "unit": report["unit"], "prior": prior,
            "fixed": bool(item.fixed)}


def _coefficients(fit) -> list[dict]:
    slopes = fit.known_coefficients() if hasattr(fit.inner, "coefficients") else {}
    return [{"name": name, "mean": mean, "std": std} for name, (mean, std) in slopes.items()]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return {"object": repr(value)}
