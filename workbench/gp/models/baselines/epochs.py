"""Adam on random batches of bags, with early stopping on bags that are held out.

An epoch goes once through all bags. Stopping looks at the early-stop bags' negative
log-likelihood where they are given, else at the training objective; the best state is put back.

References
----------
Law et al. 2018, section 4 and the released code: a tenth of the bags per step, constant learning
rate, stopping from a third of the epochs on, patience of ten epochs, best checkpoint restored.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from tqdm import tqdm

from workbench.checks import ConvergenceWarning, stops, warn
from workbench.gp.models.baselines.state import PointState
from workbench.gp.numerics.linalg import FactorisationError
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.training import Callback, History

_PULSE_SECONDS = 0.5
_FAILURES = (FactorisationError, torch.linalg.LinAlgError)


@dataclass
class EpochHistory(History):
    """Objective after each epoch, and the early-stop criterion where it was watched.

    Parameters
    ----------
    early_stop : list of float
        Negative log-likelihood of the early-stop bags, nats per bag, of the epochs that could end
        the training.
    kept_epoch : int
        Which of these epochs left the state that was kept; 0 is the start.
    """

    early_stop: list[float] = field(default_factory=list)
    kept_epoch: int = 0


class _Best:
    """The best state by one criterion (lower is better), and for how long it has not improved."""

    def __init__(self, tolerance: float, vector: np.ndarray, epoch: int):
        self.tolerance, self.vector, self.epoch = tolerance, vector, epoch
        self.value = self.mark = math.inf
        self.waited = 0

    def see(self, value: float, epoch: int, hyperparameters: HyperparameterSet) -> None:
        """Remember the present state if it is the best; count epochs without a clear gain."""
        if value < self.value:
            self.value, self.vector, self.epoch = value, hyperparameters.vector(), epoch
        if not math.isfinite(self.mark) or value < self.mark - self.tolerance * abs(self.mark):
            self.mark, self.waited = value, 0
        else:
            self.waited += 1


def descend(state: PointState, criterion: Callable[[], float] | None, *, patience: int = 10,
            patience_from: float = 1 / 3, progress: bool = False, callback: Callback | None = None
            ) -> EpochHistory:
    """Train a point predictor by Adam, as its options say.

    Parameters
    ----------
    state : PointState
        What is trained; it has free hyperparameters. The best state is in place on return, also
        after `Cancelled` or Ctrl-C.
    criterion : callable, optional
        Gives what is watched for early stopping, lower is better; None watches the objective.
    patience : int
        Epochs without improvement after which training stops.
    patience_from : float
        Share of the epochs before it may stop.
    progress : bool
        Show a progress bar.
    callback : callable, optional
        ``callback(epoch, objective, fraction)`` after each epoch, and at most twice a second
        within long ones; may raise `Cancelled`.

    Raises
    ------
    FactorisationError
        If the loss is not finite at the start.
    """
    options, items, epochs = state.options, state.hyperparameters, state.options.max_steps
    history, started = EpochHistory(), time.perf_counter()
    generator = torch.Generator().manual_seed(options.seed)
    first = max(1, math.ceil(epochs * patience_from))
    rate, optimiser = options.learning_rate, _adam(items, options.learning_rate)
    best = _Best(options.tolerance, items.vector(), 0)
    best.see(-_start(state), 0, items)
    bar = tqdm(total=epochs, disable=not progress, desc="fit", unit="epoch")
    told = started

    def tell() -> None:
        nonlocal told
        told = time.perf_counter()
        if callback is not None:
            epoch = len(history.objective)
            callback(epoch, history.objective[-1], min(1.0, epoch / epochs))

    def pulse() -> None:
        if history.objective and time.perf_counter() - told > _PULSE_SECONDS:
            tell()

    try:
        for epoch in range(1, epochs + 1):
            try:
                value = _epoch(state, optimiser, generator, pulse)
            except _FAILURES as error:
                rate /= 10
                history.notes.append(
                    f"epoch {epoch}: backed off to learning rate {rate:.3g}, {error}; likely the "
                    "steps were too long: a smaller learning_rate avoids this")
                items.assign(best.vector)
                optimiser = _adam(items, rate)
                continue
            watched = -value
            if criterion is not None and epoch >= first:
                if not history.early_stop:
                    best = _Best(options.tolerance, best.vector, best.epoch)
                watched = criterion()
                history.early_stop.append(watched)
            history.objective.append(value)
            best.see(watched, len(history.objective), items)
            bar.update()
            bar.set_postfix(objective=f"{value:.4f}")
            tell()
            if epoch >= first and best.waited >= patience:
                history.converged = True
                break
    except stops():
        if not history.objective:
            raise
        history.cancel("epochs")
    finally:
        bar.close()
    items.assign(best.vector)
    history.kept_epoch, history.elapsed = best.epoch, time.perf_counter() - started
    _conclude(history, patience, criterion is not None)
    return history


def _adam(hyperparameters: HyperparameterSet, rate: float) -> torch.optim.Adam:
    return torch.optim.Adam([item.raw for item in hyperparameters.free], lr=rate)


def _start(state: PointState) -> float:
    """The objective before any step, or an error that says what to change."""
    try:
        value = float(state.objective())
        if not math.isfinite(value):
            raise FactorisationError("the objective is not finite")
    except _FAILURES as error:
        raise FactorisationError(
            f"the fit cannot start: {error}; change the initial or fixed hyperparameters"
        ) from error
    return value


def _epoch(state: PointState, optimiser, generator: torch.Generator, pulse) -> float:
    """One step for every batch; the objective of all bags after them."""
    for batch in state.batches(generator):
        optimiser.zero_grad()
        loss = state.loss(batch)
        if not math.isfinite(float(loss.detach())):
            raise FactorisationError("the loss is not finite")
        loss.backward()
        optimiser.step()
        pulse()
    value = float(state.objective())
    if not math.isfinite(value):
        raise FactorisationError("the objective is not finite")
    return value


def _conclude(history: EpochHistory, patience: int, early: bool) -> None:
    """Say how training ended, and what to change where it did not converge."""
    watched = "likelihood of the early-stop bags" if early else "objective"
    if history.converged:
        history.notes.append(
            f"stopped after {len(history.objective)} epochs: the {watched} had not improved for "
            f"{patience}; the state of epoch {history.kept_epoch} is kept")
    elif not history.cancelled:
        history.notes.append(
            f"not converged after {len(history.objective)} epochs: the {watched} was still "
            f"improving; likely there were too few epochs, or the steps were too short: raise "
            f"max_steps or learning_rate (the state of epoch "
            f"{history.kept_epoch} is kept)")
        warn(history.notes[-1], ConvergenceWarning)
