"""Links ψ from the Gaussian process to the rate: identity, exp, square, logit, and probit."""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.checks import InputError, choose, option, require
from workbench.gp.data.bags import Source
from workbench.gp.predictive import (
    Gamma,
    LogitNormal,
    LogNormal,
    Normal,
    Predictive,
    ProbitNormal,
    ScaledNoncentralChi2,
)


class Link:
    """rate = ψ(f), with all that depends on which ψ it is."""

    name: str
    #: One line for users.
    help: str
    #: Whether rates are positive.
    positive = True
    #: Whether ψ is linear, so that sums of rates of a Gaussian f are Gaussian.
    linear = False
    #: What rates stay below; 1 for probabilities.
    upper = float("inf")
    #: Distribution of ψ(v) by location and scale of a Gaussian v.
    rate: type[Predictive]

    @staticmethod
    def psi(f: Tensor) -> Tensor:
        """ψ, elementwise."""
        raise NotImplementedError

    @staticmethod
    def inverse(rate: Tensor) -> Tensor:
        """A value of f with ψ(f) = rate, elementwise."""
        raise NotImplementedError

    def averaged(self, variance: Tensor, share: Tensor | float) -> Tensor:
        """Variance of f for means of ψ(f + e), of which squared shares add up to ``share``.

        Of white noise e of this variance; to first order in it.
        """
        return variance * share

    def lacking(self, mean: Tensor, variance: Tensor, rate: Tensor) -> Tensor:
        """What to add to v ~ N(mean, variance), so that the mean of ψ(v) is this rate.

        Exact under exp and identity, where it does not depend on the variance.
        """
        return self.inverse(rate) - self.inverse(self.distribution(mean, variance).mean)

    @property
    def unit(self) -> str:
        """What f is in terms of the rate; logit and probit are called by their inverses."""
        return f"{self.name}(rate)" if self.upper == 1 else f"{self.name}⁻¹(rate)"

    def distribution(self, mean: Tensor, variance: Tensor) -> Predictive:
        """Distribution of ψ(v) for v ~ N(mean, variance)."""
        return self.rate(mean, variance.clamp_min(0).sqrt())

    def covariance(self, mean: Tensor, covariance: Tensor) -> Tensor | None:
        """Covariances (n, n) of ψ(v) for v ~ N(mean, covariance); None without a closed form."""
        return None

    def of_bags(self, moments) -> Predictive:
        """Predictive distribution of bag parameters η = Σ w ψ(f), by their moments."""
        raise NotImplementedError

    def scale(self, source: Source) -> float:
        """Size of f that is one unit of *relative* change of the rate; units for default priors."""
        return 1.0

    def per_log_rate(self, f: Tensor) -> Tensor | float:
        """∂f / ∂ log rate at f."""
        raise NotImplementedError

    def canonical(self, f: Tensor) -> Tensor:
        """The one of all values with the same rate that is compared between places."""
        return f

    def initial(self, rate: Tensor) -> Tensor:
        """F at a flat rate, which must lie where the link's rates do.

        Raises
        ------
        InputError
            If the link is positive and the rate is zero or negative, not finite, or not below the
            upper end.
        """
        if self.positive and not float(rate) > 0:
            raise InputError(
                f"the mean rate is {float(rate):.3g} but link {self.name!r} needs a positive one; "
                "if all totals are zero there is nothing to map; else check the values, or use "
                f"{option('link', 'identity')} if they may be negative"
            )
        require(bool(torch.isfinite(rate)), f"the mean rate is {float(rate)} in {rate.dtype}; use "
                "dtype='float64', or weights in other units")
        require(float(rate) < self.upper, f"the mean rate is {float(rate):.3g} but link "
                f"{self.name!r} needs one below {self.upper:g}; check the values")
        return self.inverse(rate)


class Identity(Link):
    """rate = f."""

    name, help = "identity", "rate = f; may be negative"
    positive, linear, rate = False, True, Normal

    @staticmethod
    def psi(f: Tensor) -> Tensor:
        """F itself."""
        return f

    inverse = psi

    def covariance(self, mean: Tensor, covariance: Tensor) -> Tensor:
        """Those of v."""
        return covariance

    def of_bags(self, moments) -> Normal:
        """Normal: a sum of Gaussians."""
        return Normal(moments.mean, moments.variance.sqrt())

    def scale(self, source: Source) -> float:
        """The `spread` of the areas' rates."""
        return spread(source.as_rates().targets.value)


