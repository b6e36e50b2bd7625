"""Positives out of trials, as in prevalence surveys."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from workbench.checks import InputError, require
from workbench.gp.data.bags import Source
from workbench.gp.data.recurring import alone
from workbench.gp.data.trials import known_trials
from workbench.gp.likelihoods.base import Likelihood, Units
from workbench.gp.likelihoods.links import Link, link_named
from workbench.gp.likelihoods.moments import OddsMoments
from workbench.gp.likelihoods.odds_quadrature import (
    binomial_normal,
    effect_mean,
    effect_posterior,
)
from workbench.gp.likelihoods.sharing import allocate
from workbench.gp.numerics.shapes import PerBag
from workbench.gp.predictive import Predictive


class Binomial(Likelihood):
    """y positives out of n trials, each positive with the bag's probability T = Σ w ψ(f).

    The weights sum to one over the bag: a participant of the survey is individual i with
    probability w_i; ψ is the logistic function σ, or Φ. With g = logit T, log p(y | T) =
    log C(n, y) + y g - n log(1 + e^g); under q its expectation is taken by quadrature over the
    distribution of T in `OddsMoments`: logit-normal, or under the probit link probit-normal (or
    drawn). That distribution is matched to moments, so the objective is an approximation of the
    lower bound; of single individuals it is exact, and the objective the bound itself.

    Areas vary more than binomial variables do, as people in one place have more in common than the
    map says: log odds get an effect of their area, a term of the field. (As the nugget of geo-
    statistical models of prevalence, Diggle and Giorgi 2016.) Of areas that have one bag it is
    integrated out of p(y | T) while the rest is learnt (`odds_quadrature`); of very many it is not
    found again for each, so that known areas, like others, have its prior.

    Parameters
    ----------
    trials : callable returning Tensor (B,)
        n of the bags of ``y``.
    """

    name, links = "binomial", ("logit", "probit")
    multinomial = proportions = True
    no_area_effect = ("overdispersion='area' is not available for these positives out of trials: "
                      "it needs areas in one period (over several persistence='area' is their "
                      "effect) where more than one person was tested, and in torch their numbers, "
                      "Bags.recurring; use overdispersion='none'")

    def __init__(self, trials):
        super().__init__()
        self.trials = trials

    @classmethod
    def assemble(cls, source: Source, noise: str, white=None) -> Binomial:
        """With the source's trials; arguments as of `Likelihood.assemble`."""
        return cls(lambda: source.bags.trials)

    @classmethod
    def default_link(cls, source: Source) -> str:
        """The logit."""
        return "logit"

    @classmethod
    def link(cls, name: str, source: Source) -> Link:
        """The logit by default; see `Likelihood.link`."""
        link = link_named(cls.default_link(source) if name == "auto" else name)
        if link.name not in cls.links:
            raise InputError(
                "the binomial likelihood, of positives out of trials, needs probabilities: use "
                f"link='logit', not {link.name!r}; link='probit' goes with it, too")
        return link

    @classmethod
    def check(cls, options, source: Source) -> None:
        """Refuse data without trials, and effects; see `Likelihood.check`."""
        trials = source.bags.trials
        if not cls._integrates(options, source):
            cls._check_effects(options)
        require("none" in (options.overdispersion, options.persistence), "positives out of trials "
                "have one effect of each area: give persistent.variance, with which it is kept, or "
                "area.std, with which it is not, and not both")
        require(trials is not None, "the binomial likelihood needs the number of trials of every "
                "bag; add a variable 'trials' (bag) to the dataset")
        require(bool(trials.sum() > 0), "there are no trials at all, so nothing was observed")
        require(options.nugget == 0 or options.persistence == "area", "a nugget of positives out "
                "of trials goes with effects that areas keep (persistent.variance), which hold "
                "what it adds to their shares; here are none: use nugget=0")

    @classmethod
    def _integrates(cls, options, source: Source) -> bool:
        """Whether an effect of each area is integrated out of p(y | T), and not kept."""
        return (alone(source.bags) and cls.effect_in_field(source) and source.trust == 1
                and options.bound in ("default", "moment"))

    @classmethod
    def observed(cls, source: Source) -> Source:
        """A bag's probability is a weighted mean."""
        return replace(source, aggregation="mean")

    @classmethod
    def effect_in_field(cls, source: Source) -> bool:
        """Yes, unless one person was tested everywhere: of those nothing tells it from the map."""
        trials = source.bags.trials
        return trials is not None and bool((trials > 1).any())

    def expected_log_prob(self, y: PerBag, moments: OddsMoments) -> PerBag:
        """E_q log p(y | T) of each bag (B,)."""
        n = self.trials()
        if moments.effect_variance is not None:
            g, weights = moments.link_nodes()
            return _log_choose(n, y) + binomial_normal(
                y[:, None], n[:, None], g, moments.effect_variance[:, None], moments.link) @ weights
        g, weights = moments.logit_nodes()
        return _log_choose(n, y) + (y[:, None] * g - n[:, None] * softplus(g)) @ weights

    def effect_mean(self, y: PerBag, moments: OddsMoments, within: PerBag) -> PerBag:
        """Mean (B,) of the bag's effect on ψ⁻¹(T) given y; arguments as of `effect_given`."""
        return effect_mean(y, self.trials(), moments.on_link[0] - within, moments.effect_variance,
                           moments.link)

    def effect_given(self, y: PerBag, moments: OddsMoments, within: PerBag
                     ) -> tuple[PerBag, PerBag, PerBag]:
        """The bag's effect on ψ⁻¹(T) given y, at the mean of ψ⁻¹(T); see `effect_posterior`.

        ``within`` is what of the effect is in that mean.
        """
        return effect_posterior(y, self.trials(), moments.on_link[0] - within,
                                moments.effect_variance, moments.link)

    def total_variance(self, moments: OddsMoments) -> None:
        """None: logits are not compared with totals."""

    @classmethod
    def observe(cls, rates: Tensor, units: Units, generator: np.random.Generator) -> Tensor:
        """Positives of bags, or of individuals among their bag's participants.

        A participant is individual i and positive with probability w_i ψ(f_i), the weights adding
        up to one in a bag.
        """
        bags = units.bags
        counts = known_trials(bags).detach().cpu().numpy().astype(np.int64)
        if not units.individual:
            return torch.as_tensor(
                generator.binomial(counts, rates.detach().cpu().numpy())).to(rates)
        share = bags.weight.to(rates) / bags.totals.to(rates)[bags.membership]
        p = (share * rates).detach().cpu().numpy().astype(float)
        bag, out = bags.membership.cpu().numpy(), np.empty(rates.shape)
        for index, n in enumerate(counts):
            inside = np.flatnonzero(bag == index)
            negative = np.clip(1 - p[:, inside].sum(1, keepdims=True), 0, 1)
            cells = np.concatenate([p[:, inside], negative], 1)
            cells /= cells.sum(1, keepdims=True)
            out[:, inside] = generator.multinomial(n, cells)[:, :-1]
        return torch.as_tensor(out).to(rates)

    @classmethod
    def log_density(cls, y: Tensor, predicted: Predictive, units: Units, samples: int, seed: int
                    ) -> Tensor:
        """See `Likelihood.log_density`; an individual's are its own among its bag's trials."""
        bags, members = units.bags, units.bags.membership
        trials, probability = known_trials(bags), predicted.sample(samples, seed)
        if units.individual:
            trials = trials[members]
            probability = bags.weight / bags.totals[members] * probability
        require(bool((y <= trials).all()), "some observations are more than the trials of their "
                "bag")
        return binomial_log_prob(y, trials, probability)

    @classmethod
    def given_totals(cls, rates: Tensor, units: Units, totals: Tensor,
                     generator: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Positives fall on individuals in proportion to their expectations."""
        return allocate(rates * units.bags.weight.to(rates), units.bags.membership, totals,
                        generator)


def binomial_log_prob(y: Tensor, trials: Tensor, probability: Tensor) -> Tensor:
    """Log Binomial(y | n, p), elementwise; probabilities of zero and one allowed."""
    return (_log_choose(trials, y) + torch.xlogy(y, probability)
            + torch.special.xlog1py(trials - y, -probability))


def _log_choose(n: Tensor, y: Tensor) -> Tensor:
    return torch.lgamma(n + 1) - torch.lgamma(y + 1) - torch.lgamma(n - y + 1)
