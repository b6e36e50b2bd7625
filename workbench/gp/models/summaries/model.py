"""Gaussian process regression on summaries alone: centre, statistic and count of every area.

Each statistic, on the link scale, is a Normal observation of f at its area's centre, with variance
v/n: everything is one exact GP regression on as many points as there are areas.

References
----------
Shikuri 2025, section 5: eq. (14), μ_q and Σ_q.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from workbench.checks import InputError, option, require, warn
from workbench.gp.data.bags import Bags, Source
from workbench.gp.data.inputs import fit_inputs
from workbench.gp.fields.exact import ExactField
from workbench.gp.fields.iterative import iterative_evidence
from workbench.gp.kernels.operators import Identity
from workbench.gp.likelihoods.variance_functions import VARIANCE_FUNCTIONS, VarianceFunction, custom
from workbench.gp.models import assembly
from workbench.gp.models.base import EvidenceState, Model
from workbench.gp.models.casting import cast_source
from workbench.gp.models.summaries.fit import QuasiFit
from workbench.gp.models.summaries.options import QuasiOptions
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.gp.optimisation.pilot import pilot
from workbench.gp.optimisation.training import (
    RESTARTS,
    History,
    maximise,
    maximise_evidence,
    scaled_callback,
)

_LARGE = 5_000      # areas above which iterative solvers are the default
# Areas from which a quarter of them is fitted first, but not fewer nor many more than are enough.
_PILOT, _ENOUGH = 600, (150, 500)
_DROPPED = 0.05     # share of areas left out at an end of the range that is worth a warning


class QuasiState(EvidenceState):
    """A quasi-likelihood GP assembled for one source."""

    def __init__(self, model: Model, source: Source):
        self.options, self.given, options = model.options, source, model.options
        self.notes: list[str] = []
        self._selected = ""     # what to warn of areas that were left out by their outcome
        self.likelihood = _chosen(options, source)
        self.link = self.likelihood.link
        # Everything is per unit of weight; totals of sums are taken at the end.
        self.rescaled = source.aggregation == "sum"
        rates, trials = source, source.bags.trials
        if trials is None:
            rates = source.as_rates() if self.rescaled else source
        self.source = cast_source(rates, options)
        bags = model.reduce(self.source.bags)
        statistic = self.source.targets.value
        self.count = bags.totals if trials is None else bags.trials
        if trials is not None:
            none = (bags.trials == 0).nonzero().flatten().tolist()
            first = bags.names[none[0]] if none and bags.names else none[:1]
            require(not none, f"{len(none)} areas have no trials, and so no proportion (first: "
                    f"{first}); leave them out")
            statistic = statistic / bags.trials
        few = int((self.count < 1).sum())
        if few:
            self.notes.append(
                f"{few} of {len(self.count)} areas have a total weight below one: their statistics "
                "count for less than one observation each; weights should be numbers of them")
        statistic, kept = self._inside(statistic, bags.names)
        self.transform = fit_inputs(bags, options.transform, options.extrapolation)
        extent = bags.x.amax(0) - bags.x.amin(0)
        self.positions = torch.where(kept, kept.long().cumsum(0) - 1, -1)   # among those kept
        self.count = self.count[kept]
        self.mean_statistic = (self.count * statistic).sum() / self.count.sum()
        self.observed = self.likelihood.observed(statistic)
        self.unit_variance = self.likelihood.variance(statistic)
        spread = self.source.targets.sample_variance
        self.sample_variance = None if spread is None else spread[kept]
        x = self.transform(bags.x)[kept]
        n = len(x)
        alone = Bags(x, torch.arange(n, device=x.device), torch.ones(n).to(x), n, bags.columns)
        # One under links other than the identity: f is then a logarithm, or in standard deviations.
        scale = assembly.spread(self.observed) if self.link.linear else 1.0
        terms = assembly.kernel_terms(options.kernel, bags.columns, x, options.seed, scale)
        self.field = ExactField(terms, x, Identity(alone))
        self._noise = self._nugget = None
        items = [Hyperparameter("mean", self.field.mean, None, "link scale"),
                 *assembly.kernel_hyperparameters(terms, self.transform, extent, scale),
                 *self._noises(scale)]
        with torch.no_grad():
            self.field.mean.fill_(float(self.link.initial(self.mean_statistic)))
        self.hyperparameters = assembly.finish(items, options)
        # E is known of means of Normal observations whose sample variances are.
        self.exact = self.likelihood.exact_of_means and self.sample_variance is not None

    def noise_variance(self) -> Tensor:
        """Variance of each statistic about f at its centre, V plus nugget² (B,)."""
        return self.sampling_variance(self.unit_variance, self.count) + self.nugget_variance

    def sampling_variance(self, unit_variance: Tensor, count: Tensor) -> Tensor:
        """V of statistics of so many observations, on the link scale."""
        scale = 1.0 if self._noise is None else self._noise.natural.reshape(())
        return scale * unit_variance / count

    @property
    def scale_variance(self) -> Tensor:
        """σ² or b² of the likelihood."""
        return self._noise.natural.detach().reshape(())

    @property
    def nugget_variance(self) -> Tensor:
        """Variance of the white noise at the centres."""
        return assembly.variance_of(self._nugget, self.observed)

    def evidence(self) -> Tensor:
        """Log evidence: E where it is exact, else Q, eq. (14)."""
        iterative = self.options.solver == "iterative" or (
            self.options.solver == "auto" and len(self.observed) > _LARGE)
        take = iterative_evidence if iterative else ExactField.evidence
        quasi = take(self.field, self.observed, self.noise_variance())
        return quasi + self._within().sum() if self.exact else quasi

    def _pilot(self, callback) -> tuple[History | None, np.ndarray | None]:
        """Start from the optimum of some of many areas: as of `pilot`; None of few areas."""
        areas = len(self.observed)
        if areas < _PILOT:
            return None, None
        some = min(max(areas // 4, _ENOUGH[0]), _ENOUGH[1])
        rows = torch.randperm(areas, generator=torch.Generator().manual_seed(self.options.seed))
        rows = rows[:some].sort().values.to(self.observed.device)
        x, columns = self.field.x[rows], self.field.operator.bags.columns
        part = ExactField(list(self.field.terms), x, Identity(Bags(
            x, torch.arange(some, device=x.device), torch.ones(some).to(x), some, columns)))
        part.mean = self.field.mean

        def objective(_=None) -> Tensor:
            quasi = part.evidence(self.observed[rows], self.noise_variance()[rows])
            found = quasi + self._within()[rows].sum() if self.exact else quasi
            return found + self.hyperparameters.log_prior()

        def search() -> History:
            return maximise(objective, self.hyperparameters, max_steps=self.options.max_steps,
                            tolerance=self.options.tolerance, restarts=RESTARTS,
                            callback=scaled_callback(callback, 0, 2))

        return pilot(search, objective, self.hyperparameters, some / areas)

    def train(self, progress: bool, callback) -> History:
        """Maximise evidence plus log prior, then keep the posterior."""
        if not self.hyperparameters["mean"].fixed:
            self.hyperparameters["mean"].set(float(self.link.initial(self.mean_statistic)))
            self.hyperparameters["mean"].fixed = True
        history, metric = self._pilot(callback)
        if history is None or not history.cancelled:
            told = callback if history is None else scaled_callback(callback, 1, 2)
            history = maximise_evidence(
                self.evidence, self.hyperparameters, self.options, tolerance=self._tolerance(),
                progress=progress, callback=told, metric=metric)
        history.notes[:0] = self.notes
        if self._selected:
            warn(self._selected)
        self.compute_posterior()
        return history

    def compute_posterior(self) -> None:
        """Keep the posterior at the present hyperparameters."""
        self.field.condition(self.observed, self.noise_variance())

    def _tolerance(self) -> float:
        """The relative tolerance of Q: E is larger, by what observations say of σ² alone."""
        share = len(self.observed) / float(self.count.sum()) if self.exact else 1.0
        return self.options.tolerance * min(1.0, share)

    def _within(self) -> Tensor:
        """What single observations add to Q in each area, given means and variances: E - Q.

        Shikuri 2025, section 6: E "can be computed using the sample mean and sample variances".
        """
        n, s2, variance = self.count, self.sample_variance, self._noise.natural.reshape(())
        return (-0.5 * n * (2 * math.pi * variance).log() - 0.5 * n * s2 / variance
                + 0.5 * (2 * math.pi * variance / n).log())

    def _inside(self, statistic: Tensor, names: tuple[str, ...]) -> tuple[Tensor, Tensor]:
        """Statistics with a finite g⁻¹, and which areas they are of."""
        edge = self.likelihood.at_boundary(statistic, names)
        kept = torch.ones_like(edge)
        if not bool(edge.any()):
            return statistic, kept
        where = edge.nonzero().flatten().tolist()
        shown = ", ".join(str(names[i] if names else i) for i in where[:5])
        told = f"{len(where)} of {len(statistic)} areas have a statistic at the end of its range"
        if self.options.boundary == "refuse":
            raise InputError(
                f"{told} (first: {shown}), where the {self.likelihood.name} likelihood has no "
                f"finite observation of f. {option('boundary', 'half')} moves them inside by half "
                f"an event, {option('boundary', 'drop')} leaves these areas out, by their outcome; "
                "where the outcome is rare both make the map too high, and dropping more so. "
                f"{self._instead()}")
        if self.options.boundary == "drop":
            require(len(where) < len(statistic), f"{told}; nothing is left to learn from")
            self.notes.append(f"{told} and were left out: {shown}")
            if len(where) > _DROPPED * len(statistic):
                self._selected = (f"{told} and were left out, by their outcome: if it is rare, the "
                                  f"map is too high. {self._instead()}")
            return statistic[~edge], ~edge
        self.notes.append(f"{told} and were moved inside by half an event: {shown}")
        return self.likelihood.half_an_event(statistic, self.count), kept

    def _instead(self) -> str:
        """The model that has no such ends: of the events themselves, at the same places."""
        given, python, flags = (
            ("positives and trials", "trials=...", "--trials NAME") if self.likelihood.proportions
            else ("counts and their exposure", "kind='count', weight=...",
                  "--kind count --weight NAME"))
        return (f"Exact is a model of {given}, wb.VBAgg of wb.bag_points(table, value, {python}); "
                f"in the shell workbench disaggregate --points FILE --value NAME {flags} --model "
                "vbagg")

    def _noises(self, scale: float) -> list[Hyperparameter]:
        like, items = self.observed, []
        if self.likelihood.scaled:
            start = 0.1 * scale**2 * float(self.count.median())
            if self.sample_variance is not None:
                pooled = float((self.count * self.sample_variance).sum() / self.count.sum())
                start = pooled or start
            self._noise = assembly.scalar_hyperparameter(
                "noise.variance", start, "value²", None, like)
            items.append(self._noise)
        nugget = self.options.nugget
        if nugget == "auto":
            nugget = "learn" if self.rescaled else 0.0
        self._nugget = assembly.nugget_hyperparameter(nugget, scale, "link scale", like)
        return items if self._nugget is None else [*items, self._nugget]


class QuasiLikelihoodGP(Model):
    """GP regression on one statistic per area, with the variance that its count gives it.

    Areas with several individuals are taken at their weighted mean inputs; the observations behind
    a statistic are as many as the area's total weight. Exact, O(areas³).
    """

    name = "quasi-likelihood"
    summary = "exact GP on summaries at area centres, variance by statistic and count"
    paper = "Shikuri 2025"
    options_type = QuasiOptions
    state_type, fit_type = QuasiState, QuasiFit
    at_centres = True


def _chosen(options: QuasiOptions, source: Source) -> VarianceFunction:
    """The likelihood of the options, or the one that the dataset's statistic calls for."""
    statistic = source.attributes.get("statistic", "mean")
    if options.likelihood == "custom":
        return custom(options.variance, options.link)
    if options.likelihood != "auto":
        chosen = VARIANCE_FUNCTIONS[options.likelihood]
        ours = "proportion" if source.bags.trials is not None else statistic
        require((chosen.statistic == "median") == (ours == "median"),
                f"the values are each area's {ours}, but the {chosen.name} likelihood has its "
                f"maximum at the {chosen.statistic}; choose another likelihood")
        return chosen
    if source.bags.trials is not None or statistic == "proportion":
        return VARIANCE_FUNCTIONS["bernoulli"]
    if statistic == "median":
        return VARIANCE_FUNCTIONS["laplace"]
    return VARIANCE_FUNCTIONS["poisson" if source.kind == "count" else "normal"]
