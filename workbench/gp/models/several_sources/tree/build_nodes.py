"""Base and deep GPs assembled from sources: kernels, starting values, names, priors."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import torch
from scipy.spatial import cKDTree
from torch import Tensor

from workbench.gp.data.bags import Columns
from workbench.gp.data.inputs import InputTransform
from workbench.gp.kernels.grammar import Term
from workbench.gp.likelihoods.noise import NoiseModel
from workbench.gp.models import assembly
from workbench.gp.models.several_sources.sources import SourceSet, StandardisedSource
from workbench.gp.models.several_sources.tree.nodes import DeepNode, GPNode, Observed
from workbench.gp.models.several_sources.tree.support import keep_bags
from workbench.gp.optimisation.hyperparameters import Hyperparameter
from workbench.gp.optimisation.priors import LogNormal

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


def base_nodes(sources: SourceSet, parts: list[StandardisedSource], options, shared: bool
               ) -> list[GPNode]:
    """The base GPs of the sources of one task, each with a mean, variance and noise of its own.

    Parameters
    ----------
    sources : SourceSet
        All sources.
    parts : list of StandardisedSource
        Those of the task.
    options : CascadeOptions
        The model's.
    shared : bool
        Whether they have all other hyperparameters of the kernel, such as lengthscales, in common.
    """
    x = torch.cat([part.x for part in parts])
    columns = sources.bags.columns
    first = assembly.kernel_terms(options.kernel, columns, x, options.seed) if shared else None
    nodes, known = [], set()
    for part in parts:
        terms = _sharing(first, _spread(part)) if shared else assembly.kernel_terms(
            options.kernel, columns, part.x, options.seed, _spread(part))
        field = assembly.inducing_field(terms, part.x, options.inducing, options.seed,
                                        float(part.source.mean_rate))
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


def _prefix(sources: SourceSet, part: StandardisedSource, in_common: bool = False) -> str:
    if in_common:
        return f"{part.source.task}." if len(sources.tasks) > 1 else ""
    return f"{part.name}." if len(sources) > 1 else ""


def _sharing(first: list[Term], scale: float) -> list[Term]:
    """A copy of terms with all their parameters but the variances, which are in units of scale²."""
    copies = copy.deepcopy(first)
    for term, other in zip(first, copies, strict=True):
        if term.name != "kernel":
            other.kernel.outputscale = term.kernel.outputscale.detach() * scale**2
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
    spread = assembly.spread(source.as_rates().targets.value)
    for item in noise.items:
        item.prior = LogNormal(0.01 * spread**2, 2.0)
    return noise.items


def deep_node(sources: SourceSet, name: str, parent, below: list[StandardisedSource],
              target: StandardisedSource, observed: Observed, options) -> DeepNode:
    """A GP from a parent to observations of the target.

    Parameters
    ----------
    sources : SourceSet
        All sources.
    name : str
        What its hyperparameters begin with.
    parent : GPNode or MixtureNode
        Its first input.
    below : list of StandardisedSource
        Sources of the values that the parent's are like: they give its units and starting values.
    target : StandardisedSource
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
    terms = assembly.kernel_terms(_kernel(options), columns, x, options.seed, _spread(target))
    field = assembly.inducing_field(terms, x, options.inducing, options.seed,
                                    float(target.source.mean_rate))
    extent = torch.cat([values.amax()[None] - values.amin()[None], sources.extent])
    items = [Hyperparameter("mean", field.mean, None, "value"),
             *assembly.kernel_hyperparameters(
                 terms, _transform(sources, columns, centre, spread), extent, _spread(target))]
    for item in items:
        item.name = f"{name}.{item.name}"
    return DeepNode(name, field, [*items, *_noise(observed.noise, observed.source)],
                    observed, parent, centre, spread,
                    columns)


def observations(part: StandardisedSource, name: str, options, keep: Tensor) -> Observed:
    """The observations of some bags of a source (B,), with a noise of their own."""
    x, source = part.x[keep[part.source.bags.membership]], keep_bags(part.source, keep)
    noise = NoiseModel(options.noise, source)
    for item in noise.items:
        item.name = f"{name}.{item.name}"
    return Observed(source, x, noise)


def _kernel(options) -> str:
    """The kernel of a deep GP in the grammar: separable in value and inputs, as in (6)."""
    given = {"f,x": f"rbf({PARENT})*rbf(inputs)", "f": f"rbf({PARENT})",
             "linear": f"linear({PARENT})+rbf({PARENT})"}
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


def _spread(part: StandardisedSource) -> float:
    """Standard deviation of the source's values, or failing that their size."""
    return assembly.spread(part.source.as_rates().targets.value)


def _nearest(below: list[StandardisedSource], x: Tensor) -> Tensor:
    """Values of the nearest individuals' bags (N,): a first guess of the parent's values."""
    rates = [part.source.as_rates().targets.value[part.source.bags.membership] for part in below]
    tree = cKDTree(torch.cat([part.x for part in below]).detach().cpu().numpy())
    _, nearest = tree.query(x.detach().cpu().numpy())
    return torch.cat(rates)[torch.as_tensor(nearest)]
