"""Mean, spread and convergence of the chains of every hyperparameter, in one table."""

from __future__ import annotations

import numpy as np

from workbench.evaluation.chains import effective_size, rhat
from workbench.papers.hamelijnck2019.full_bayes.chains import Chains


def summary(chains: Chains) -> dict[str, dict[str, float]]:
    """Mean, standard deviation, R̂ and effective number of draws of every hyperparameter.

    ``latent`` holds the worst R̂ and effective number of the entries of f. Of parameters that were
    held fixed there is nothing to tell, and they are left out.
    """
    out = {}
    for name, draws in chains.hyperparameters.items():
        if np.ptp(draws) > 0:
            out[name] = {"mean": float(draws.mean()), "sd": float(draws.std()),
                         "rhat": float(rhat(draws)), "ess": float(effective_size(draws))}
    if np.ptp(chains.latent) > 0:
        out["latent"] = {"rhat": float(rhat(chains.latent).max()),
                         "ess": float(effective_size(chains.latent).min())}
    return out
