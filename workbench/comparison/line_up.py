"""Which models are compared: the baselines, the default model, and those of the user."""

from __future__ import annotations

import xarray as xr

from workbench.checks import choose, require
from workbench.comparison.assessment import flat_model
from workbench.evaluation.baselines import (
    GLM,
    SPLIT,
    DasymetricClasses,
    PoissonKriging,
    PopulationSplit,
    TotalsGLM,
)
from workbench.evaluation.tasks import named
from workbench.schema import COVARIATE, aggregation, counts_add_up, kind

FLAT, AUTO = "constant", "auto"
CLASSES, KRIGING = "dasymetric classes", "Poisson kriging"


def line_up(ds: xr.Dataset, models, effort: str, seed: int) -> tuple[dict, str, list[str]]:
    """The models to compare.

    Parameters
    ----------
    ds : xr.Dataset
        Bagged dataset.
    models : model, str, list of these, or dict of str to model, str or None, optional
        The user's, beside the others; text names a model of the registry; None leaves out a model
        that would be compared otherwise.
    effort : str
        Effort of the model ``auto``.
    seed : int
        Seed of the models that are always compared.

    Returns
    -------
    models : dict of str to model
        By name.
    simple : str
        Name of the simple map among them.
    notes : list of str
        What is left out, and why.

    Raises
    ------
    InputError
        If two models share a name, or a named one is unknown.
    """
    counts = counts_add_up(ds)
    notes, chosen, lacking = [], {}, {}
    if counts:
        chosen = {SPLIT: PopulationSplit(), GLM: TotalsGLM(seed=seed)}
        if ds.sizes[COVARIATE]:
            chosen[CLASSES] = DasymetricClasses(seed=seed)
        else:
            lacking[CLASSES] = "dasymetric classes are left out: there are no covariates"
        if "x" in ds.coords:
            chosen[KRIGING] = PoissonKriging(seed=seed)
        else:
            lacking[KRIGING] = "Poisson kriging is left out: the individuals have no coordinates"
        notes += lacking.values()
    else:
        chosen[FLAT] = flat_model()
        notes.append(
            "population split, GLM on totals, dasymetric classes and Poisson kriging are left out: "
            f"they are for totals of counts, and these values have kind {kind(ds)!r} and "
            f"aggregation {aggregation(ds)!r}; the flat map (constant) stands in their place")
    own = {} if models is None or models == {} else named(models, _made)
    without = [name for name, model in own.items() if model is None]
    own = {name: model for name, model in own.items() if model is not None}
    if AUTO not in own and AUTO not in without:
        # one process: the fits of the comparison already share the processors
        chosen[AUTO] = _made(AUTO, effort=effort, seed=seed, workers=1)
    for name in without:
        if name in lacking:
            continue
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
    """A model and its options in one line, without addresses in memory.

    Parameters
    ----------
    model : model
        Any.

    Returns
    -------
    str
        One line.
    """
    shown = repr(model)
    if " at 0x" not in shown:
        return shown
    options = {k: v for k, v in getattr(model, "__dict__", {}).items() if not k.startswith("_")}
    return f"{type(model).__name__}({', '.join(f'{k}={v!r}' for k, v in options.items())})"


def _made(name: str, **options):
    from workbench.labelled import make_model  # here: it loads torch

    return make_model(name, **options)
