"""VarCMP learnt by Adam on minibatches, as `minibatch_bound` estimates the bound by them.

Between passes q is put at its best for all data, in closed form, which takes means of features over
all individuals and no pairs.

References
----------
Chau et al. 2021, appendix B; Hensman et al. 2013.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from workbench.checks import ConvergenceWarning, stops, warn
from workbench.gp.fields.collapsed import CollapsedField
from workbench.gp.fields.moves import InducingMoves
from workbench.gp.models.conditional_mean.minibatch_bound import Anchor, Draws, bound_of
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.training import Callback, History

STEPS = 10              # of Adam in a pass, at least
_WINDOW = 10            # passes that are looked at together, and averaged at the end
_RATE, _SLOWEST = 0.05, 0.005
MOVE = 0.3             # standardised units of an inducing input to one of the search


@dataclass
class _Pace:
    """Passes in windows: slower where one is no better than the last, and an end."""

    rate: float = _RATE
    values: list[float] = field(default_factory=list)
    vectors: list[np.ndarray] = field(default_factory=list)
    mark: float = -math.inf

    def see(self, value: float, vector: np.ndarray) -> bool:
        """Whether a window is complete that is no better than the best before."""
        if len(self.values) == _WINDOW:
            self.values, self.vectors = [], []
        self.values.append(value)
        self.vectors.append(vector)
        if len(self.values) < _WINDOW:
            return False
        mean, error = np.mean(self.values), np.std(self.values, ddof=1) / math.sqrt(_WINDOW)
        better = mean > self.mark + error
        self.mark = max(self.mark, mean)
        return not better


def ascend(state, whole: CollapsedField, moves: InducingMoves | None, progress: bool,
           callback: Callback | None) -> History:
    """Adam on estimates of the bound plus log prior; the mean of the last passes is kept.

    Parameters
    ----------
    state : VarCMPState
        Its free hyperparameters are learnt.
    whole : CollapsedField
        The field on all individuals.
    moves : InducingMoves, optional
        Of its inducing inputs, learnt besides.
    progress, callback
        As of ``fit``; the callback may raise `Cancelled`.

    Returns
    -------
    History
        Of each pass the mean of its estimates.
    """
    options, history, started = state.options, History(), time.perf_counter()
    items = HyperparameterSet([*state.hyperparameters, *([] if moves is None else moves.items)])
    generator, pace = torch.Generator().manual_seed(options.seed), _Pace()
    draw = Draws(whole.operator.base, whole.x, options.batch_individuals, generator)
    optimiser = torch.optim.Adam([item.raw for item in items.free], lr=pace.rate)
    bar = tqdm(total=options.max_steps, disable=not progress, desc="fit", unit="pass")

    def step(targets: Tensor, anchor: Anchor) -> float:
        optimiser.zero_grad()
        if moves is not None:
            moves.place()
        value = bound_of(state, whole, targets, draw(), draw(), anchor)
        value = value + state.hyperparameters.log_prior()
        (-value).backward()
        optimiser.step()
        return float(value.detach())

    try:
        while len(history.objective) < options.max_steps and not history.converged:
            _best_q(state, whole, moves)
            anchor = Anchor.of(whole)
            values = [step(targets, anchor) for targets in _shuffled(state, generator)]
            history.objective.append(float(np.mean(values)))
            if pace.see(history.objective[-1], items.vector()):
                pace.rate /= math.sqrt(10)
                history.converged = pace.rate < _SLOWEST
                for group in optimiser.param_groups:
                    group["lr"] = pace.rate
            bar.update()
            bar.set_postfix(objective=f"{history.objective[-1]:.4f}")
            if callback is not None:
                callback(len(history.objective), history.objective[-1],
                         len(history.objective) / options.max_steps)
    except stops():
        if not pace.vectors:
            raise
        history.cancelled = True
        history.notes.append(f"cancelled after {len(history.objective)} passes")
    finally:
        bar.close()
    items.assign(np.mean(pace.vectors, 0))
    history.elapsed = time.perf_counter() - started
    history.notes.append(
        f"hyperparameters learnt on minibatches of {min(options.batch, len(state.value))} targets "
        f"and two sets of {options.batch_individuals} individuals of each bag; the posterior is "
        "that of all data")
    if not history.converged and not history.cancelled:
        history.notes.append(
            f"not converged after {len(history.objective)} passes: the objective was still "
            "improving; raise max_steps")
        warn(history.notes[-1], ConvergenceWarning)
    return history


@torch.no_grad()
def _best_q(state, whole: CollapsedField, moves: InducingMoves | None) -> None:
    if moves is not None:
        moves.place()
    whole.operator.refresh()
    whole.condition(state.gap(whole.operator), state.noise(whole.operator))


def _shuffled(state, generator: torch.Generator):
    """Targets in random batches: all of them, and as often as gives `STEPS`."""
    size, count = min(state.options.batch, len(state.value)), 0
    while count < STEPS:
        for targets in torch.randperm(len(state.value), generator=generator).split(size):
            count += 1
            yield targets.to(state.value.device)
