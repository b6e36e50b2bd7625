"""The posterior of a GP regression network: closed-form updates of one factor given the others.

Given the moments of all else the bound is quadratic in each latent function, whose best q(u) is
Gaussian and known; rounds of such updates never lower the bound, and are accelerated. In a weight
that enters as exp(W) it is not: natural gradients find its q, and never lower the bound either.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from workbench.checks import ConvergenceWarning, stops, warn
from workbench.gp.models.several_sources.products import at, bag_mean, best_factor, moments
from workbench.gp.numerics.linalg import factor, standard_normal_kl
from workbench.gp.optimisation.acceleration import Rounds
from workbench.gp.optimisation.natural_gradient import optimise, reachable
from workbench.gp.optimisation.starts import scan_lengthscales

_NATS = 1e-6            # gain of a round that counts as none; two in a row end them
_IN_VAIN = 2
_LEFT = 1e-2            # nats that the last round may gain of a fit that has converged
_MOST_ROUNDS = 500      # that bring q to its best
#: Most rounds in one evaluation, and for each initial value that is tried.
ROUNDS, FIRST_ROUNDS = 100, 20
_STEPS = 10             # most natural gradients of an exponent in one round


def start(state) -> list[tuple[Tensor, Tensor]]:
    """q with weights near one and basis functions at their prior."""
    q, rng = [], np.random.default_rng(state.options.seed)
    for g, field in enumerate(state.fields):
        width = len(field.q_mean)
        mean = torch.zeros(width).to(state.sources.x)
        if g >= state.q_count:
            if state.options.weights == "gp":
                mean = _of_ones(field, state.sources.x)
            if (g - state.q_count) % state.q_count:
                mean = mean + 0.5 * torch.as_tensor(rng.standard_normal(width)).to(mean)
        q.append((mean, 0.01 * torch.eye(width).to(mean)))
    return q


@torch.no_grad()
def _of_ones(field, x: Tensor) -> Tensor:
    """Features' values that make a function close to one."""
    phi = field.project(x[:: max(1, len(x) // 2000)]).features
    square = phi.mT @ phi + 1e-3 * len(phi) * torch.eye(phi.shape[1]).to(phi)
    return torch.linalg.solve(square, phi.sum(0))


@torch.no_grad()
def choose_start(state) -> None:
    """Initial lengthscales of the basis by the bound after a few rounds."""
    def value():
        state.q = start(state)
        optimise_q(state, state.learning, [state.projections(s) for s in state.learning],
                   rounds=FIRST_ROUNDS)
        return state.bound(state.learning, state.q)

    scan_lengthscales(state.basis_items, value, set(state.options.initial))
    state.q = start(state)


@torch.no_grad()
def optimise_q(state, seen, projections, pulse=None, rounds: int = _MOST_ROUNDS) -> float:
    """Rounds of updates of every latent function, accelerated, until they gain no more.

    After a round q goes to where Anderson's acceleration leads, or a share of the way, if the bound
    is higher there: W and f are so coupled that plain rounds crawl.

    Parameters
    ----------
    state : GPRNState
        Its q is moved; the bound never falls.
    seen : list of ProjectedSource
        What q is learnt on.
    projections : list of dict of int to BagProjection
        Latent functions there, by source, without gradients.
    pulse : callable, optional
        Called before every update; what it raises leaves q as it is then.
    rounds : int
        Most rounds.

    Returns
    -------
    float
        What the last round gained, in nats.

    Raises
    ------
    FactorisationError
        If the precision of a latent function is not positive definite.
    """
    found = [at(one, state.q) for one in projections]
    value = float(state.bound_of(seen, state.q, found))
    past, gain, in_vain = Rounds(), 0.0, 0
    for _ in range(rounds):
        before, former = value, list(state.q)
        for g in range(len(state.fields)):
            if pulse is not None:
                pulse()
            update(state, seen, projections, found, g, pulse)
        value = float(state.bound_of(seen, state.q, found))
        for proposed in past.proposals(former, state.q):
            there = [at(one, proposed) for one in projections]
            reached = float(state.bound_of(seen, proposed, there))
            if reached >= value:
                state.q, found, value = proposed, there, reached
                break
        gain = value - before
        at_rest = gain < reachable(value, _NATS, state.sources.x.dtype)
        in_vain = in_vain + 1 if at_rest else 0
        if in_vain == _IN_VAIN:
            break
    return gain


def pulse_of(callback, history):
    """What repeats the end of a search to a callback, which may raise `Cancelled`."""
    def pulse():
        if callback is not None and history.objective:
            callback(len(history.objective), history.objective[-1], 1.0)
    return pulse


@torch.no_grad()
def optimise_q_on_all_data(state, callback, history) -> bool:
    """Bring q to its best on all individuals, and say where it is not; whether nobody cancelled."""
    try:
        left = optimise_q(state, state.full, [state.projections(s) for s in state.full],
                          pulse_of(callback, history))
    except stops():
        history.cancelled = True
        history.notes.append("cancelled while q was brought to its best on all individuals")
        return False
    if left > _LEFT:
        remedy = ("fewer basis functions (latent)" if state.options.weights == "constant" else
                  "weights='constant', or fix the hyperparameters of the weights")
        history.converged = False
        history.notes.append(
            f"q is not at its optimum: the last of {_MOST_ROUNDS} rounds of updates of the latent "
            f"functions still raised the bound by {left:.2g} nats; use {remedy}")
        warn(history.notes[-1], ConvergenceWarning)
    return True


def update(state, seen, projections, found, g: int, pulse=None, correct=None) -> None:
    """Take up the best q of one latent function.

    Parameters
    ----------
    state, seen, projections, pulse
        As of `optimise_q`.
    found : list of dict of int to Moments
        Moments of latent functions, by source; those that change are renewed.
    g : int
        Position of the function.
    correct : callable, optional
        ``correct(g, linear, precision)``: natural parameters of what is learnt from the data, to be
        taken in place of these.
    """
    if g >= state.q_count and state.options.weights == "exp":
        state.q[g] = _best_exponent(state, seen, projections, found, g, pulse)
    else:
        state.q[g] = _best_factor(state, seen, projections, found, g, correct)
    for v, known in zip(projections, found, strict=True):
        if g in v:
            known[g] = moments(v[g], *state.q[g])


def _best_exponent(state, seen, projections, found, g: int, pulse) -> tuple[Tensor, Tensor]:
    """A better q of a weight that enters as exp(W), by a few natural gradients."""
    own = [(s, v[g], known) for s, v, known in zip(seen, projections, found, strict=True) if g in v]

    def objective(mean: Tensor, covariance: Tensor) -> Tensor:
        if pulse is not None:
            pulse()
        each = [state.expected(s, {**known, g: moments(v, mean, covariance)})
                for s, v, known in own]
        return sum(each) - standard_normal_kl(mean, covariance)

    return optimise(objective, *state.q[g], steps=_STEPS, nats=_NATS)[:2]


def _best_factor(state, seen, projections, found, g: int, correct) -> tuple[Tensor, Tensor]:
    linear = square = 0.0
    basis, p, q = role(state, g)
    for s, v, known in zip(seen, projections, found, strict=True):
        if not basis and s.part.task != p:
            continue
        weights, bases = state.factors(s, known)
        rest = bag_mean(s.pairs, [w for i, w in enumerate(weights) if i != q],
                        [f for i, f in enumerate(bases) if i != q]) if state.q_count > 1 else 0.0
        one, two = best_factor(s.pairs, v[g], weights[q] if basis else bases[q],
                               state.residual(s) - rest, state.power(s) / state.noise_variance(s))
        linear, square = linear + one, square + two
    if correct is not None:
        linear, square = correct(g, linear, square)
    root = factor(torch.eye(len(square)).to(square) + square, "precision of a latent function")
    covariance = torch.cholesky_inverse(root)
    return covariance @ linear, covariance


def role(state, g: int) -> tuple[bool, int, int]:
    """Whether a latent function is of the basis, its task, and which product it belongs to.

    Parameters
    ----------
    state : GPRNState
        The network.
    g : int
        Position of the function.
    """
    if g < state.q_count:
        return True, -1, g
    return False, (g - state.q_count) // state.q_count, (g - state.q_count) % state.q_count
