"""Hyperparameters learnt from summaries alone, by `QuasiLikelihoodGP`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from workbench.ui.granularity.cells import Summaries
from workbench.ui.granularity.engine import Model

STARTS = (0.08, 0.3)    # lengthscales to learn from, as shares of the map
STEPS = 100             # most evaluations of the evidence from each start


def learn(cells: Summaries, model: Model, constant: float, extent: float, tick: Callable
          ) -> tuple[dict[str, float], float]:
    """Lengthscale, variance and noise that summaries make most probable, and the log evidence.

    A likelihood without a noise of its own has none.

    A lengthscale far below the cells' size leaves the evidence flat, so that the search also
    starts from shares of the map.

    Parameters
    ----------
    cells : Summaries
    model : Model
        Kernel and likelihood, and where to start.
    constant : float
        Prior mean of the process.
    extent : float
        Length of the map, in the unit of the places.
    tick : callable
        Callback of the fits.
    """
    from workbench.gp.likelihoods.variance_functions import VARIANCE_FUNCTIONS
    from workbench.gp.models.summaries.model import QuasiLikelihoodGP

    source, found = source_of(cells), []
    for start in (model.lengthscale, *(extent * share for share in STARTS)):
        first = {f"{model.kernel}.lengthscale": start, f"{model.kernel}.variance": model.variance}
        if VARIANCE_FUNCTIONS[model.likelihood].scaled:
            first["noise.variance"] = model.noise**2
        fit = QuasiLikelihoodGP(
            kernel=model.kernel, likelihood=model.likelihood, nugget=0.0, boundary="half",
            initial=first, hyperparameters={"mean": constant}, max_steps=STEPS,
        ).fit(source, callback=tick)
        found.append((fit.state.evidence().item(), fit))
        if fit.history.cancelled:
            break
    evidence, fit = max(found, key=lambda pair: pair[0])
    values = {name: entry["value"] for name, entry in fit.hyperparameters.items()}
    learnt = {name: values[f"{model.kernel}.{name}"] for name in ("lengthscale", "variance")}
    if "noise.variance" in values:
        learnt["noise"] = float(np.sqrt(values["noise.variance"]))
    return learnt, evidence


def source_of(cells: Summaries):
    """Summaries as a source of the package: a mean, a variance and a count at every centre."""
    import torch

    from workbench.gp.data.bags import Bags, Columns, Source, Targets

    count, dimension = cells.places.shape
    names = ("x", "y")[:dimension]
    bags = Bags(torch.as_tensor(cells.places), torch.arange(count), torch.as_tensor(cells.counts),
                count, Columns(names, tuple(range(dimension)), ("1",) * dimension))
    values = torch.as_tensor(cells.means)
    return Source(bags, Targets(values, sample_variance=torch.as_tensor(cells.spreads)), "mean",
                  "continuous")
