"""The true posterior of a small problem by Markov chain Monte Carlo: no bound, no inducing inputs.

The prior is the full covariance of all individuals, area effect and nugget are drawn too, and the
likelihood is exact. All else is the model's own. With v the whitened values of f and the effects,
and Ĝ(v) = N(g; A f(v), S) a Gaussian likelihood of pseudo-observations g, v = μ_θ + R_θ w and

    p(w, θ | y) ∝ N(w; 0, I) · p(y | v, θ) / Ĝ(v) · N(g; A mean_θ, A K_θ Aᵀ + S) · p(θ),

exact for any fixed g and S; where Ĝ is near the likelihood, w and θ are nearly independent.
Elliptical slices move w (Murray, Adams and MacKay 2010; Nishihara et al. 2014), slices move the
hyperparameters at fixed w (Murray and Adams 2010, section 3, with fixed pseudo-observations).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.linalg import solve_triangular

from workbench.checks import require
from workbench.gp.data.bags import Source
from workbench.gp.kernels.operators import SegmentSum
from workbench.gp.likelihoods import BagMoments, SampledMoments, SampledOdds
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.numerics.linalg import FactorisationError, cholesky
from workbench.gp.numerics.shapes import PerBag, PerIndividual
from workbench.gp.predictive import Samples

MOST = 2_000            # individuals: a step costs their cube
_MOVES = 5              # elliptical slices in one step: they are cheap beside a factorisation
_WIDE = 100.0           # sd of the Gaussian that stands for a flat prior of the mean, in link units


@dataclass(frozen=True)
class Draws:
    """Draws from the posterior, in the order of the chain.

    Parameters
    ----------
    rates : Tensor (S, N)
        Rates of individuals, in value per weight, with area effect and nugget in them. Under the
        identity link the nugget is part of the noise and left out.
    hyperparameters : dict of Tensor (S,) or (S, entries)
        The free ones by name, in natural units.
    log_likelihood : Tensor (S,)
        log p(y | η), in nats.
    """

    rates: Float[Tensor, "S N"]
    hyperparameters: dict[str, Tensor]
    log_likelihood: Float[Tensor, " S"]

    def at(self) -> Samples:
        """Distribution of the rate at the individuals."""
        return Samples(self.rates)

    @property
    def effective(self) -> dict[str, float]:
        """Effective number of draws, of a vector that of its worst entry, by name."""
        chains = {"log likelihood": self.log_likelihood, "rates": self.rates}
        return {name: float(effective_size(chain).min())
                for name, chain in (chains | self.hyperparameters).items()}


def sample(model: VBAgg, source: Source, hyperparameters: Mapping | None = None, *,
           steps: int = 2000, warmup: int = 500, seed: int = 0) -> Draws:
    """Draw from the posterior of a variational model, without its approximations.

    Parameters
    ----------
    model : VBAgg
        Bound, inducing inputs and trainer among its options play no part.
    source : Source
        Bags and targets.
    hyperparameters : mapping, optional
        Values to hold, by name, in natural units, besides those that the options fix. All others
        are drawn, under densities of their raw values as in training: flat without a prior.
    steps, warmup : int
        Steps that are kept, and steps before them, in which pseudo-observations and slices adapt.
    seed : int
        Seed of the chain.

    Raises
    ------
    InputError
        On another model, more than `MOST` individuals, an unknown hyperparameter, or numbers that
        are out of range.
    """
    require(isinstance(model, VBAgg), f"expected a VBAgg model, got {type(model).__name__}")
    for name, value, least in (("steps", steps, 2), ("warmup", warmup, 0), ("seed", seed, 0)):
        require(isinstance(value, Integral) and value >= least,
                f"expected {name} a whole number of {least} or more, got {value!r}")
    count = len(model.reduce(source.bags).x)
    require(count <= MOST, f"a reference is for at most {MOST} individuals, got {count}")
    state = VariationalState(model, source)
    state.hyperparameters.fix(hyperparameters or {})
    with torch.no_grad():
        return _Chain(state, np.random.default_rng(seed)).run(steps, warmup)


def effective_size(chain: Float[Tensor, "S ..."]) -> Tensor:
    """Effective number of draws of every entry (...), at most S log₁₀ S; none of one that is stuck.

    By the initial monotone sequence of pairs of autocorrelations, Geyer 1992, section 3.3.
    """
    count = len(chain)
    spectrum = torch.fft.rfft(chain.double() - chain.double().mean(0), 2 * count, dim=0)
    covariance = torch.fft.irfft(spectrum.abs().square(), 2 * count, dim=0)[:count]
    correlation = covariance / covariance[0].clamp_min(torch.finfo(torch.float64).tiny)
    pairs = correlation[: count // 2 * 2].unflatten(0, (-1, 2)).sum(1)
    initial = (pairs > 0).cumprod(0)
    time = 2 * (pairs.cummin(0).values * initial).sum(0) - 1
    moved = (chain != chain[0]).any(0)
    return moved * count / time.clamp_min(1 / max(np.log10(count), 1))


class _Pseudo(NamedTuple):
    """A Gaussian likelihood of f, N(value; A f, variance), bag by bag."""

    operator: SegmentSum
    value: PerBag
    variance: PerBag


class _Frame:
    """The map from white w to f at one setting: f = centre + root R w, effects included.

    ``root`` has columns for the Cholesky root of K, area effects, the nugget, and a drawn mean.
    With C Cᵀ = W Wᵀ + S and D² = S, R = I - Wᵀ C⁻ᵀ (C + D)⁻¹ W is a root of I - Wᵀ (W Wᵀ + S)⁻¹ W
    (Andrews 1968).
    """

    def __init__(self, state: VariationalState, pseudo: _Pseudo, wide: float):
        x, members, self.state, self.pseudo = state.x, state.bags.membership, state, pseudo
        columns = [cholesky(state.field.prior(x, x), "prior covariance of the individuals")]
        if state.area_std is not None:
            columns.append(state.area_std * torch.eye(state.bags.count).to(x)[members])
        # Under the identity link the noise variance has the nugget in it.
        if float(state.nugget_variance) > 0 and state.link.name != "identity":
            columns.append(state.nugget_variance.sqrt() * torch.eye(len(x)).to(x))
        if wide > 0:
            columns.append(torch.full((len(x), 1), wide).to(x))
        self.root, mean = torch.cat(columns, 1), state.field.mean.expand(len(x))
        rows = pseudo.operator.rows(self.root)                                       # W
        factor = cholesky(rows @ rows.mT + torch.diag(pseudo.variance),              # C
                          "covariance of the pseudo-observations", 1e-14)
        misfit = (pseudo.value - pseudo.operator(mean))[:, None]
        white = solve_triangular(factor, misfit, upper=False)
        pulled = solve_triangular(factor, rows, upper=False)                         # C⁻¹ W
        both = factor + torch.diag(pseudo.variance.sqrt())                           # C + D
        self.shift = (pulled.mT @ white)[:, 0]                                       # μ
        self.centre = mean + self.root @ self.shift
        self.log_evidence = -float(white.square().sum()) / 2 - float(factor.diagonal().log().sum())
        self._outer, self._inner = pulled.mT, solve_triangular(both, rows, upper=False)

    def spread(self, w: Tensor) -> Tensor:
        """R w (width,)."""
        return w - self._outer @ (self._inner @ w)

    def log_ratio(self, f: PerIndividual) -> float:
        """Log p(y | f) - log Ĝ(f); minus infinity where it is not finite."""
        misfit = (self.pseudo.value - self.pseudo.operator(f)).square() / self.pseudo.variance
        value = float(_log_prob(self.state, _parameter(self.state, f)) + misfit.sum() / 2)
        return value if np.isfinite(value) else -np.inf

    def log_target(self, w: Tensor) -> float:
        """Log posterior density of the hyperparameters given w and y, up to a constant."""
        ratio = self.log_ratio(self.centre + self.root @ self.spread(w))
        return ratio + self.log_evidence + float(self.state.hyperparameters.log_prior())


class _Chain:
    """The chain: w, the raw values of the free hyperparameters, and their frame."""

    def __init__(self, state: VariationalState, rng: np.random.Generator):
        self.state, self.rng, mean = state, rng, state.hyperparameters["mean"]
        # A flat prior of the mean is conjugate to the pseudo-observations: w has it, no slice.
        self.wide = 0.0 if mean.fixed or mean.prior is not None else _WIDE * state.scale
        mean.fixed = mean.fixed or self.wide > 0
        self.free = state.hyperparameters.free
        self.vector = state.hyperparameters.vector()
        self.slices = 2 * np.eye(len(self.vector))      # one a row: direction and width
        self._restart(state.field.mean.expand(len(state.x)), np.zeros((0, len(self.vector))))

    def _restart(self, f: PerIndividual, early: np.ndarray) -> None:
        """Pseudo-observations as of f; slices along the axes of early draws, wide beside them."""
        if early.shape[1] and len(early) > 10 * early.shape[1]:
            values, vectors = np.linalg.eigh(np.atleast_2d(np.cov(early.T)))
            self.slices = (4 * np.sqrt(np.maximum(values, 1e-4)) * vectors).T
        self.frame = _Frame(self.state, _linearise(self.state, f), self.wide)
        self.w = torch.zeros(self.frame.root.shape[1]).to(f)

    def run(self, steps: int, warmup: int) -> Draws:
        """Warm up, and keep the steps after."""
        drawn, vectors, values, logs = [], [], [], []
        for step in range(warmup + steps):
            if step > 1 and step in (warmup // 8, warmup // 4, warmup // 2):
                self._restart(torch.stack(drawn[step // 2:]).mean(0), np.array(vectors[step // 2:]))
            self._elliptical()
            self._move_hyperparameters()
            spread = self.frame.spread(self.w)
            drawn.append(self.frame.centre + self.frame.root @ spread)
            vectors.append(self.vector)
            values.append(self._natural(spread))
            logs.append(_log_prob(self.state, _parameter(self.state, drawn[-1])))
        rates = self.state.link.psi(torch.stack(drawn[warmup:]))
        chains = {name: torch.stack([value[name] for value in values[warmup:]])
                  for name in values[0]}
        return Draws(rates, chains, torch.stack(logs[warmup:]))

    def _natural(self, spread: Tensor) -> dict[str, Tensor]:
        """Present values of the hyperparameters that are drawn, by name."""
        out = {item.name: item.natural.squeeze().clone() for item in self.free}
        start, last = self.state.field.mean.squeeze(), (self.frame.shift + spread)[-1]
        return out | {"mean": start + self.wide * last} if self.wide > 0 else out

    def _elliptical(self) -> None:
        """Move w along ellipses through it and draws from its Gaussian (Murray et al., fig. 2)."""
        frame, w = self.frame, self.w
        along = frame.root @ frame.spread(w)
        value = frame.log_ratio(frame.centre + along)
        for _ in range(_MOVES):
            other = torch.as_tensor(self.rng.standard_normal(len(w))).to(w)
            across, level = frame.root @ frame.spread(other), value - self.rng.exponential()
            angle = high = self.rng.uniform(0, 2 * np.pi)
            low = angle - 2 * np.pi
            while high - low > 1e-9:
                c, s = np.cos(angle), np.sin(angle)
                reached = frame.log_ratio(frame.centre + c * along + s * across)
                if reached >= level:
                    w, along, value = c * w + s * other, c * along + s * across, reached
                    break
                low, high = (angle, high) if angle < 0 else (low, angle)
                angle = self.rng.uniform(low, high)
        self.w = w

    def _move_hyperparameters(self) -> None:
        """Move along every slice at fixed w, by shrinking from an interval put at random."""
        value = self.frame.log_target(self.w) if self.free else 0.0
        for direction in self.slices:
            level, high = value - self.rng.exponential(), self.rng.uniform()
            low = high - 1
            while high - low > 1e-9:
                move = self.rng.uniform(low, high)
                proposed = self.vector + move * direction
                self.state.hyperparameters.assign(proposed)
                try:
                    frame = _Frame(self.state, self.frame.pseudo, self.wide)
                    reached = frame.log_target(self.w)
                except FactorisationError:
                    reached = -np.inf
                if reached >= level:
                    self.vector, self.frame, value = proposed, frame, reached
                    break
                low, high = (move, high) if move < 0 else (low, move)
            else:
                self.state.hyperparameters.assign(self.vector)


def _parameter(state: VariationalState, f: PerIndividual) -> PerBag:
    """What the likelihood is concave in: η, log η, or the log-odds of a bag's probability (B,)."""
    total = state.operator(state.link.psi(f))
    known = {"normal": lambda eta: eta, "binomial": torch.logit}
    return known.get(state.likelihood.name, torch.log)(total)


