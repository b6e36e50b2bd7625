"""Positives out of trials, as in prevalence surveys."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from workbench.likelihoods.moments import OddsMoments
from workbench.shapes import PerBag


class Binomial:
    """y positives out of n trials, each positive with the bag's probability T = Σ w σ(f).

    The weights sum to one over the bag: a participant of the survey is individual i with
    probability w_i. With g = logit T, log p(y | T) = log C(n, y) + y g - n log(1 + e^g); under q
    its expectation is taken over the Gaussian (or drawn) law of g in `OddsMoments`, by
    quadrature. That law is matched to moments, so the objective is an approximation of the lower
    bound, not a bound.

    Parameters
    ----------
    trials : callable returning Tensor (B,)
        n of the bags of ``y``.
    """

    kind = "count"

    def __init__(self, trials):
        self.trials = trials

    def expected_log_prob(self, y: PerBag, moments: OddsMoments) -> PerBag:
        """E_q log p(y | T) of each bag (B,)."""
        n = self.trials()
        g, weights = moments.logit_nodes()
        return _log_choose(n, y) + (y[:, None] * g - n[:, None] * softplus(g)) @ weights

    def subset(self, bags: Tensor) -> Binomial:
        """The likelihood of some of the bags, by their positions."""
        return Binomial(lambda: self.trials()[bags])

    def sample(self, parameter: Tensor, generator: np.random.Generator, trials: Tensor) -> Tensor:
        """Positives with the given probabilities (..., B), of n trials each (B,)."""
        n = trials.detach().cpu().numpy().astype(np.int64)
        return torch.as_tensor(
            generator.binomial(n, parameter.detach().cpu().numpy())).to(parameter)

    def sample_individuals(self, shares: Tensor, members: Tensor, trials: Tensor,
                           generator: np.random.Generator) -> Tensor:
        """Positives of each individual among its bag's participants (samples, N).

        Parameters
        ----------
        shares : Tensor (samples, N)
            w_i σ(f_i), the probability that a participant is individual i and positive.
        members : Tensor (N,)
            Bag of each individual, ascending.
        trials : Tensor (B,)
            Participants of each bag.
        """
        p = shares.detach().cpu().numpy().astype(float)
        bag, out = members.cpu().numpy(), np.empty(shares.shape)
        for index, n in enumerate(trials.detach().cpu().numpy().astype(np.int64)):
            inside = np.flatnonzero(bag == index)
            negative = np.clip(1 - p[:, inside].sum(1, keepdims=True), 0, 1)
            cells = np.concatenate([p[:, inside], negative], 1)
            cells /= cells.sum(1, keepdims=True)
            out[:, inside] = generator.multinomial(n, cells)[:, :-1]
        return torch.as_tensor(out).to(shares)


def binomial_log_prob(y: Tensor, trials: Tensor, probability: Tensor) -> Tensor:
    """Log Binomial(y | n, p), elementwise; probabilities of zero and one allowed."""
    return (_log_choose(trials, y) + torch.xlogy(y, probability)
            + torch.special.xlog1py(trials - y, -probability))


def _log_choose(n: Tensor, y: Tensor) -> Tensor:
    return torch.lgamma(n + 1) - torch.lgamma(y + 1) - torch.lgamma(n - y + 1)
