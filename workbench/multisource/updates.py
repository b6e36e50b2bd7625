"""The posterior of a GP regression network: closed-form updates of one factor given the others.

Given the moments of all else the bound is quadratic in each latent function, whose best q(u) is
Gaussian and known; rounds of such updates never lower the bound. Positive weights exp(W) are no
quadratic: natural gradients take the place of the closed form for them. A mixture of several
Gaussians starts from optima that different starts lead to, and is then improved as a whole.
"""

from __future__ import annotations

import numpy as np
import scipy.optimize
import torch
from torch import Tensor

from workbench.interrupt import Cancelled
from workbench.linalg import FactorisationError, standard_normal_kl
from workbench.multisource.mixture_q import MixtureQ
from workbench.multisource.products import Moments, bag_mean, bag_variance, best_factor, moments
from workbench.multisource.starts import scan_lengthscales
from workbench.natural_gradient import optimise

_GAIN = 3e-7            # relative gain of a round that counts as none
_ROUNDS = 200           # most rounds that bring q to its best
_POSITIVE_STEPS = 3     # natural-gradient steps of a positive weight in each round
_MIX_STEPS = 300        # of L-BFGS over a mixture


def start(state, seed: int = 0) -> MixtureQ:
    """Weights near one and basis functions at their prior; other seeds, other weights."""
    means, covariances = [], []
    rng = np.random.default_rng(state.options.seed + seed)
    for g, field in enumerate(state.fields):
        width = len(field.q_mean)
        mean = torch.zeros(width).to(state.sources.x)
        if g >= state.q_count:
            if state.options.weights == "gp":
                mean = _of_ones(field, state.sources.x)
            if seed or (g - state.q_count) % state.q_count:
                mean = mean + 0.5 * torch.as_tensor(rng.standard_normal(width)).to(mean)
        means.append(mean[None])
        covariances.append(0.01 * torch.eye(width).to(mean)[None])
    return MixtureQ(torch.ones(1).to(state.sources.x), means, covariances)


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
        settle(state, state.learning, [state.sights(s) for s in state.learning],
               rounds=state.options.sweeps)
        return state.bound(state.learning, state.q)

    scan_lengthscales(state.basis_items, value, set(state.options.initial))
    state.q = start(state)


@torch.no_grad()
def settle(state, seen, sights, pulse=None, rounds: int = _ROUNDS, gain: float = _GAIN) -> float:
    """Rounds of updates of every latent function, until they gain no more; the bound reached.

    ``pulse`` is called before every update; what it raises leaves q as it is then.
    """
    found = [{g: moments(v, *state.q.component(0)[g]) for g, v in one.items()} for one in sights]
    value = _value(state, seen, found)
    for _ in range(rounds):
        before = value
        for g in range(len(state.fields)):
            if pulse is not None:
                pulse()
            _update(state, seen, sights, found, g)
        value = _value(state, seen, found)
        if value - before < gain * max(1.0, abs(value)):
            break
    return value


def _value(state, seen, found) -> float:
    return float(state.bound_of(seen, state.q, [[one] for one in found]))


def brought_home(state, sights, callback, history) -> bool:
    """Bring q to its best on all individuals; whether nobody cancelled on the way."""
    def pulse():
        if callback is not None and history.objective:
            callback(len(history.objective), history.objective[-1], 1.0)

    try:
        settle(state, state.full, sights, pulse)
    except (Cancelled, KeyboardInterrupt):
        history.cancelled = True
        history.notes.append("cancelled while q was brought to its best on all individuals")
        return False
    return True


def _update(state, seen, sights, found, g: int) -> None:
    """The best q of one latent function; the moments it changes are renewed in ``found``."""
    linear = square = 0.0
    parts = []
    basis, p, q = _role(state, g)
    for s, v, known in zip(seen, sights, found, strict=True):
        if not basis and s.part.task != p:
            continue
        weights, bases = state.factors(s, known)
        rest = bag_mean(s.pairs, [w for i, w in enumerate(weights) if i != q],
                        [f for i, f in enumerate(bases) if i != q]) if state.q_count > 1 else 0.0
        target = state.residual(s) - rest
        precision = state.power(s) / state.noise_variance(s)
        other = weights[q] if basis else bases[q]
        parts.append((s, v[g], other, target, precision))
    if not basis and state.options.weights == "positive":
        _climb(state, parts, g)
    else:
        for s, sight, other, target, precision in parts:
            one, two = best_factor(s.pairs, sight, other, target, precision)
            linear, square = linear + one, square + two
        width = state.q.mean[g].shape[1]
        root, info = torch.linalg.cholesky_ex(torch.eye(width).to(square) + square)
        if info:
            raise FactorisationError("the precision of a latent function is not positive definite")
        covariance = torch.cholesky_inverse(root)
        state.q.mean[g] = (covariance @ linear)[None]
        state.q.covariance[g] = covariance[None]
    for v, known in zip(sights, found, strict=True):
        if g in v:
            known[g] = moments(v[g], *state.q.component(0)[g])


