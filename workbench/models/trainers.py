"""Ways to train a variational model: all maximise one objective, and agree where they converge.

- ``natural``: hyperparameters by L-BFGS on the objective at the best q, which natural gradients
  find, starting from the last one.
- ``collapsed``: the same with the best q in closed form; the Normal likelihood only.
- ``joint``: hyperparameters and q by one L-BFGS, finished as ``natural``.
- ``adam``: minibatches of bags, their likelihood scaled up, with Adam for the hyperparameters and
  natural gradients for q; for very many areas. Its steps are noisy: it comes near the optimum of
  the others, slowly, and no nearer.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor, nn
from tqdm import tqdm

from workbench.checks import ConvergenceWarning, InputError
from workbench.collapsed import collapsed
from workbench.geometry import Geometry, geometry
from workbench.hyperparameters import Hyperparameter, HyperparameterSet
from workbench.interrupt import Cancelled
from workbench.linalg import FactorisationError, cholesky, standard_normal_kl
from workbench.models.annealing import powers, share_of, train_annealed
from workbench.training import History, maximise

_PER_STEP = 20              # evaluations of `joint` for one of max_steps: each is far cheaper
_RESTARTS = 5               # of L-BFGS, while a slope is left
_RATE = 0.1                 # first step of q along a minibatch's natural gradient


def train(state, progress: bool, callback) -> History:
    """Train by the option ``trainer``; "auto" is collapsed for Normal, else natural."""
    return TRAINERS[_choose(state)](state, progress, callback)


def _choose(state) -> str:
    closed = state.likelihood_name == "normal" and state.link.name == "identity"
    name = state.options.trainer
    if name == "collapsed" and not closed:
        raise InputError("trainer='collapsed' needs the Normal likelihood and link='identity', "
                         "where the best q has a closed form; use trainer='natural'")
    if name != "auto":
        return name
    if closed:
        return "collapsed"
    return "natural"


def _natural(state, progress: bool, callback) -> History:
    return _started(state, _ascend_profile, progress, callback)


def _collapsed(state, progress: bool, callback) -> History:
    def evaluate(pulse) -> Tensor:
        value, mean, covariance = collapsed(
            state.view_of(state.learning), state.source.targets.value,
            state.likelihood.variance(), state.source.trust)
        state.field.set_q(mean, covariance)
        return value + state.hyperparameters.log_prior()

    return _maximise(state, evaluate, state.hyperparameters, progress, callback)


def _joint(state, progress: bool, callback) -> History:
    return _started(state, _ascend_together, progress, callback)


def _started(state, ascend: Callable, progress: bool, callback) -> History:
    """Ascend at once, or from annealed starts where the totals bind."""
    rising = powers(state) if state.hyperparameters.free else []
    if rising:
        return train_annealed(state, rising, ascend, progress, callback)
    return ascend(state, progress, callback, None, None)


def _ascend_profile(state, progress: bool, callback, steps: int | None, tolerance: float | None
                    ) -> History:
    return _maximise(state, state.profile, state.hyperparameters, progress, callback,
                     steps=steps, tolerance=tolerance)


def _ascend_together(state, progress: bool, callback, steps: int | None, tolerance: float | None
                     ) -> History:
    """One L-BFGS over hyperparameters and q; a few steps of the profiled objective finish it."""
    everything, q = _with_q(state)

    def evaluate(pulse) -> Tensor:
        mean, covariance = q()
        state.field.set_q(mean, covariance)
        value = state.objective(state.view_of(state.learning), mean, covariance)
        return value + state.hyperparameters.log_prior()

    history = _maximise(state, evaluate, everything, progress, share_of(callback, 0, 2), _PER_STEP,
                        steps, tolerance)
    if history.cancelled:
        return history
    last = _ascend_profile(state, progress, share_of(callback, 1, 2), steps, tolerance)
    last.objective = history.objective + last.objective
    last.elapsed += history.elapsed
    last.notes = [note for note in history.notes if "backed off" in note] + last.notes
    return last


def _maximise(state, evaluate: Callable, parameters: HyperparameterSet, progress: bool, callback,
              factor: int = 1, steps: int | None = None, tolerance: float | None = None
              ) -> History:
    return maximise(
        evaluate, parameters,
        snapshot=lambda: (state.field.q_mean, state.field.q_covariance),
        restore=lambda q: state.field.set_q(*q),
        max_steps=factor * (steps or state.options.max_steps),
        tolerance=tolerance or state.options.tolerance,
        progress=progress, callback=callback, restarts=0 if tolerance else _RESTARTS,
    )


def _with_q(state) -> tuple[HyperparameterSet, Callable[[], tuple[Tensor, Tensor]]]:
    """The hyperparameters and q's mean and root as one set, and q from them.

    In coordinates where the present q is a standard normal, in which the problem is well scaled.
    """
    centre, base = state.field.q_mean, cholesky(state.field.q_covariance, "covariance of q")
    size = len(centre)
    rows, columns = torch.tril_indices(size, size)
    diagonal = rows == columns
    mean = nn.Parameter(torch.zeros(size).to(state.x))
    root = nn.Parameter(torch.zeros(len(rows)).to(state.x))

    def q() -> tuple[Tensor, Tensor]:
        # Logarithms on the diagonal keep the root's sign and the covariance definite.
        entries = torch.where(diagonal.to(root.device), root.exp(), root)
        lower = base @ torch.zeros(size, size).to(root).index_put((rows, columns), entries)
        return centre + base @ mean, lower @ lower.mT

    items = [*state.hyperparameters, Hyperparameter("q.mean", mean), Hyperparameter("q.root", root)]
    return HyperparameterSet(items), q


def _adam(state, progress: bool, callback) -> History:
    """Minibatches of bags: Adam for the hyperparameters, natural-gradient steps for q.

    Adam on q itself needs ten times the passes: q and the prior mean are strongly correlated. The
    objective reported of an epoch is the mean of its batches; the fit counts as converged if its
    average over the last tenth of the epochs gained less than a thousandth on the tenth before.

    References
    ----------
    Salimbeni, Eleftheriadis and Hensman 2018, Natural gradients in practice.
    """
    options, history, started = state.options, History(), time.perf_counter()
    optimiser = torch.optim.Adam([item.raw for item in state.hyperparameters.free],
                                 lr=options.learning_rate)
    batches, window = _Batches(state), max(5, options.epochs // 10)
    bar = tqdm(total=options.epochs, disable=not progress, desc="fit", unit="epoch")
    try:
        for epoch in range(options.epochs):
            # Both step sizes fall to a twentieth: what is left of the batches' noise shrinks.
            decay = 0.05 + 0.475 * (1 + math.cos(math.pi * epoch / options.epochs))
            optimiser.param_groups[0]["lr"] = options.learning_rate * decay
            values = [_step(state, batch, optimiser, _RATE * decay, history)
                      for batch in batches()]
            history.objective.append(float(np.nanmean(values)))
            bar.update()
            bar.set_postfix(objective=f"{history.objective[-1]:.4f}")
            if callback is not None:
                callback(epoch + 1, history.objective[-1], (epoch + 1) / options.epochs)
    except (Cancelled, KeyboardInterrupt):
        if not history.objective:
            raise
        history.cancelled = True
        history.notes.append(f"cancelled after {len(history.objective)} epochs; last state kept")
    finally:
        bar.close()
    history.elapsed = time.perf_counter() - started
    history.converged = not history.cancelled and _settled(history.objective, window)
    if not history.converged and not history.cancelled:
        history.notes.append(
            f"the objective still gained after {options.epochs} epochs; raise epochs")
        warnings.warn(history.notes[-1], ConvergenceWarning, stacklevel=2)
    return history


def _settled(objective: list[float], window: int) -> bool:
    if len(objective) < 2 * window:
        return False
    last, before = np.mean(objective[-window:]), np.mean(objective[-2 * window:-window])
    return bool(last - before <= 1e-3 * (1 + abs(last)))


def _step(state, batch: _Batch, optimiser, rate: float, history: History) -> float:
    """One step of hyperparameters and q; NaN, and a note, where it had to be left out."""
    mean = state.field.q_mean.detach().requires_grad_()
    covariance = state.field.q_covariance.detach().requires_grad_()
    optimiser.zero_grad()
    try:
        value = batch.objective(mean, covariance) + state.hyperparameters.log_prior()
        if not torch.isfinite(value):
            raise FactorisationError("the objective is not finite")
        (-value).backward()
        q = _natural_step(mean.detach(), covariance.detach(), -mean.grad, -covariance.grad, rate)
    except FactorisationError as error:
        history.notes.append(f"a step was left out: {error}")
        return math.nan
    optimiser.step()
    state.field.set_q(*q)
    return float(value.detach())


def _natural_step(mean: Tensor, covariance: Tensor, grad_mean: Tensor, grad_covariance: Tensor,
                  rate: float) -> tuple[Tensor, Tensor]:
    """A step along the natural gradient, shortened until the precision stays positive definite."""
    precision = torch.cholesky_inverse(cholesky(covariance, "covariance of q"))
    both = grad_covariance + grad_covariance.mT
    for _ in range(6):
        moved = precision - rate * both
        root, info = torch.linalg.cholesky_ex((moved + moved.mT) / 2)
        if not info:
            natural = precision @ mean + rate * (grad_mean - both @ mean)
            return torch.cholesky_solve(natural[:, None], root)[:, 0], torch.cholesky_inverse(root)
        rate /= 4
    raise FactorisationError("the step of q leaves no positive definite covariance")


class _Batch:
    """Some bags of the learning set, standing for all of them."""

    def __init__(self, state, seen: Geometry, bags: Tensor):
        self.state, self.seen, self.bags = state, seen, bags

    def objective(self, mean: Tensor, covariance: Tensor) -> Tensor:
        """The objective with the batch's likelihood scaled up to all bags: unbiased."""
        state = self.state
        likelihood = state.likelihood.subset(self.bags)
        moments = state.bound.moments(state.view_of(self.seen), mean, covariance)
        expected = likelihood.expected_log_prob(state.source.targets.value[self.bags], moments)
        share = state.bags.count / len(self.bags)
        return state.source.trust * share * expected.sum() - standard_normal_kl(
            mean, covariance)


