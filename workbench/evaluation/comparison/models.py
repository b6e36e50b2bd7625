"""Which models stand in a comparison: the plain methods, the default model, those of the user."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping

import xarray as xr

from workbench.checks import choose, require
from workbench.evaluation import baselines
from workbench.evaluation.assessment import model_name
from workbench.evaluation.plain import (
    DasymetricClasses,
    PoissonKriging,
    PopulationSplit,
    TotalsGLM,
)
from workbench.schema import aggregation, kind

SPLIT, FLAT, AUTO = "population split", "constant", "auto"


def line_up(ds: xr.Dataset, models, effort: str, seed: int) -> tuple[dict, str, list[str]]:
    """Models by name, the name of the simple map among them, and what is left out and why.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    models : model, str, list of these, or dict of str to model, str or None, optional
        The user's, beside the others; text names a model of the registry; None leaves out a model
        that would be compared otherwise.
    effort : str
        Of the model ``auto``.
    seed : int

    Raises
    ------
    InputError
        If two models share a name, or a named one is unknown.
    """
    counts = kind(ds) == "count" and aggregation(ds) == "sum"
    notes, chosen = [], {}
    if counts:
        chosen = {SPLIT: PopulationSplit(), "GLM on totals": TotalsGLM(seed=seed),
                  "dasymetric classes": DasymetricClasses(seed=seed)}
        if "x" in ds.coords:
            chosen["Poisson kriging"] = PoissonKriging(seed=seed)
        else:
            notes.append("Poisson kriging is left out: the individuals have no coordinates")
    else:
        chosen[FLAT] = baselines.constant() if kind(ds) == "count" else _made(
            FLAT, likelihood="normal", link="identity", overdispersion="none", nugget=0.0)
        notes.append(
            "population split, GLM on totals, dasymetric classes and Poisson kriging are left out: "
            f"they are for totals of counts, and these values have kind {kind(ds)!r} and "
            f"aggregation {aggregation(ds)!r}; the flat map (constant) stands in their place")
    own = _named(models)
    without = [name for name, model in own.items() if model is None]
    own = {name: model for name, model in own.items() if model is not None}
    if AUTO not in own and AUTO not in without:
        if AUTO in importlib.import_module("workbench.labelled").models():
            # one process: the fits of the comparison already share the processors
            chosen[AUTO] = _made(AUTO, effort=effort, seed=seed, workers=1)
        else:
            notes.append("auto is left out: this version has no model of that name")
    for name in without:
        if name != AUTO:
            del chosen[choose("model to leave out", name, chosen)]
        notes.append(f"{name} is left out, as asked")
    twice = sorted(set(own) & set(chosen) - {FLAT})
    require(not twice, f"the name {', '.join(twice)} is taken by a model that is always compared; "
                       "give yours another: models={'my name': model}")
    together = chosen | own
    require(len(together) > 1, f"only {', '.join(together) or 'no model'} is left to compare; name "
            "one more")
    return together, SPLIT if counts else FLAT, notes


def describe(model) -> str:
    """A model and its options in one line, without addresses in memory."""
    shown = repr(model)
    if " at 0x" not in shown:
        return shown
    options = {k: v for k, v in getattr(model, "__dict__", {}).items() if not k.startswith("_")}
    return f"{type(model).__name__}({', '.join(f'{k}={v!r}' for k, v in options.items())})"


def _named(models) -> dict:
    if models is None:
        return {}
    if isinstance(models, Mapping):
        return {str(n): _made(m) if isinstance(m, str) else m for n, m in models.items()}
    several = models if isinstance(models, Iterable) and not isinstance(models, str) else [models]
    pairs = [(m, _made(m)) if isinstance(m, str) else (model_name(m), m) for m in several]
    require(len(dict(pairs)) == len(pairs), "two models share a name among "
            f"{[name for name, _ in pairs]}; give a dict of names")
    return dict(pairs)


def _made(name: str, **options):
    """A model of the registry, looked up late so that scoring never imports torch itself."""
    return importlib.import_module("workbench").make_model(name, **options)