class Exponential(Link):
    """rate = exp f."""

    name, help, rate = "exp", "rate = exp f; effects multiply", LogNormal
    psi, inverse = staticmethod(torch.exp), staticmethod(torch.log)

    def averaged(self, variance: Tensor, share: Tensor | float) -> Tensor:
        """Exactly: e^v - 1 is the squared coefficient of variation."""
        return torch.log1p(share * torch.expm1(variance))

    def covariance(self, mean: Tensor, covariance: Tensor) -> Tensor:
        """E_i E_j (exp S_ij - 1), with E the expected rates."""
        expected = (mean + covariance.diagonal() / 2).exp()
        return expected[:, None] * expected * covariance.expm1()

    def of_bags(self, moments) -> LogNormal:
        """Log-normal with the same mean and variance."""
        return LogNormal.matched(moments.mean, moments.variance)

    def per_log_rate(self, f: Tensor) -> float:
        """One: f is the log rate."""
        return 1.0


class Square(Link):
    """rate = f²."""

    name, help, rate = "square", "rate = f²; Law et al. 2018", ScaledNoncentralChi2
    psi, inverse = staticmethod(torch.square), staticmethod(torch.sqrt)

    def covariance(self, mean: Tensor, covariance: Tensor) -> Tensor:
        """2 S_ij² + 4 m_i m_j S_ij."""
        return 2 * covariance.square() + 4 * mean[:, None] * mean * covariance

    def of_bags(self, moments) -> Gamma:
        """Gamma with the same mean and variance."""
        return Gamma(moments.mean, moments.variance)

    def lacking(self, mean: Tensor, variance: Tensor, rate: Tensor) -> Tensor:
        """Exactly, on the side of zero where v lies; where v varies by more than the rate, to zero.

        The mean of v² is mean² + variance.
        """
        size = (rate - variance).clamp_min(0).sqrt()
        return torch.where(mean < 0, -size, size) - mean

    def scale(self, source: Source) -> float:
        """√rate/2: d log f² = 2 df/f."""
        return float(self.initial(source.mean_rate)) / 2

    def per_log_rate(self, f: Tensor) -> Tensor:
        """f/2."""
        return f / 2

    def canonical(self, f: Tensor) -> Tensor:
        """|f|: f and -f have one rate."""
        return f.abs()


class Logit(Link):
    """rate = 1/(1 + exp(-f)), whose units of f are those of the log-odds."""

    name, rate, upper = "logit", LogitNormal, 1.0
    help = "rate = 1/(1 + exp(-f)), a probability; for positives out of trials"
    psi, inverse = staticmethod(torch.sigmoid), staticmethod(torch.logit)

    def of_bags(self, moments) -> LogitNormal:
        """Logit-normal by the moments of the bag's log-odds."""
        return LogitNormal(moments.logit_mean, moments.logit_variance.sqrt())


class Probit(Link):
    """rate = Φ(f), Φ the distribution function of a standard normal variable."""

    name, help = "probit", "rate = Φ(f), a probability; for positives out of trials"
    rate, upper = ProbitNormal, 1.0
    psi, inverse = staticmethod(torch.special.ndtr), staticmethod(torch.special.ndtri)

    def of_bags(self, moments) -> ProbitNormal:
        """Probit-normal by the moments of the bag's probit."""
        return ProbitNormal(moments.probit_mean, moments.probit_variance.sqrt())


LINKS = {link.name: link for link in (Identity(), Exponential(), Square(), Logit(), Probit())}


def link_named(name: str) -> Link:
    """The link of that name; the nearest is suggested for an unknown one.

    ``auto`` is exp (a likelihood may know better, see `Likelihood.link`).
    """
    return LINKS[choose("link", "exp" if name == "auto" else name, LINKS)]


def spread(values: Tensor) -> float:
    """Size of differences between values (n,): their sd, failing that the size of the values."""
    found = float(values.std()) if len(values) > 1 else 0.0
    return found or max(float(values.abs().mean()), 1e-12)
