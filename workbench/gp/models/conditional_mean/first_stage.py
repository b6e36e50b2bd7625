"""The regression of bags on their mediators, chosen by leaving out one bag after the other.

The conditional mean operator is a kernel ridge regression of the bags' mean embeddings on y, which
the bags alone can judge: how far is the embedding of a bag from what the others predict of it? The
evidence of the targets does not ask that. It takes ℓ as a prior covariance of their means, and may
smooth the bags so much that only an exaggerated field explains the targets.

References
----------
Chau et al. 2021, section 4, stage 1, whose risk this is on a bag that was left out; leaving one out
of a ridge regression in closed form is Allen 1974, PRESS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
import torch
from torch import Tensor

from workbench.gp.fields.mediated import BagWeights
from workbench.gp.numerics.linalg import FactorisationError, cholesky
from workbench.gp.optimisation.hyperparameters import HyperparameterSet

_REACH = 10.0       # log units that the search may go from where it starts
_STARTS = (0.0, 1.0, 2.0)
#: Left-out error, of that of predicting the other bags' mean, above which k is sought once more:
#: where mediators tell bags apart it is a few hundredths at most.
DOUBTFUL = 0.1
#: The same where the mediators say next to nothing of the bags, whatever is learnt of them.
USELESS = 0.5


@dataclass(frozen=True)
class LeftOut:
    """How well bags are predicted from the others' mediators.

    Parameters
    ----------
    loss : float
        See `left_out_loss`.
    relative : float
        Of the squared error of predicting each bag by the mean of the others.
    """

    loss: float
    relative: float


def left_out_loss(mean: BagWeights, gram: Tensor) -> Tensor:
    """Mean over bags of |μ_j - μ̂_j|² when bag j is left out, as a share of the mean |μ_j|² ().

    With P = (L + R)⁻¹ the error of bag j is Σ_i P_ji μ_i / P_jj. Both means weigh bags as the
    regression does: by their individuals where the ridge is N λ / n_j, for the risk is then a mean
    over individuals (of |k(x, ·) - μ̂|², less what no regression on y can change), and alike where
    it is B λ.

    Parameters
    ----------
    mean : BagWeights
        ℓ, the mediators of the bags and their ridges R.
    gram : Tensor (B, B)
        Inner products of the mean embeddings μ: means of k over pairs of bags.
    """
    root = cholesky(mean.system(), "Gram matrix of the mediators plus its ridge", 1e-12)
    inverse = torch.cholesky_inverse(root)
    errors = ((inverse @ gram) * inverse).sum(1) / inverse.diagonal().square()
    return (mean.shares @ errors) / (mean.shares @ gram.diagonal())


def loss_of_the_mean(mean: BagWeights, gram: Tensor) -> Tensor:
    """The same of predicting a left-out bag by the weighted mean of the others ().

    With shares s and the mean μ̄ of all bags it is Σ_j s_j |μ_j - μ̄|² / (1 - s_j)².

    Parameters
    ----------
    mean, gram
        See `left_out_loss`.
    """
    shares = mean.shares
    across = gram @ shares
    apart = gram.diagonal() - 2 * across + shares @ across
    return (shares @ (apart / (1 - shares).square())) / (shares @ gram.diagonal())


def choose_by_leaving_out(mean: BagWeights, gram: Tensor, chosen: HyperparameterSet) -> LeftOut:
    """Set ℓ and λ to where a left-out bag is predicted best; the loss there.

    Parameters
    ----------
    mean, gram
        See `left_out_loss`.
    chosen : HyperparameterSet
        Those of ℓ and λ that are free.
    """
    start, dull = chosen.vector(), max(float(loss_of_the_mean(mean, gram)), 1e-300)
    if len(start) == 0:
        value = float(left_out_loss(mean, gram).detach())
        return LeftOut(value, value / dull)
    lengths = np.concatenate([np.full(item.raw.numel(), item.name.endswith("lengthscale"))
                              for item in chosen.free])

    def loss(vector: np.ndarray) -> tuple[float, np.ndarray]:
        chosen.assign(vector)
        for item in chosen.free:
            item.raw.grad = None
        try:
            value = left_out_loss(mean, gram)
        except FactorisationError:
            return 1e6, np.zeros_like(vector)
        value.backward()
        return float(value.detach()), chosen.gradient()

    with torch.enable_grad():
        found = [scipy.optimize.minimize(
            loss, start + step * lengths, jac=True, method="L-BFGS-B",
            bounds=[(v - _REACH, v + _REACH) for v in start]) for step in _STARTS]
    best = min(found, key=lambda one: one.fun)
    chosen.assign(best.x)
    return LeftOut(float(best.fun), float(best.fun) / dull)
