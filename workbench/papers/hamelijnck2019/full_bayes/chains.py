"""What a sampler returns: draws by chain, and how often its proposals were accepted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from workbench.papers.hamelijnck2019.full_bayes.problem import NAMES


@dataclass(frozen=True)
class Chains:
    """Draws of the hyperparameters and of f, in the order of the chains.

    Parameters
    ----------
    logs : array (C, S, 4)
        Logarithms of the hyperparameters, in the order of `problem.NAMES`.
    latent : array (C, S, N)
        Draws of f at the inputs.
    acceptance : mapping of str to array (C,)
        Share of proposals accepted after burn-in, by block; of NUTS, its mean acceptance
        probability.
    scales : mapping of str to array (C,)
        Step sizes in use after burn-in, by block.
    divergences : array (C,) or None
        Divergent transitions after burn-in, of NUTS alone.
    """

    logs: np.ndarray
    latent: np.ndarray
    acceptance: Mapping[str, np.ndarray] = field(default_factory=dict)
    scales: Mapping[str, np.ndarray] = field(default_factory=dict)
    divergences: np.ndarray | None = None

    @property
    def hyperparameters(self) -> dict[str, np.ndarray]:
        """Draws (C, S) in natural units, by name."""
        return dict(zip(NAMES, np.moveaxis(np.exp(self.logs), -1, 0), strict=True))

    def pooled(self, name: str) -> np.ndarray:
        """Draws of one hyperparameter, or of ``latent``, of all chains: (C S,) or (C S, N).

        Raises
        ------
        KeyError
            If there is no such hyperparameter.
        """
        if name == "latent":
            return self.latent.reshape(-1, self.latent.shape[-1])
        return self.hyperparameters[name].ravel()
