"""Base and deep GPs assembled from sources: kernels, starting values, names, priors."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from workbench.bags import Columns
from workbench.fields.inducing import InducingField
from workbench.hyperparameters import Hyperparameter
from workbench.inputs import InputTransform
from workbench.kernels import Term, build, inducing_inputs
from workbench.links import link_named
from workbench.models import assembly
from workbench.models.assembly import NoiseModel
from workbench.multisource.sources import Prepared, SourceSet
from workbench.multisource.tree.nodes import DeepNode, GPNode, Observed
from workbench.multisource.tree.support import keep_bags
from workbench.priors import LogNormal

PARENT = "parent"


class DeepColumns(Columns):
    """Columns of a deep GP: the parent's value, and the group ``inputs`` of all others."""

    def group(self, name: str) -> tuple[int, ...]:
        """Positions of the columns of a group; ``covariates`` does not hold the parent's value."""
        if name == "inputs":
            return tuple(range(1, len(self.names)))
        return super().group(name)

    @property
    def covariates(self) -> tuple[int, ...]:
        """Positions of the covariates among the inputs."""
        return tuple(i for i in super().covariates if i > 0)


def base_nodes(sources: SourceSet, parts: list[Prepared], options, shared: bool) -> list[GPNode]:
    """The base GPs of the sources of one task, each with a mean, variance and noise of its own.

    Parameters
    ----------
    sources : SourceSet
        All sources.
    parts : list of Prepared
        Those of the task.
    options : CascadeOptions
        The model's.
    shared : bool
        Whether they have all other hyperparameters of the kernel, such as lengthscales, in common.
    """
    x = torch.cat([part.x for part in parts])
    first = build(options.kernel, sources.bags.columns, x, options.seed) if shared else None
    nodes, known = [], set()
    for part in parts:
        terms = (_sharing(first) if shared else
                 build(options.kernel, sources.bags.columns, part.x, options.seed))
        field = _field(terms, part.x, options, _spread(part), float(part.source.mean_rate))
        kernel = [item for item in assembly.kernel_hyperparameters(
            terms, sources.transform, sources.extent, _spread(part)) if id(item.raw) not in known]
        for item in kernel:
            in_common = shared and not item.name.endswith(".variance")
            item.name = _prefix(sources, part, in_common) + item.name
        mean = Hyperparameter(_prefix(sources, part) + "mean", field.mean, None, "value")
        known |= {id(item.raw) for item in kernel}
        nodes.append(GPNode(part.name, field, [mean, *kernel, *_noise(part.noise, part.source)],
                            Observed(part.source, part.x, part.noise)))
    return nodes


def _prefix(sources: SourceSet, part: Prepared, in_common: bool = False) -> str:
    if in_common:
        return f"{part.source.task}." if len(sources.tasks) > 1 else ""
    return f"{part.name}." if len(sources) > 1 else ""


def _sharing(first: list[Term]) -> list[Term]:
    """A copy of terms that has all their parameters but the variances in common with them."""
    copies = copy.deepcopy(first)
    for term, other in zip(first, copies, strict=True):
        for path, raw in term.kernel.named_parameters():
            if path == "raw_outputscale":
                continue
            *modules, leaf = path.split(".")
            setattr(other.kernel.get_submodule(".".join(modules)), leaf, raw)
    return copies


def _noise(noise: NoiseModel, source) -> list[Hyperparameter]:
    """Hyperparameters of the noise, with a prior that has a hundredth of the values' variance.

    Without one the noise of few bags falls to nothing, which no finite precision survives, or
    takes up all of the signal; the paper holds it fixed at first.
    """
    spread = assembly.link_scale(link_named("identity"), source)
    for item in noise.items:
        item.prior = LogNormal(0.01 * spread**2, 2.0)
    return noise.items


