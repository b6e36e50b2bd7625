"""MR-CASCADE: one chain of GPs, from the coarsest source to the one of interest.

The coarsest source has a base GP; every finer one a deep GP on the value of the one before and the
inputs, fitted to the finer source's own observations. There is no mixture: all that is known of
the target passes through the whole chain.

References
----------
Hamelijnck et al. 2019, section 6, where it is a baseline.

Deviation: the paper says no more than "we construct a cascade", and there is no code of it. That
the chain goes by resolution, and by resolution as the mean number of individuals of a bag, is a
reading. Other tasks come before that of the first source.
"""

from __future__ import annotations

from workbench.gp.models.several_sources.base import MultiSourceModel
from workbench.gp.models.several_sources.sources import SourceSet, StandardisedSource
from workbench.gp.models.several_sources.tree.build_nodes import base_nodes, deep_node
from workbench.gp.models.several_sources.tree.fit import TreeFit
from workbench.gp.models.several_sources.tree.nodes import Observed
from workbench.gp.models.several_sources.tree.options import CascadeOptions
from workbench.gp.models.several_sources.tree.state import TreeState


class CascadeState(TreeState):
    """The chain of MR-CASCADE."""

    def build_nodes(self) -> None:
        """One GP per source, each on the one before."""
        below = None
        for part in resolution_order(self.sources):
            if below is None:
                node, = base_nodes(self.sources, [part], self.options, shared=False)
            else:
                node = deep_node(self.sources, part.name, self.of_source[below.name], [below], part,
                                 Observed(part.source, part.x, part.noise), self.options)
            self.of_source[part.name], below = node, part
            self.groups.append([node])
        self.tops = [self.of_source[self.sources.of_task(task)[0].name]
                     for task in range(len(self.sources.tasks))]


def resolution_order(sources: SourceSet) -> list[StandardisedSource]:
    """The chain: other tasks first, the last of them foremost; in each the coarsest source first.

    Sources of one resolution come in the reverse of the given order; the first source of all is
    the last of the chain.
    """
    def key(part: StandardisedSource) -> tuple:
        position = sources.parts.index(part)
        first = position == 0
        return (first, -part.task, -float(part.source.bags.sizes.mean()), -position)

    return sorted(sources, key=key)


class MRCascade(MultiSourceModel):
    """Chain of deep GPs from the coarsest source to the first one: a baseline of MR-DGP.

    Hamelijnck et al. 2019, section 6.
    """

    name = "mr-cascade"
    summary = "chain of deep GPs from the coarsest source to the first"
    paper = "Hamelijnck et al. 2019 (MR-CASCADE)"
    options_type = CascadeOptions
    state_type = CascadeState
    fit_type = TreeFit
    same_quantity = False       # a map from one to the other is learnt
