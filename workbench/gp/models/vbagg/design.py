"""What a variational model makes of a source before any hyperparameter is set.

Standardised inputs, bags, clusters and inducing inputs are the same at every setting of the
hyperparameters: they are computed once and shared by all states of the model on that source.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

from torch import Tensor

from workbench.gp.data.bags import Bags, Source
from workbench.gp.data.compression import Clusters, compress
from workbench.gp.data.inputs import InputTransform, fit_inputs
from workbench.gp.data.recurring import without_kept
from workbench.gp.fields.averages import averages, one_each
from workbench.gp.fields.geometry import Geometry, geometry
from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.grammar import JointTerm, Term
from workbench.gp.kernels.operators import OPERATORS, AggregationOperator
from workbench.gp.kernels.persistent import PersistentTerm, areas_as_inputs, concentrations
from workbench.gp.likelihoods.links import Link
from workbench.gp.models import assembly
from workbench.gp.models.casting import cast_bags
from workbench.gp.models.options import (
    AVERAGES,
    BEST,
    HELD,
    LEAST_INDUCING,
    MOST_INDUCING,
    MOST_LEARNT_ON,
    SHARE_INDUCING,
    VariationalOptions,
    averages_of,
)

# Entries of the features of all individuals that are kept at once: 400 MB in float64.
MOST_FEATURES = 50_000_000
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
    clusters : Clusters or None
        Those that hyperparameters are learnt on.
    averaging : list of AggregationOperator or None
        As of `InducingField`.
    """

    bags: Bags
    transform: InputTransform
    geometry: Geometry
    learning: Geometry
    terms: list[Term]
    inducing: list[Tensor | None]
    scale: float
    clusters: Clusters | None = None
    averaging: list[AggregationOperator | None] | None = None

    @property
    def sketch(self) -> Geometry:
        """All individuals, but pairs of clusters alone: several times as fast to project."""
        return self.geometry if self.clusters is None else replace(
            self.geometry, clusters=self.clusters)

    def field(self) -> InducingField:
        """A field of its own, at the starting values."""
        return InducingField(copy.deepcopy(self.terms), self.inducing, self.averaging)


def design_of(options: VariationalOptions, source: Source, link: Link, reduce) -> Design:
    """Design of a source already cast to the options' dtype and device.

    ``reduce`` turns bags into those the model sees.
    """
    given, lasting = reduce(cast_bags(source.bags, options)), options.persistence == "area"
    bags = without_kept(given) if lasting else given
    operator = OPERATORS[source.aggregation](bags)
    transform = fit_inputs(source.bags, options.transform, options.extrapolation)
    transform = replace(transform, areas=lasting)
    individuals = transform.of(source.bags)
    whole = geometry(transform.of(bags), operator)
    scale = link.scale(source)
    terms = assembly.kernel_terms(options.kernel, bags.columns, individuals, options.seed, scale)
    if options.layout == "joint" and len(terms) > 1:
        terms = [JointTerm(terms)]
    clusters = clusters_of(options, whole)
    learning, averaging = learning_geometry(whole, clusters), None
    if options.inducing_inputs == AVERAGES:
        found = [(None, None) if term.finite_rank else averages(
            term, whole, learning, options.inducing, options.seed, link.linear) for term in terms]
        inducing, averaging = (list(part) for part in zip(*found, strict=True))
    else:
        inducing = assembly.inducing_of(terms, individuals, options.inducing, options.seed)
    if lasting:
        terms = [*terms, PersistentTerm(
            whole.x.shape[1] - 1, 0.2 * scale, concentrations(given).to(whole.x))]
        inducing = [*inducing, areas_as_inputs(bags, whole.x)]
        averaging = None if averaging is None else [*averaging, None]
    return Design(bags, transform, whole, learning, terms, inducing, scale, clusters,
                  averaging)


def learns_on_clusters(sizes: Tensor, most: int) -> bool:
    """Whether hyperparameters are learnt on clusters, not on all individuals.

    Parameters
    ----------
    sizes : Tensor (B,)
        Individuals of each bag.
    most : int
        Clusters of a bag at most, 0 for none: the option ``compress``.
    """
    few = float(sizes.sum()) <= SMALL and float(sizes.double().square().sum()) <= FEW_PAIRS
    return most > 0 and not few and float(sizes.max()) > most


def with_inducing(options: VariationalOptions, sizes: Tensor, valued: bool = False
                  ) -> VariationalOptions:
    """Options with inducing inputs, and a number of them, for bags of so many individuals each.

    Totals of many bags show more detail than 100 inducing inputs can follow: what they cannot is
    learnt as effects of areas, and the map is too smooth. More are taken while that is affordable,
    and not under the square link, whose bound has a matrix of all of them for each bag.

    ``valued``: whether they are areas with Normal noise. What few inducing inputs miss of these is
    learnt as noise; averages over areas, one for each, are exact under the identity link. They are
    taken where there can be one for each.
    """
    on_clusters, individuals = learns_on_clusters(sizes, options.compress), int(sizes.sum())
    learnt = int(sizes.clamp_max(options.compress).sum()) if on_clusters else individuals
    if options.inducing_inputs == "auto":
        averaged = (valued and options.inducing == "auto" and len(sizes) <= MOST_INDUCING
                    and one_each(learnt, len(sizes)))
        options = replace(options, inducing_inputs=AVERAGES if averaged else HELD)
    elif options.inducing_inputs == BEST:       # not settled: before anything is learnt
        options = replace(options, inducing_inputs=AVERAGES)
    if options.inducing != "auto":
        return options
    if valued and options.inducing_inputs == AVERAGES:
        return replace(options, inducing=averages_of(len(sizes)))
    most = min(int(SHARE_INDUCING * len(sizes)), MOST_INDUCING, MOST_LEARNT_ON // learnt,
               MOST_FEATURES // individuals)
    return replace(options, inducing=LEAST_INDUCING if options.link == "square" else max(
        LEAST_INDUCING, most))


def clusters_of(options: VariationalOptions, whole: Geometry) -> Clusters | None:
    """What hyperparameters are learnt on; None where that is all individuals."""
    most = options.compress
    if not learns_on_clusters(whole.operator.bags.sizes, most):
        return None
    kept = whole.clusters
    return kept if kept is not None and kept.most == most else compress(
        replace(whole.operator.bags, x=whole.x), most)


def learning_geometry(whole: Geometry, clusters: Clusters | None) -> Geometry:
    """All individuals, or clusters of them.

    A nugget lives on individuals: of a cluster that part of its variance counts that its members
    do not average out.
    """
    if clusters is None:
        return whole
    operator = type(whole.operator)(clusters.bags)
    return geometry(clusters.bags.x, operator,
                    clusters.concentration(whole.operator.bags.weight, whole.concentration))
