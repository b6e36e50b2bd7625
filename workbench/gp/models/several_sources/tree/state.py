"""A tree of GPs assembled for its sources, and its training."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.operators import OPERATORS
from workbench.gp.models import assembly
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.several_sources.base import SourcesState
from workbench.gp.models.several_sources.tree.draws import Draws
from workbench.gp.models.several_sources.tree.joint import learn_jointly
from workbench.gp.models.several_sources.tree.mixture import MixtureNode
from workbench.gp.models.several_sources.tree.nodes import GPNode
from workbench.gp.models.several_sources.tree.training import StagedHistory, learn
from workbench.gp.optimisation.training import History


class TreeState(SourcesState, ABC):
    """GPs in the order in which they are learnt, and which of them answers for what.

    Parameters are those of `SourcesState`.
    ``groups`` are the GPs, together those that are learnt together; ``tops`` the node of each task,
    a GP or a `MixtureNode`; ``of_source`` the GP of each source's own field, by name.
    """

    groups: list[list[GPNode]]
    tops: list[GPNode | MixtureNode]
    of_source: dict[str, GPNode]

    def __init__(self, model, sources):
        super().__init__(model, sources)
        self.groups, self.tops, self.of_source = [], [], {}
        self.build_nodes()
        parents = list(dict.fromkeys(n.parent for n in self.nodes if hasattr(n, "parent")))
        for position, parent in enumerate(parents):
            parent.variable = position
        self.draws = Draws(self.options.samples, self.options.seed, len(parents))
        self.hyperparameters = assembly.finish(
            [item for node in self.nodes for item in node.items], self.options)

    @abstractmethod
    def build_nodes(self) -> None:
        """Fill ``groups``, ``tops`` and ``of_source``."""

    @property
    def field(self):
        """The base GP of the first source, whose kernel tells which inputs matter."""
        return next(iter(self.of_source.values())).field

    @property
    def nodes(self) -> list[GPNode]:
        """All GPs, parents before what rests on them."""
        return [node for group in self.groups for node in group]

    def inducing_fields(self) -> list[InducingField]:
        """Those of all GPs."""
        return [node.field for node in self.nodes]

    def learnt(self) -> dict[str, Tensor]:
        """Orders of the draws, so that they do not depend on another package's version."""
        return {"orders": torch.as_tensor(self.draws.learnt())}

    def recall(self, learnt: Mapping[str, Tensor]) -> None:
        """Draw what parents are, from the leaves up, at the inducing inputs that were kept."""
        self.draws.orders = dict(enumerate(learnt["orders"].numpy()))
        for node in self.nodes:
            kept = node.field.inducing
            node.prepare(self.draws, self.options.inducing, self.options.seed)
            node.field.inducing = kept
            self.calibrate(node)

    def calibrate(self, node: GPNode) -> None:
        """What rests on a GP's posterior besides other GPs; called when it is learnt."""

    @property
    def noise(self) -> TopNoise:
        """Noise of observations of the first source's task."""
        return TopNoise(self, self.sources.parts[0].task)

    def evidence(self) -> Tensor:
        """Sum of the bounds of all GPs at their present q."""
        return sum(node.bound() for node in self.nodes)

    def train(self, progress: bool, callback) -> History:
        """Learn GP after GP, then all at once if asked; each q is kept."""
        joint = self.options.joint_steps > 0 and len(self.nodes) > 1
        staged = StagedHistory(len(self.groups) + joint, callback)
        for group in self.groups:
            for node in group:
                node.prepare(self.draws, self.options.inducing, self.options.seed)
            if not staged.history.cancelled:
                name = ", ".join(node.name for node in group)
                staged.add(name, learn(group, self.options, progress,
                                         staged.callback))
            for node in group:
                node.compute_posterior()
                self.calibrate(node)
        if joint and not staged.history.cancelled:
            staged.restart()
            staged.add("joint", learn_jointly(self.nodes, self.draws, self.options, progress,
                                                staged.callback), adds=False)
            for node in self.nodes:
                self.calibrate(node)
        return staged.history


class TopNoise:
    """Noise of observations of a task: that of the experts, in the shares of their weights.

    Every expert has a likelihood of its own for the same observations: where it speaks, its noise
    is that of an observation about it.
    """

    def __init__(self, state: TreeState, task: int):
        self.state, self.top = state, state.tops[task]
        self.target = state.sources.of_task(task)[0]

    @torch.no_grad()
    def std(self, bags: Bags) -> Tensor:
        """Standard deviation of an observation of each given bag (B,)."""
        if isinstance(self.top, GPNode):
            return self.top.observed.noise.std(bags)
        if self.state.options.noise == "known":
            return self.target.noise.std(bags)
        bags = cast_bags(bags, self.state.options)
        share = OPERATORS["mean"](bags)(self.top.weights(self.state.transform(bags.x)))
        variance = torch.stack([e.observed.noise.std(bags).square() for e in self.top.experts])
        return (share * variance).sum(0).sqrt()