def deep_node(sources: SourceSet, name: str, parent, below: list[Prepared], target: Prepared,
              observed: Observed, options) -> DeepNode:
    """A GP from a parent to observations of the target.

    Parameters
    ----------
    sources : SourceSet
        All sources.
    name : str
        What its hyperparameters begin with.
    parent : GPNode or MixtureNode
        Its first input.
    below : list of Prepared
        Sources of the values that the parent's are like: they give its units and starting values.
    target : Prepared
        The source whose values it is fitted to.
    observed : Observed
        Those of them that it is fitted to, with a noise of its own.
    options : CascadeOptions
        The model's.
    """
    values = torch.cat([part.source.as_rates().targets.value for part in below])
    centre, spread = float(values.mean()), _spread(below[0])
    columns = _columns(sources)
    x = torch.cat([((_nearest(below, observed.x) - centre) / spread)[:, None], observed.x], 1)
    terms = build(_kernel(options), columns, x, options.seed)
    field = _field(terms, x, options, _spread(target), float(target.source.mean_rate))
    extent = torch.cat([values.amax()[None] - values.amin()[None], sources.extent])
    items = [Hyperparameter("mean", field.mean, None, "value"),
             *assembly.kernel_hyperparameters(
                 terms, _transform(sources, columns, centre, spread), extent, _spread(target))]
    for item in items:
        item.name = f"{name}.{item.name}"
    return DeepNode(name, field, [*items, *_noise(observed.noise, observed.source)],
                    observed, parent, centre, spread,
                    columns)


def observations(part: Prepared, name: str, options, keep: Tensor | None = None) -> Observed:
    """The observations of a source, or some of its bags', with a noise of their own."""
    source, x = part.source, part.x
    if keep is not None:
        x = x[keep[source.bags.membership]]
        source = keep_bags(source, keep)
    noise = NoiseModel(options.noise, source)
    for item in noise.items:
        item.name = f"{name}.{item.name}"
    return Observed(source, x, noise)


def _field(terms: list[Term], x: Tensor, options, spread: float, mean: float) -> InducingField:
    for term in terms:
        if term.name != "kernel":
            term.kernel.outputscale = term.kernel.outputscale.detach() * spread**2
    inducing = [None if term.weights else inducing_inputs(term, x, options.inducing, options.seed)
                for term in terms]
    field = InducingField(terms, inducing)
    with torch.no_grad():
        field.mean.fill_(mean)
    return field


def _kernel(options) -> str:
    """The kernel of a deep GP in the grammar: separable in value and inputs, as in (6)."""
    kernel = options.deep_kernel
    alone = kernel.removeprefix("ard-")
    given = {"f,x": f"{kernel}({PARENT})*{kernel}(inputs)",
             "f": f"{alone}({PARENT})", "linear": f"linear({PARENT})+{alone}({PARENT})"}
    return given.get(options.deep_inputs.replace(" ", ""), options.deep_inputs)


def _columns(sources: SourceSet) -> DeepColumns:
    inputs = sources.bags.columns
    units = ("", *inputs.units) if inputs.units else ()
    return DeepColumns((PARENT, *inputs.names), tuple(c + 1 for c in inputs.coordinates), units)


def _transform(sources: SourceSet, columns: Columns, centre: float, spread: float
               ) -> InputTransform:
    """From natural to standardised inputs with the parent's value in front."""
    inputs = sources.transform

    def front(value: float, rest: Tensor) -> Tensor:
        return torch.cat([torch.tensor([value]).to(rest), rest])

    return replace(inputs, shift=front(centre, inputs.shift), scale=front(spread, inputs.scale),
                   columns=columns, lower=front(-np.inf, inputs.lower),
                   upper=front(np.inf, inputs.upper), powers=np.r_[np.nan, inputs.powers])


def _spread(part: Prepared) -> float:
    """Standard deviation of the source's values, or failing that their size."""
    return assembly.link_scale(link_named("identity"), part.source)


def _nearest(below: list[Prepared], x: Tensor) -> Tensor:
    """Values of the nearest individuals' bags (N,): a first guess of the parent's values."""
    rates = [part.source.as_rates().targets.value[part.source.bags.membership] for part in below]
    tree = cKDTree(torch.cat([part.x for part in below]).detach().cpu().numpy())
    _, nearest = tree.query(x.detach().cpu().numpy())
    return torch.cat(rates)[torch.as_tensor(nearest)]
