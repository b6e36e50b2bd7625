"""All GPs of a tree at once: hyperparameters by L-BFGS, with the best q of every parent.

What rests on a GP sees draws of its q, so that this q has no closed form, and learns from both. At
fixed hyperparameters natural gradients find the best q of one parent with the others as they are,
in turns. What is left is an objective of the hyperparameters alone, some tens at most, whose
gradient is the partial one at those q.

With several tasks a parent may be a mixture. The q of its experts are those of their own data, and
what rests on the mixture is not in the gradient of their hyperparameters.

References
----------
Hamelijnck et al. 2019, section 4.3: the bound, of which all layers are learnt jointly; Khan and Lin
2017, natural gradients.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from workbench.checks import ConvergenceWarning, warn
from workbench.gp.models.several_sources.tree.draws import Draws
from workbench.gp.models.several_sources.tree.nodes import DeepNode, GPNode
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.natural_gradient import Optimum, optimise
from workbench.gp.optimisation.training import History, maximise

_NATS = 1e-5                # that may be left of a q at one setting of the hyperparameters
_STEPS, _TURNS = 20, 5      # of natural gradients for one q, and of all parents
_RESTARTS = 5               # of L-BFGS, while something is left to gain
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
        self._parents = [k for k, node in enumerate(nodes) if node.variable is not None]
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

    def finish(self, history: History) -> None:
        """Bring every q to its optimum, and say of those that are not there."""
        if not history.cancelled:
            for node, found in self._settle(_LAST, lambda: None).items():
                if found.decrement > _LEFT:
                    history.converged = False
                    history.notes.append(
                        f"q of {node} is not at its optimum: to second order "
                        f"{found.decrement:.3g} nats of the objective are left. Likely what rests "
                        "on it is not Normal given so few draws: raise samples")
        with torch.no_grad():
            for k, node in enumerate(self.nodes):
                if isinstance(node, DeepNode):
                    node.redraw(self.draws)
                if k not in self._parents:
                    node.compute_posterior()

    def _settle(self, steps: int, pulse) -> dict[str, Optimum]:
        """Bring the q of all parents to their optimum, with the others as they are, in turns."""
        found, before = {}, -np.inf
        with held(self.items):
            for _ in range(_TURNS):
                for k in self._parents:
                    found[self.nodes[k].name] = self._settle_one(k, steps, pulse)
                if len(self._parents) == 1:
                    break
                with torch.no_grad():
                    value = float(self._sum(0, pulse))
                if value - before < len(self._parents) * _NATS:
                    break
                before = value
        return found

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
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            history = maximise(
                joint.evaluate, joint.items, snapshot=joint.q, restore=joint.put,
                max_steps=options.joint_steps, tolerance=options.tolerance, progress=progress,
                callback=callback, restarts=_RESTARTS)
    except BaseException:
        joint.finish(History(cancelled=True))
        raise
    history.notes = [note.replace("max_steps", "joint_steps") for note in history.notes]
    joint.finish(history)
    if not history.converged and not history.cancelled:
        warn(history.notes[-1], ConvergenceWarning)
    return history