class _Batches:
    """Minibatches of bags in a new random order at every call."""

    def __init__(self, state):
        self._state = state
        self._generator = np.random.default_rng(state.options.seed)
        bags = state.learning.operator.bags
        ends = np.cumsum(bags.sizes.long().cpu().numpy())
        self._ranges = list(zip(np.r_[0, ends[:-1]], ends, strict=True))
        asked = state.options.batch
        self._size = min(asked, bags.count) if asked else max(1, math.ceil(bags.count / 10))

    def __call__(self):
        """Yield the batches of one epoch."""
        learning = self._state.learning
        order = self._generator.permutation(len(self._ranges))
        for start in range(0, len(order), self._size):
            chosen = np.sort(order[start:start + self._size])
            index = torch.as_tensor(np.concatenate([np.arange(*self._ranges[b]) for b in chosen]))
            sizes = [self._ranges[b][1] - self._ranges[b][0] for b in chosen]
            index = index.to(learning.x.device)
            members = torch.as_tensor(np.repeat(np.arange(len(chosen)), sizes)).to(index)
            bags = learning.operator.bags
            part = replace(bags, x=bags.x[index], weight=bags.weight[index], membership=members,
                           count=len(chosen), names=(), trials=None)
            seen = geometry(learning.x[index], type(learning.operator)(part))
            yield _Batch(self._state, seen, torch.as_tensor(chosen).to(index))


TRAINERS = {"natural": _natural, "collapsed": _collapsed, "joint": _joint, "adam": _adam}
