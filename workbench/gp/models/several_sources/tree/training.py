"""Training of a tree: GP after GP from the leaves up, then if asked all of them at once.

Once its parents are fixed, each GP has a closed-form q, and L-BFGS over its few hyperparameters is
all that is left to do.

References
----------
Hamelijnck et al. 2019, section 6: "first layer by layer", then all jointly; the released code
keeps the lower layers as they are, which is ``joint_steps=0``.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor, nn

from workbench.checks import ConvergenceWarning, warn
from workbench.gp.models.several_sources.tree.nodes import DeepNode, GPNode
from workbench.gp.numerics.linalg import factor
from workbench.gp.optimisation.hyperparameters import Hyperparameter, HyperparameterSet
from workbench.gp.optimisation.starts import scan_lengthscales
from workbench.gp.optimisation.training import History, maximise, maximise_evidence


class StagedHistory:
    """Histories of consecutive stages as one: objectives add up, progress goes on."""

    def __init__(self, stages: int, callback):
        self.history, self.stages, self._callback = History(converged=True), stages, callback
        self._done, self._sum = 0, 0.0

    def callback(self, step: int, objective: float, fraction: float) -> None:
        """Pass a stage's progress on as that of the whole."""
        if self._callback is not None:
            self._callback(len(self.history.objective) + step, self._sum + objective,
                           (self._done + fraction) / self.stages)

    def add(self, name: str, part: History, adds: bool = True) -> None:
        """Take up the history of a stage; one that is over all GPs does not add to the others."""
        before = self._sum if adds else 0.0
        self.history.objective += [before + value for value in part.objective]
        self.history.notes += [f"{name}: {note}" for note in part.notes]
        self.history.converged &= part.converged
        self.history.cancelled |= part.cancelled
        self.history.elapsed += part.elapsed
        self._sum = before + max(part.objective)
        self._done += 1

    def restart(self) -> None:
        """The next stage's objective is that of everything."""
        self._sum = 0.0


def learn(nodes: list[GPNode], options, progress: bool, callback) -> History:
    """Learn the free hyperparameters of one GP, or of some that share, with parents as they are."""
    items = HyperparameterSet([item for node in nodes for item in node.items])

    def evidence() -> Tensor:
        return sum(node.evidence() for node in nodes)

    if items.free:
        scan_lengthscales(items.free, lambda: evidence() + items.log_prior(), set(options.initial))
    return maximise_evidence(evidence, items, options, progress=progress, callback=callback)


class FreeQ:
    """q of a GP as free parameters, in coordinates where its present one is N(0, I)."""

    def __init__(self, node: GPNode):
        self.node, field = node, node.field
        size = len(field.q_mean)
        self._mean, self._root = field.q_mean, factor(field.q_covariance, "covariance of q")
        self._rows, self._columns = torch.tril_indices(size, size)
        like = field.q_mean
        self.shift = nn.Parameter(torch.zeros(size).to(like))
        self.entries = nn.Parameter(torch.zeros(len(self._rows)).to(like))

    @property
    def items(self) -> list[Hyperparameter]:
        """Its parameters by name."""
        return [Hyperparameter(f"{self.node.name}.q.mean", self.shift),
                Hyperparameter(f"{self.node.name}.q.root", self.entries)]

    def place(self) -> None:
        """Give the GP the present q, differentiable."""
        diagonal = (self._rows == self._columns).to(self.entries.device)
        entries = torch.where(diagonal, self.entries.exp(), self.entries)
        size = len(self.shift)
        factor = torch.zeros(size, size).to(entries).index_put((self._rows, self._columns), entries)
        root = self._root @ factor
        self.node.field.q_mean = self._mean + self._root @ self.shift
        self.node.field.q_covariance = root @ root.mT


def learn_jointly(nodes: list[GPNode], draws, options, progress: bool, callback) -> History:
    """Maximise the sum of all bounds over all hyperparameters and the q of all parents.

    A GP that nothing rests on keeps its closed-form q. Draws of parents change with their q, which
    so learns from what rests on it.
    """
    free = [FreeQ(node) for node in nodes if node.variable is not None]
    below = {q.node for q in free}
    items = HyperparameterSet([*(i for n in nodes for i in n.items),
                               *(i for q in free for i in q.items)])

    def evaluate(pulse) -> Tensor:
        for q in free:
            q.place()
        total = items.log_prior()
        for node in nodes:
            if isinstance(node, DeepNode):
                node.redraw(draws)
            total = total + (node.bound() if node in below else node.evidence())
            pulse()
        return total

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            history = maximise(evaluate, items, max_steps=options.joint_steps,
                               tolerance=options.tolerance, progress=progress, callback=callback)
    finally:
        with torch.no_grad():
            _compute_posteriors(nodes, free, below, draws)
    if not history.converged and not history.cancelled:
        history.notes[-1] = history.notes[-1].replace("max_steps", "joint_steps")
        warn(history.notes[-1], ConvergenceWarning)
    return history


def _compute_posteriors(nodes, free, below, draws) -> None:
    for q in free:
        q.place()
        q.node.field.set_q(q.node.field.q_mean, q.node.field.q_covariance)
    for node in nodes:
        if isinstance(node, DeepNode):
            node.redraw(draws)
        if node not in below:
            node.compute_posterior()