def _log_prob(state: VariationalState, parameter: PerBag) -> Tensor:
    """Exact log p(y | η): what the likelihood expects of a distribution of one draw."""
    if state.likelihood.name == "normal":
        moments = BagMoments(parameter, torch.zeros_like(parameter))
    elif state.link.name == "logit":
        moments = SampledOdds(parameter[:, None])
    else:
        moments = SampledMoments(parameter[:, None], parameter[:, None])
    value = state.source.targets.value
    return state.source.trust * state.likelihood.expected_log_prob(value, moments).sum()


@torch.enable_grad()
def _linearise(state: VariationalState, f: PerIndividual) -> _Pseudo:
    """Pseudo-observations: a bag's likelihood quadratic in its parameter, that linear in f."""
    f = f.detach().requires_grad_()
    parameter = _parameter(state, f)
    slope, = torch.autograd.grad(parameter.sum(), f)        # an individual is in one bag alone
    parameter = parameter.detach().requires_grad_()
    score, = torch.autograd.grad(_log_prob(state, parameter), parameter, create_graph=True)
    curvature, = torch.autograd.grad(score.sum(), parameter)
    # Bags that say next to nothing get a variance that is wide but finite.
    variance = 1 / (-curvature).clamp_min(1e-6)
    operator = SegmentSum(replace(state.bags, weight=slope))
    return _Pseudo(operator, operator(f.detach()) + variance * score.detach(), variance)
