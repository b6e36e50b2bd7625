"""Likelihoods of counts: Poisson and negative binomial, and Poisson with a log-normal effect."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from workbench.checks import require
from workbench.gp.data.bags import Source
from workbench.gp.likelihoods.base import Likelihood, Units
from workbench.gp.likelihoods.effect_quadrature import effect_posterior, poisson_lognormal
from workbench.gp.likelihoods.moments import BagMoments
from workbench.gp.likelihoods.sharing import allocate
from workbench.gp.numerics.shapes import PerBag
from workbench.gp.optimisation.hyperparameters import scalar_hyperparameter
from workbench.gp.optimisation.priors import LogNormal as LogNormalPrior
from workbench.gp.predictive import LogNormal, Predictive

_MOST = 9e18            # expected counts up to which draws are whole numbers of 64 bits


class Counts(Likelihood):
    """What likelihoods of counts have in common: given its total, a bag is multinomial."""

    multinomial = factorial = True

    @classmethod
    def check_values(cls, source: Source) -> None:
        """Refuse means, and values that cannot be counts; see `Likelihood.check_values`."""
        require(source.aggregation == "sum", f"the {cls.name} likelihood needs bag totals, but "
                "the values are means; multiply them by the bags' weights, or use "
                "likelihood='normal'")
        require_counts(source.targets.value)

    @classmethod
    def observe(cls, rates: Tensor, units: Units, generator: np.random.Generator) -> Tensor:
        """Poisson counts at the rates, in which multipliers are (samples, units)."""
        expected = (rates * units.exposure).detach().cpu().numpy()
        require(bool((expected < _MOST).all()), f"a count of {expected.max():.2g} is expected, "
                "beyond what numbers can hold; fix variances at smaller values, or give priors "
                "nearer to what you believe")
        return torch.as_tensor(generator.poisson(expected)).to(rates)

    @classmethod
    def given_totals(cls, rates: Tensor, units: Units, totals: Tensor,
                     generator: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Multinomial: units of the total fall on individuals as their expected counts."""
        return allocate(rates * units.bags.weight.to(rates), units.bags.membership, totals,
                        generator)


class Poisson(Counts):
    """Counts with mean η, or η exp(a) with the area's iid effect a integrated out.

    Without an effect only E η and E log η are needed (Law et al. 2018, eqs. 8, 10 to 12). With
    one, log p(y | η) = log ∫ Poisson(y | η e^a) N(a; 0, τ²) da by adaptive quadrature around its
    mode (`effect_quadrature`), and its expectation over log η by Gauss-Hermite quadrature.
    """

    name = "poisson"
    overdispersed = learns_effects = True

    def expected_log_prob(self, y: PerBag, moments: BagMoments) -> PerBag:
        """E_q log p(y | η) of each bag (B,)."""
        moments.require_positive_link("Poisson")
        if moments.effect_variance is None:
            return y * moments.log_mean - moments.mean - torch.lgamma(y + 1)
        nodes, weights = moments.log_nodes()
        return poisson_lognormal(y[:, None], nodes, moments.effect_at_nodes) @ weights

    def effect_posterior(self, y: PerBag, log_mean: PerBag, effect_variance: PerBag
                         ) -> tuple[PerBag, PerBag]:
        """Location and variance (B,) of a bag's iid effect given its count, log η at its mean."""
        return effect_posterior(y, log_mean, effect_variance)

    def total_variance(self, moments: BagMoments) -> PerBag:
        """Var η + E η (B,)."""
        return moments.variance + moments.mean

    @classmethod
    def log_prob(cls, y: Tensor, parameter: Tensor, std: Tensor | None) -> Tensor:
        """Log density given the parameter, elementwise; ``std`` is not looked at."""
        return torch.distributions.Poisson(parameter, validate_args=False).log_prob(y)

    @classmethod
    def log_density(cls, y: Tensor, predicted: Predictive, units: Units, samples: int, seed: int
                    ) -> Tensor:
        """See `Likelihood.log_density`; exact of a log-normal parameter."""
        weight = units.exposure
        if isinstance(predicted, LogNormal):
            return poisson_lognormal(
                y, predicted.location + weight.log(), predicted.scale.square())[None]
        mean = (predicted.sample(samples, seed) * weight).clamp_min(torch.finfo(y.dtype).tiny)
        return y * mean.log() - mean - torch.lgamma(y + 1)


class NegativeBinomial(Counts):
    """Counts with mean η and variance η + η²/r: Poisson counts with Gamma(r, r) multipliers.

    Parameters
    ----------
    dispersion : callable returning Tensor ()
        r, differentiable; large r is Poisson.
    """

    name, multiplied = "negative-binomial", True

    def __init__(self, dispersion):
        super().__init__()
        self.dispersion = dispersion

    @classmethod
    def assemble(cls, source: Source, noise: str, white=None) -> NegativeBinomial:
        """With ``dispersion``, learnt; arguments as of `Likelihood.assemble`."""
        r = scalar_hyperparameter("dispersion", 10.0, "", LogNormalPrior(10.0, 2.0),
                                  source.targets.value)
        out = cls(lambda: r.natural.reshape(()))
        out.items.append(r)
        return out

    def expected_log_prob(self, y: PerBag, moments: BagMoments) -> PerBag:
        """E_q log p(y | η) of each bag, E log(η + r) by Gauss-Hermite quadrature in log η.

        Of a nugget only what it adds to E η counts: its variance in a bag's total is small beside
        the dispersion, which takes it up.
        """
        moments.require_positive_link("negative binomial")
        r = self.dispersion()
        nodes, weights = moments.log_nodes()
        if moments.effect_variance is not None:
            nodes = nodes + moments.effect_at_nodes / 2
        log_sum = torch.logaddexp(nodes, r.log()) @ weights
        constant = torch.lgamma(y + r) - torch.lgamma(r) - torch.lgamma(y + 1) + r * r.log()
        return constant + y * (nodes @ weights) - (y + r) * log_sum

    def total_variance(self, moments: BagMoments) -> PerBag:
        """Var η + E η + (E η)²/r (B,)."""
        return moments.variance + moments.mean + moments.mean.square() / self.dispersion()

    @classmethod
    def log_density(cls, y: Tensor, predicted: Predictive, units: Units, samples: int, seed: int
                    ) -> Tensor:
        """See `Likelihood.log_density`: given the base, the multiplied count is known exactly."""
        mean, shape = predicted.base.sample(samples, seed) * units.exposure, predicted.shape
        constant = torch.lgamma(y + shape) - torch.lgamma(shape) - torch.lgamma(y + 1)
        return (constant + shape * (shape / (shape + mean)).log()
                + torch.xlogy(y, mean / (shape + mean)))


def require_counts(y: PerBag) -> None:
    """Raise unless every value can be a count (fractional ones may stand for weighted counts)."""
    bad = ((y < 0) | ~torch.isfinite(y)).nonzero()
    require(
        len(bad) == 0,
        f"{len(bad)} counts are negative or not finite, the first at bag "
        f"{int(bad[0]) if len(bad) else 0}; a count is zero or more",
    )
