"""MR-DGP: a tree of deep GPs from every source to the one of interest, mixed as local experts.

Every source has a base GP f_a. For each source but the first of its task a deep GP f_a^(2), on
(f_a(x), x), learns how it maps to the first, whatever its bias and scale; these and the first's
base GP are the experts of the task's mixture. The mixture of every further task is the input of a
deep GP to the first source of all, another expert there.

References
----------
Hamelijnck et al. 2019, section 4 and appendix D.

Deviations: `workbench.gp.models.several_sources.tree.nodes` and
`workbench.gp.models.several_sources.tree.mixture` name those in formulas. The base GPs of a task
share their lengthscales: a coarse source alone may say nothing of them. Deep GPs learn where both
their source and the target have individuals. Each GP has a constant mean of its own instead of
zero. The experts of other tasks come last in the order of reliability and share equally what the
own experts of the target leave: the paper does not say how they are combined.
"""

from __future__ import annotations

import torch

from workbench.checks import reject
from workbench.gp.models.several_sources.base import MultiSourceModel
from workbench.gp.models.several_sources.sources import StandardisedSource
from workbench.gp.models.several_sources.tree.build_nodes import base_nodes, deep_node, observations
from workbench.gp.models.several_sources.tree.fit import TreeFit
from workbench.gp.models.several_sources.tree.mixture import Information, MixtureNode
from workbench.gp.models.several_sources.tree.nodes import GPNode
from workbench.gp.models.several_sources.tree.options import MRDGPOptions
from workbench.gp.models.several_sources.tree.state import TreeState
from workbench.gp.models.several_sources.tree.support import in_support


class DGPState(TreeState):
    """The tree of MR-DGP: base GPs, deep GPs within tasks, then those between tasks."""

    def build_nodes(self) -> None:
        """One mixture per task; the first source's task is the last to be grown."""
        tasks, first = self.sources.tasks, self.sources.parts[0].task
        self.tops = [None] * len(tasks)
        for task in range(len(tasks)):
            self._add_bases(self.sources.of_task(task))
        others = []
        for task, name in enumerate(tasks):
            if task != first:
                self.tops[task] = MixtureNode(name, self._experts(task))
                others.append((name, self._add_deep(
                    f"{name}.task", self.tops[task], self.sources.of_task(task),
                    self.sources.parts[0])))
        experts = self._experts(first)
        self.information = [Information(self.of_source[name]) for name, _ in experts]
        self.tops[first] = MixtureNode(tasks[first], experts, self.information, others)

    def _add_bases(self, parts: list[StandardisedSource]) -> None:
        nodes = base_nodes(self.sources, parts, self.options, shared=True)
        self.of_source |= {part.name: node for part, node in zip(parts, nodes, strict=True)}
        self.groups.append(nodes)

    def _experts(self, task: int) -> list[tuple[str, GPNode]]:
        """The base GP of a task's first source, and a deep GP to it from every other."""
        target, *others = self.sources.of_task(task)
        return [(target.name, self.of_source[target.name])] + [
            (part.name, self._add_deep(
                f"{part.name}.deep", self.of_source[part.name], [part], target))
            for part in others]

    def calibrate(self, node: GPNode) -> None:
        """The range of a base GP's information, at its own training inputs."""
        for known in self.information:
            if known.node is node:
                known.calibrate()

    def _add_deep(self, name: str, parent, below: list[StandardisedSource],
                  target: StandardisedSource) -> GPNode:
        bags = target.source.bags
        keep = torch.stack([in_support(bags, target.x, p.source.bags, p.x)
                            for p in below]).any(0)
        if not bool(keep.any()):
            told = " and ".join(repr(p.name) for p in below)
            raise reject(f"bags of source {target.name!r} where {told} has individuals",
                         "none, so that no map from the one to the other can be learnt",
                         "leave it out")
        observed = observations(target, name, self.options, keep)
        node = deep_node(self.sources, name, parent, below, target, observed, self.options)
        self.groups.append([node])
        return node


class MRDGP(MultiSourceModel):
    """Multi-resolution deep GP: sources of any bias, resolution and place, mapped to the first.

    The first source of a task is what its mixture predicts; the others follow in order of
    reliability, those of higher resolution first.

    Hamelijnck et al. 2019, section 4, appendix D.
    """

    name = "mr-dgp"
    summary = "tree of deep GPs: biased sources mapped to the first, mixed as experts"
    paper = "Hamelijnck et al. 2019 (MR-DGP)"
    options_type = MRDGPOptions
    state_type = DGPState
    fit_type = TreeFit
    same_quantity = False       # a map from one to the other is learnt
