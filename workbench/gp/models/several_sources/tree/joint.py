"""All GPs of a tree at once: hyperparameters by L-BFGS, with the best q of every parent.

What rests on a GP sees draws of its q, so that this q has no closed form, and learns from both. At
fixed hyperparameters natural gradients find the best q of one parent with the others as they are,
in turns. What is left is an objective of the hyperparameters alone, some tens at most, whose
gradient is the partial one at those q.

Where a mixture is the parent, as between tasks, its experts are the GPs that are rested on.

References
----------
Hamelijnck et al. 2019, section 4.3: the bound, of which all layers are learnt jointly; Khan and Lin
2017, natural gradients.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from workbench.checks import ConvergenceWarning, stops, warn, without_warnings
from workbench.gp.models.several_sources.tree.draws import Draws
from workbench.gp.models.several_sources.tree.nodes import DeepNode, GPNode
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.natural_gradient import Optimum, optimise
from workbench.gp.optimisation.training import RESTARTS, History, maximise

_NATS = 1e-6                # that may be left of a q at one setting of the hyperparameters
_STEPS, _TURNS = 20, 5      # of natural gradients for one q, and of all parents
_PULSE_SECONDS = 0.5
_UNCONVERGED = "not converged"      # how the note of a search begins
_LAST, _LEFT = 100, 1e-2    # steps at the end, and nats that are worth a word


class Joint:
    """The sum of all bounds, at the best q of every GP.

    Parameters
    ----------
    nodes : list of GPNode
        Parents before what rests on them.
    draws : Draws
    """

    def __init__(self, nodes: list[GPNode], draws: Draws):
        self.nodes, self.draws = nodes, draws
        self.items = HyperparameterSet([item for node in nodes for item in node.items])
        below = rested_on(nodes)
        self._parents = [k for k, node in enumerate(nodes) if node in below]
        self._best, self._start = -np.inf, self.q()

    def q(self) -> list[tuple[Tensor, Tensor]]:
        """The present q of every parent."""
        fields = [self.nodes[k].field for k in self._parents]
        return [(field.q_mean.detach(), field.q_covariance.detach()) for field in fields]

    def put(self, q: list[tuple[Tensor, Tensor]]) -> None:
        """Put back what `q` gave."""
        for k, one in zip(self._parents, q, strict=True):
            self.nodes[k].field.set_q(*one)

    def evaluate(self, pulse) -> Tensor:
        """Objective plus log prior, differentiable in the hyperparameters."""
        # From the q of the best setting so far: a step too far leads to a q that is no start.
        self.put(self._start)
        self._settle(_STEPS, pulse)
        value = self._sum(0, pulse) + self.items.log_prior()
        if float(value.detach()) > self._best:
            self._best, self._start = float(value.detach()), self.q()
        return value

    def finish(self, pulse) -> str:
        """Bring every q to its optimum; what is said if that was not reached, else nothing.

        Whatever ends it, each GP answers afterwards, with the q that it has.
        """
        try:
            gain, found = self._settle(_LAST, pulse)
        finally:
            self.answer()
        far = {name: one.decrement for name, one in found.items() if one.decrement > _LEFT}
        if far:
            name = max(far, key=far.__getitem__)
            return (f"q of {name} is not at its optimum: to second order {far[name]:.3g} nats of "
                    "the objective are left. Likely what rests on it is not Normal given so few "
                    "draws: raise samples")
        if gain > _LEFT:
            return (f"the q of {', '.join(found)} are not at their joint optimum: the last of "
                    f"{_TURNS} turns still gained {gain:.3g} nats. Likely sources overlap little: "
                    "raise joint_steps, or fix what tells them apart")
        return ""

    def answer(self) -> None:
        """Let what rests on parents follow their q, and keep the posteriors of all."""
        with torch.no_grad():
            for k, node in enumerate(self.nodes):
                if isinstance(node, DeepNode):
                    node.redraw(self.draws)
                if k not in self._parents:
                    node.compute_posterior()

    def _settle(self, steps: int, pulse) -> tuple[float, dict[str, Optimum]]:
        """Bring the q of all parents to their optimum, with the others as they are, in turns.

        Returns what the last turn gained, in nats, and where each of them ended.
        """
        found, before, gain = {}, -np.inf, 0.0
        with held(self.items):
            for _ in range(_TURNS if len(self._parents) > 1 else len(self._parents)):
                for k in self._parents:
                    found[self.nodes[k].name] = self._settle_one(k, steps, pulse)
                if len(self._parents) == 1:
                    break
                with torch.no_grad():
                    value = float(self._sum(0, pulse))
                gain, before = value - before, value
                if gain < len(self._parents) * _NATS:
                    break
        return gain, found

    def _settle_one(self, k: int, steps: int, pulse) -> Optimum:
        field = self.nodes[k].field

        def objective(mean: Tensor, covariance: Tensor) -> Tensor:
            field.q_mean, field.q_covariance = mean, covariance
            return self._sum(k, pulse)

        start = field.q_mean.detach(), field.q_covariance.detach()
        try:
            best = optimise(objective, *start, steps, _NATS)
            start = best.mean, best.covariance
        finally:
            field.set_q(*start)
        return best

    def _sum(self, first: int, pulse) -> Tensor:
        """Bounds of a GP and of those after it: none before it rests on it."""
        total = 0.0
        for k, node in enumerate(self.nodes[first:], first):
            if isinstance(node, DeepNode):
                node.redraw(self.draws)
            total = total + (node.bound() if k in self._parents else node.evidence())
            pulse()
        return total


def rested_on(nodes: list[GPNode]) -> list[GPNode]:
    """GPs of which another one sees draws: parents, and the experts of parents that are mixtures.

    Parameters
    ----------
    nodes : list of GPNode
    """
    parents = [node.parent for node in nodes if isinstance(node, DeepNode)]
    return [one for parent in parents for one in getattr(parent, "experts", (parent,))]


@contextmanager
def held(items: HyperparameterSet) -> Iterator[None]:
    """Compute no gradients of hyperparameters meanwhile."""
    free = items.free
    for item in free:
        item.raw.requires_grad_(False)
    try:
        yield
    finally:
        for item in free:
            item.raw.requires_grad_(True)


def learn_jointly(nodes: list[GPNode], draws: Draws, options, progress: bool, callback) -> History:
    """Maximise the sum of all bounds over all hyperparameters and the q of all GPs.

    Parameters
    ----------
    nodes : list of GPNode
        Learnt one by one before, parents before what rests on them; changed in place.
    draws : Draws
    options : CascadeOptions
        ``joint_steps`` and ``tolerance``.
    progress, callback
        As of ``fit``.

    Returns
    -------
    History
    """
    joint = Joint(nodes, draws)
    try:
        with without_warnings(ConvergenceWarning):
            history = maximise(
                joint.evaluate, joint.items, snapshot=joint.q, restore=joint.put,
                max_steps=options.joint_steps, tolerance=options.tolerance, progress=progress,
                callback=callback, restarts=RESTARTS)
    except BaseException:
        joint.answer()
        raise
    history.notes = [note.replace("max_steps", "joint_steps") for note in history.notes]
    if history.cancelled:
        joint.answer()
        return history
    left = [note for note in history.notes if not history.converged and
            note.startswith(_UNCONVERGED)]
    try:
        left += filter(None, [joint.finish(_pulse(history, callback))])
    except stops():
        history.cancelled = True
        history.notes.append("cancelled while the q of all GPs were brought to their optimum")
        return history
    history.notes += [note for note in left if note not in history.notes]
    history.converged &= not left
    if left:
        warn(left[-1], ConvergenceWarning)
    return history


def _pulse(history: History, callback) -> Callable[[], None]:
    """Repeat the last progress now and then, so that what follows the search can be cancelled."""
    told = time.perf_counter()

    def pulse() -> None:
        nonlocal told
        if callback is not None and time.perf_counter() - told > _PULSE_SECONDS:
            told = time.perf_counter()
            callback(len(history.objective), history.objective[-1], 1.0)

    return pulse
