"""What a variational model makes of a source before any hyperparameter is set.

Standardised inputs, bags, clusters and inducing inputs are the same at every setting of the
hyperparameters: they are computed once and shared by all states of the model on that source.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from workbench.bags import Bags, Source
from workbench.compression import compress
from workbench.fields.inducing import InducingField
from workbench.geometry import Geometry, geometry
from workbench.inputs import InputTransform, fit_inputs
from workbench.kernels import JointTerm, Term, build, inducing_inputs
from workbench.links import Link
from workbench.models import assembly
from workbench.models.options import VariationalOptions, cast_bags
from workbench.operators import OPERATORS

# Below this many individuals an evaluation is quick and compression not worth its approximation.
SMALL = 4_000
# So are this many pairs of individuals inside bags.
FEW_PAIRS = 500_000


@dataclass(frozen=True)
class Design:
    """Parts of a model that do not depend on hyperparameters.

    Parameters
    ----------
    bags : Bags
        Training bags as the model sees them.
    transform : InputTransform
        From natural units to standardised inputs.
    geometry : Geometry
        All individuals.
    learning : Geometry
        What hyperparameters are learnt on: the same, or clusters of them.
    terms : list of Term
        The kernel's terms at their starting values.
    inducing : list of Tensor (M_t, D) or None
        Inducing inputs of each term.
    scale : float
        One unit of relative change of the rate, on the scale of f.
    """

    bags: Bags
    transform: InputTransform
    geometry: Geometry
    learning: Geometry
    terms: list[Term]
    inducing: list[Tensor | None]
    scale: float

    def field(self) -> InducingField:
        """A field of its own, at the starting values."""
        return InducingField(copy.deepcopy(self.terms), self.inducing)


def design_of(options: VariationalOptions, source: Source, link: Link, reduce) -> Design:
    """Design of a source already cast to the options' dtype and device.

    ``reduce`` turns bags into those the model sees.
    """
    bags = reduce(cast_bags(source.bags, options))
    operator = OPERATORS[source.aggregation](bags)
    transform = fit_inputs(source.bags, options.transform, options.extrapolation)
    individuals = transform(source.bags.x)
    whole = geometry(transform(bags.x), operator)
    scale = assembly.link_scale(link, source)
    terms = build(options.kernel, bags.columns, individuals, options.seed)
    for term in terms:
        if term.name != "kernel":
            term.kernel.outputscale = term.kernel.outputscale.detach() * scale**2
    if options.layout == "joint" and len(terms) > 1:
        terms = [JointTerm(terms)]
    inducing = [None if term.weights else inducing_inputs(
        term, individuals, options.inducing, options.seed) for term in terms]
    return Design(bags, transform, whole, learning_geometry(options, whole), terms, inducing, scale)


def learning_geometry(options: VariationalOptions, whole: Geometry) -> Geometry:
    """All individuals, or clusters of them.

    A nugget lives on individuals: of a cluster that part of its variance counts that its members
    do not average out.
    """
    most = options.compress
    sizes = whole.operator.bags.sizes
    few = len(whole.x) <= SMALL and float(sizes.square().sum()) <= FEW_PAIRS
    if most == 0 or few or float(sizes.max()) <= most:
        return whole
    clusters = whole.clusters
    if clusters is None or clusters.most != most:
        clusters = compress(replace(whole.operator.bags, x=whole.x), most)
    operator = type(whole.operator)(clusters.bags)
    return geometry(clusters.bags.x, operator,
                    clusters.concentration(whole.operator.bags.weight))


def same_bags(one: Bags, other: Bags) -> bool:
    """Whether two bags hold the same individuals."""
    return len(one.x) == len(other.x) and one.count == other.count and all(
        torch.equal(getattr(one, part), getattr(other, part))
        for part in ("x", "weight", "membership"))