def _role(state, g: int) -> tuple[bool, int, int]:
    """Whether a latent function is of the basis, its task, and which product it belongs to."""
    if g < state.q_count:
        return True, -1, g
    return False, (g - state.q_count) // state.q_count, (g - state.q_count) % state.q_count


def _climb(state, parts, g: int) -> None:
    """A few natural-gradient steps of a positive weight."""
    def objective(mean: Tensor, covariance: Tensor) -> Tensor:
        total = -standard_normal_kl(mean, covariance)
        for s, sight, basis, target, precision in parts:
            weight: Moments = moments(sight, mean, covariance).exponential()
            gap = target - bag_mean(s.pairs, [weight], [basis])
            spread = bag_variance(s.pairs, [weight], [basis])
            total = total - 0.5 * (precision * (gap.square() + spread)).sum()
        return total

    mean, covariance = state.q.component(0)[g]
    with torch.enable_grad():
        found = optimise(objective, mean, covariance, _POSITIVE_STEPS, 1e-7)
    state.q.mean[g], state.q.covariance[g] = found[0][None], found[1][None]


def mix(state, sights) -> None:
    """A mixture of K Gaussians at the present hyperparameters, in the place of one."""
    best, count = state.q, state.options.components
    parts = [best]
    for seed in range(1, count):
        state.q = start(state, seed)
        with torch.no_grad():
            settle(state, state.full, sights)
        parts.append(state.q)
    shares = torch.full((count,), 1 / count).to(best.weights)
    joined = MixtureQ(shares, *[
        [torch.cat([getattr(part, name)[g] for part in parts]) for g in range(len(best.mean))]
        for name in ("mean", "covariance")])
    state.q = _improve(state, joined, sights)


def _improve(state, q: MixtureQ, sights) -> MixtureQ:
    """L-BFGS over π, means and roots of covariances."""
    shapes = [q.weights.shape, *(m.shape for m in q.mean), *(c.shape for c in q.covariance)]
    sizes = [int(np.prod(shape)) for shape in shapes]
    roots = [torch.linalg.cholesky(c) for c in q.covariance]
    free = [torch.zeros_like(q.weights), *q.mean, *(_log_diagonal(r) for r in roots)]

    def build(vector: Tensor) -> MixtureQ:
        pieces = [p.reshape(s) for p, s in zip(vector.split(sizes), shapes, strict=True)]
        n = len(q.mean)
        lower = [_exp_diagonal(piece) for piece in pieces[1 + n:]]
        return MixtureQ(pieces[0].softmax(0), pieces[1:1 + n], [r @ r.mT for r in lower])

    def loss(vector: np.ndarray) -> tuple[float, np.ndarray]:
        at = torch.as_tensor(vector).to(q.weights).requires_grad_()
        try:
            value = state.bound(state.full, build(at), sights)
        except FactorisationError:
            return 1e12, np.zeros_like(vector)
        gradient, = torch.autograd.grad(value, at)
        return -float(value.detach()), -gradient.cpu().numpy().astype(float)

    begin = torch.cat([f.reshape(-1) for f in free]).detach().cpu().numpy().astype(float)
    result = scipy.optimize.minimize(loss, begin, jac=True, method="L-BFGS-B", options={
        "maxiter": _MIX_STEPS, "maxfun": 2 * _MIX_STEPS, "ftol": 1e-9})
    return build(torch.as_tensor(result.x).to(q.weights)).detach()


def _log_diagonal(root: Tensor) -> Tensor:
    return root.tril(-1) + torch.diag_embed(root.diagonal(dim1=-2, dim2=-1).log())


def _exp_diagonal(raw: Tensor) -> Tensor:
    return raw.tril(-1) + torch.diag_embed(raw.diagonal(dim1=-2, dim2=-1).exp())
