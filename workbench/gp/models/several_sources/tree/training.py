"""Training of a tree, GP after GP from the leaves up.

Once its parents are fixed, each GP has a closed-form q, and L-BFGS over its few hyperparameters is
all that is left to do.

References
----------
Hamelijnck et al. 2019, section 6: "first layer by layer", then all jointly
(`workbench.gp.models.several_sources.tree.joint`); the released code keeps the lower layers as they
are, which is ``joint_steps=0``.
"""

from __future__ import annotations

from torch import Tensor

from workbench.gp.models.several_sources.tree.nodes import GPNode
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.starts import scan_lengthscales
from workbench.gp.optimisation.training import History, maximise_evidence


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
