"""What a likelihood may ask of the distribution of a bag's parameter η = Σ w ψ(f) under q."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import logsigmoid

from workbench.checks import InputError, require
from workbench.gp.numerics.shapes import PerBag

_NODES, _ODDS_NODES = 12, 24
POINTS, _WEIGHTS = (torch.as_tensor(a) for a in np.polynomial.hermite_e.hermegauss(_NODES))
LOG_WEIGHTS = (_WEIGHTS / np.sqrt(2 * np.pi)).log()
_ODDS_POINTS, _ODDS_WEIGHTS = np.polynomial.hermite_e.hermegauss(_ODDS_NODES)

Deferred = PerBag | Callable[[], PerBag]


class BagMoments:
    """The distribution of η by its moments; log η is taken as Gaussian where more is asked.

    An expensive variance may be given as a function: it is then computed when first asked for,
    which a Poisson likelihood without effects never does.

    Parameters
    ----------
    mean : Tensor (B,)
        E η.
    variance : Tensor (B,) or callable, optional
        Var η; by default that of the log-normal with ``log_variance``.
    log_mean : Tensor (B,), optional
        E log η by a named bound or approximation; None under the identity link.
    effect_variance : Tensor (B,), optional
        Prior variance of the bag's iid effect (area effect and nugget) on log η, under the identity
        link on η itself, whose mean is zero; None without either.
    log_variance : Tensor (B,) or callable, optional
        Var log η; by default that of the log-normal with this mean and variance.
    inverse_bounds : callable returning two Tensors (B,), optional
        Upper bounds of E log η and of E 1/η, for a lower bound on what falls in both.
    """

    def __init__(self, mean: PerBag, variance: Deferred | None = None,
                 log_mean: PerBag | None = None, effect_variance: PerBag | None = None, *,
                 log_variance: Deferred | None = None,
                 inverse_bounds: Callable[[], tuple[PerBag, PerBag]] | None = None):
        require(variance is not None or log_variance is not None,
                "moments need the variance of η or of its logarithm")
        self.mean, self.log_mean, self.effect_variance = mean, log_mean, effect_variance
        self._variance, self._log_variance = variance, log_variance
        self._inverse_bounds = inverse_bounds

    @cached_property
    def variance(self) -> PerBag:
        """Var η."""
        if self._variance is None:
            return self.mean.square() * self.log_variance.expm1()
        return self._variance() if callable(self._variance) else self._variance

    @cached_property
    def log_variance(self) -> PerBag:
        """Var log η, by default of the log-normal with this mean and variance."""
        if self._log_variance is None:
            return (self.variance / self.mean.square()).log1p()
        return self._log_variance() if callable(self._log_variance) else self._log_variance

    def log_nodes(self) -> tuple[Float[Tensor, "B k"], Float[Tensor, " k"]]:
        """Gauss-Hermite nodes of log η ~ N(log_mean, log_variance), and their weights."""
        points = POINTS.to(self.mean)
        weights = LOG_WEIGHTS.exp().to(self.mean)
        std = self.log_variance.clamp_min(1e-16).sqrt()
        return self.log_mean[:, None] + std[:, None] * points, weights

    @property
    def effect_at_nodes(self) -> Tensor:
        """Prior variance of the iid effect at each of the `log_nodes`, (B, 1)."""
        return self.effect_variance[:, None]

    def inverse(self) -> tuple[PerBag, PerBag]:
        """E log η and E 1/η, for a likelihood that falls in both.

        E 1/η is (1 + Var η / (E η)²) / E η: exact of a log-normal, and to second order of any
        distribution. Where the moments are of a lower bound, both are upper bounds instead.
        """
        if self._inverse_bounds is not None:
            return self._inverse_bounds()
        relative = self.variance / self.mean.square()
        return self.log_mean, (1 + relative) / self.mean

    def require_positive_link(self, name: str) -> None:
        """Raise unless E log η is known.

        Raises
        ------
        InputError
            Naming the likelihood that needs it, under the identity link.
        """
        if self.log_mean is None:
            raise InputError(
                f"the {name} likelihood needs E log η, which the identity link does not give; "
                "use link='exp' or link='square'"
            )


class SampledMoments(BagMoments):
    """The distribution of η by equally weighted draws.

    Parameters
    ----------
    log_totals : Tensor (B, S)
        Draws of log η, a nugget's contribution to the mean of η included.
    log_centres : Tensor (B, S)
        The same without it: centres that an effect of mean zero adds to.
    effect_variance : Tensor (B, S), optional
        Prior variance of the iid effect on log η at each draw.
    """

    def __init__(self, log_totals: Tensor, log_centres: Tensor,
                 effect_variance: Tensor | None = None):
        totals = log_totals.exp()
        overall = None if effect_variance is None else effect_variance.mean(1)
        super().__init__(totals.mean(1), totals.var(1, correction=0), log_centres.mean(1), overall,
                         log_variance=log_centres.var(1, correction=0))
        self._centres, self._effects = log_centres, effect_variance

    def log_nodes(self) -> tuple[Float[Tensor, "B k"], Float[Tensor, " k"]]:
        """The draws, with equal weights."""
        return self._centres, _equal(self._centres)

    @property
    def effect_at_nodes(self) -> Tensor:
        """Prior variance of the iid effect at each draw, (B, S)."""
        return self._effects

    def inverse(self) -> tuple[PerBag, PerBag]:
        """E log η and E 1/η as averages over the draws."""
        return self.log_mean, (-self._centres).exp().mean(1)


class OddsMoments:
    """A bag's probability T = Σ w ψ(f), w summing to one, by its moments: logit T as Gaussian.

    Parameters
    ----------
    mean, variance : Tensor (B,)
        E T and Var T.
    logit_mean, logit_variance : Tensor (B,)
        Of the Gaussian distribution of logit T.
    effect_variance : Tensor (B,), optional
        Prior variance of an effect of the bag on ψ⁻¹(T), to be integrated out; None without one.
    """

    link = "logit"

    def __init__(self, mean: PerBag, variance: PerBag, logit_mean: PerBag, logit_variance: PerBag,
                 effect_variance: PerBag | None = None):
        self.mean, self.variance, self.effect_variance = mean, variance, effect_variance
        self.logit_mean, self.logit_variance = logit_mean, logit_variance

    @property
    def on_link(self) -> tuple[PerBag, PerBag]:
        """Mean and variance of ψ⁻¹(T), which an effect adds to."""
        return self.logit_mean, self.logit_variance

    def link_nodes(self) -> tuple[Float[Tensor, "B k"], Float[Tensor, " k"]]:
        """Gauss-Hermite nodes of ψ⁻¹(T), where an effect makes the likelihood smooth."""
        mean, variance = self.on_link
        std = variance.clamp_min(1e-16).sqrt()
        return mean[:, None] + std[:, None] * POINTS.to(mean), LOG_WEIGHTS.exp().to(mean)

    def logit_nodes(self) -> tuple[Float[Tensor, "B k"], Float[Tensor, " k"]]:
        """Gauss-Hermite nodes of logit T, and their weights."""
        points = torch.as_tensor(_ODDS_POINTS).to(self.mean)
        std = self.logit_variance.clamp_min(1e-16).sqrt()
        weights = torch.as_tensor(_ODDS_WEIGHTS / np.sqrt(2 * np.pi)).to(self.mean)
        return self.logit_mean[:, None] + std[:, None] * points, weights

    @property
    def log_mean(self) -> PerBag:
        """E log T."""
        nodes, weights = self.logit_nodes()
        return logsigmoid(nodes) @ weights


class ProbitMoments(OddsMoments):
    """A bag's probability T = Σ w Φ(f), w summing to one, as Φ of a Gaussian.

    Parameters
    ----------
    mean : Tensor (B,)
        E T.
    probit_mean, probit_variance : Tensor (B,)
        Of the Gaussian distribution of Φ⁻¹(T).
    effect_variance : Tensor (B,), optional
        As of `OddsMoments`.
    """

    link = "probit"

    def __init__(self, mean: PerBag, probit_mean: PerBag, probit_variance: PerBag,
                 effect_variance: PerBag | None = None):
        self.probit_mean, self.probit_variance = probit_mean, probit_variance
        points = torch.as_tensor(_ODDS_POINTS).to(mean)
        self._weights = torch.as_tensor(_ODDS_WEIGHTS / np.sqrt(2 * np.pi)).to(mean)
        std = probit_variance.clamp_min(1e-16).sqrt()
        self._probits = probit_mean[:, None] + std[:, None] * points
        odds = self.logit_nodes()[0]
        logit_mean = odds @ self._weights
        variance = (torch.special.ndtr(self._probits) - mean[:, None]).square() @ self._weights
        super().__init__(mean, variance, logit_mean,
                         (odds - logit_mean[:, None]).square() @ self._weights, effect_variance)

    @property
    def on_link(self) -> tuple[PerBag, PerBag]:
        """Mean and variance of Φ⁻¹(T)."""
        return self.probit_mean, self.probit_variance

    def logit_nodes(self) -> tuple[Float[Tensor, "B k"], Float[Tensor, " k"]]:
        """Gauss-Hermite nodes of Φ⁻¹(T), as log-odds, and their weights."""
        above, below = torch.special.log_ndtr(self._probits), torch.special.log_ndtr(-self._probits)
        return above - below, self._weights


class SampledOdds(OddsMoments):
    """The distribution of a bag's probability by equally weighted draws of its log-odds (B, S)."""

    def __init__(self, log_odds: Tensor):
        drawn = torch.sigmoid(log_odds)
        super().__init__(drawn.mean(1), drawn.var(1, correction=0), log_odds.mean(1),
                         log_odds.var(1, correction=0))
        self._log_odds = log_odds

    def logit_nodes(self) -> tuple[Float[Tensor, "B k"], Float[Tensor, " k"]]:
        """The draws, with equal weights."""
        return self._log_odds, _equal(self._log_odds)


def _equal(nodes: Tensor) -> Tensor:
    return torch.full((nodes.shape[1],), 1 / nodes.shape[1]).to(nodes)
