"""MR-DGP: a tree of deep GPs from every source to the one of interest, mixed as local experts.

Every source has a base GP f_a. For each source but the first of its task a deep GP f_a^(2), on
(f_a(x), x), learns how it maps to the first, whatever its bias and scale; these and the first's
base GP are the experts of the task's mixture. The mixture of every further task is the input of a
deep GP to the first source of all, another expert there.

References
----------
Hamelijnck et al. 2019, section 4 and appendix D.

Deviations: `workbench.multisource.tree.nodes` and `workbench.multisource.tree.mixture` name those
in formulas. The base GPs of a task share their lengthscales unless asked otherwise: a coarse source
alone may say nothing of them. Each GP has a constant mean of its own instead of zero. The experts
of other tasks come last in the order of trust and share what the own experts of the target leave:
the paper does not say how they are combined.
"""

from __future__ import annotations

import torch

from workbench.checks import reject
from workbench.multisource.base import MultiSourceModel
from workbench.multisource.sources import Prepared
from workbench.multisource.tree.fit import TreeFit
from workbench.multisource.tree.mixture import Information, MixtureNode
from workbench.multisource.tree.nodes import GPNode
from workbench.multisource.tree.options import MRDGPOptions
from workbench.multisource.tree.planting import base_nodes, deep_node, observations
from workbench.multisource.tree.state import TreeState
from workbench.multisource.tree.support import in_support
from workbench.training import History


class MRDGP(MultiSourceModel):
    """Multi-resolution deep GP: sources of any bias, resolution and place, mapped to the first.

    The first source of a task is what its mixture predicts; the others follow in order of trust,
    those of higher resolution first.

    Parameters
    ----------
    **options
        Fields of `MRDGPOptions`.

    Raises
    ------
    InputError
        If the first source of a task has no bag where another source has individuals, and
        ``mask="support"``.

    References
    ----------
    Hamelijnck et al. 2019, section 4, appendix D.
    """

    name = "mr-dgp"
    summary = "tree of deep GPs: biased sources mapped to the first, mixed as experts"
    paper = "Hamelijnck et al. 2019 (MR-DGP)"
    options_type = MRDGPOptions

    def _assemble(self, sources, callback) -> DGPState:
        return DGPState(self, sources)

    def _fitted(self, state, history: History) -> TreeFit:
        return TreeFit(self, state, history)


class DGPState(TreeState):
    """The tree of MR-DGP: base GPs, deep GPs within tasks, then those between tasks."""

    def plant(self) -> None:
        """One mixture per task; the first source's task is the last to be grown."""
        self.information: dict[GPNode, Information] = {}
        first = self.sources.parts[0].task
        tails = []
        self.tops = [None] * len(self.sources.tasks)
        for task in range(len(self.sources.tasks)):
            self._bases(self.sources.of_task(task))
        for task, name in enumerate(self.sources.tasks):
            if task != first:
                self.tops[task] = self._mixture(task, self.options.parents)
                tails.append((name, *self._between(task, name)))
        self.tops[first] = self._mixture(first, "variance", tails)

    def _bases(self, parts: list[Prepared]) -> None:
        options = self.options
        shared = options.lengthscales == "shared"
        nodes = base_nodes(self.sources, parts, options, shared)
        for part, node in zip(parts, nodes, strict=True):
            self.of_source[part.name] = node
            self.information[node] = Information(
                node, options.gate, options.gate_variance == "observed")
        self.groups += [nodes] if shared else [[node] for node in nodes]

    def calibrate(self, node: GPNode) -> None:
        """The range of a base GP's information, at the training inputs of all sources."""
        if node in self.information:
            self.information[node].calibrate(self.sources.x)

    def _mixture(self, task: int, own: str, tails=()) -> MixtureNode:
        target, *others = self.sources.of_task(task)
        experts = [(target.name, self.of_source[target.name])]
        for part in others:
            base = self.of_source[part.name]
            experts.append((part.name, self._deep(f"{part.name}.deep", base, [part], target)))
        experts += [(name, node) for name, node, _ in tails]
        known = [self.information[self.of_source[p.name]] for p in (target, *others)]
        return MixtureNode(self.sources.tasks[task], experts, known, [t for *_, t in tails],
                           own, self.options.parents)

    def _between(self, task: int, name: str) -> tuple[GPNode, list[Information]]:
        """The deep GP from another task's mixture to the first source of all."""
        below = self.sources.of_task(task)
        node = self._deep(f"{name}.task", self.tops[task], below, self.sources.parts[0])
        return node, [self.information[self.of_source[p.name]] for p in below]

    def _deep(self, name: str, parent, below: list[Prepared], target: Prepared) -> GPNode:
        keep = None
        if self.options.mask == "support":
            bags = target.source.bags
            keep = torch.stack([in_support(bags, target.x, p.source.bags, p.x)
                                for p in below]).any(0)
            if not bool(keep.any()):
                told = " and ".join(repr(p.name) for p in below)
                raise reject(f"bags of source {target.name!r} where {told} has individuals",
                             "none, so that no map from the one to the other can be learnt",
                             "leave it out, or set mask='none'")
        observed = observations(target, name, self.options, keep)
        node = deep_node(self.sources, name, parent, below, target, observed, self.options)
        self.groups.append([node])
        return node
