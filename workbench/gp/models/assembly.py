"""What all families of models are put together from: terms, fields, clusters, hyperparameters."""

from __future__ import annotations

from dataclasses import replace

import torch
from gpytorch.kernels import PeriodicKernel
from torch import Tensor

from workbench.checks import choose, require
from workbench.gp.data.bags import Columns, Source
from workbench.gp.data.compression import compress
from workbench.gp.data.inputs import InputTransform
from workbench.gp.fields.inducing import InducingField
from workbench.gp.kernels.grammar import Term, build, inducing_inputs
from workbench.gp.kernels.operators import AggregationOperator
from workbench.gp.kernels.persistent import PERSISTENT
from workbench.gp.likelihoods import Normal
from workbench.gp.likelihoods.links import spread as spread
from workbench.gp.models.casting import cast_source
from workbench.gp.models.options import Options
from workbench.gp.numerics.shapes import Inputs
from workbench.gp.optimisation import priors as prior_module
from workbench.gp.optimisation.hyperparameters import (
    Hyperparameter,
    HyperparameterSet,
    scalar_hyperparameter,
)
from workbench.gp.optimisation.priors import LogNormal, PCLengthscale, PCStd


def per_weight(source: Source, options: Options) -> tuple[Source, bool]:
    """The source as a Normal model sees it: totals of unequal areas share no scale.

    Parameters
    ----------
    source : Source
        As given.
    options : Options
        Its dtype and device are those of the answer.

    Returns
    -------
    source : Source
        Totals of counts divided by their weight; anything else as it is.
    rescaled : bool
        Whether they were divided.
    """
    return cast_source(Normal.observed(source), options), Normal.rescales(source)


def kernel_terms(kernel, columns: Columns, x: Inputs, seed: int, scale: float | None = None
                 ) -> list[Term]:
    """Additive terms of a kernel at their starting values.

    Parameters
    ----------
    kernel : str or gpytorch.kernels.Kernel
        In the grammar of `workbench.gp.kernels.grammar`, or the user's own, which keeps its start.
    columns : Columns
        What the columns of ``x`` are.
    x : Tensor (N, D)
        Standardised inputs, whose distances are the starting lengthscales.
    seed : int
        Of the subsample that these are measured on.
    scale : float, optional
        Unit of f: prior standard deviations start in shares of it. Without one, of one.
    """
    terms = build(kernel, columns, x, seed)
    for term in terms:
        if term.name != "kernel" and scale is not None:
            term.kernel.outputscale = term.kernel.outputscale.detach() * scale**2
    return terms


def inducing_of(terms: list[Term], x: Inputs, count: int, seed: int) -> list[Inputs | None]:
    """Up to ``count`` inducing inputs (M_t, D) of each term among ``x``; None of finite rank."""
    return [None if term.finite_rank else inducing_inputs(term, x, count, seed) for term in terms]


def inducing_field(terms: list[Term], x: Inputs, count: int, seed: int,
                   mean: float | None = None) -> InducingField:
    """A field through inducing inputs among ``x``; arguments as of `inducing_of`.

    ``mean`` is the prior mean it starts at, zero without one.
    """
    field = InducingField(terms, inducing_of(terms, x, count, seed))
    if mean is not None:
        with torch.no_grad():
            field.mean.fill_(mean)
    return field


def clustered(operator: AggregationOperator, x: Inputs, most: int, seed: int = 0
              ) -> AggregationOperator:
    """The operator over clusters of individuals inside bags; their inputs are its ``bags.x``.

    Parameters
    ----------
    operator : AggregationOperator
        From individuals to bags.
    x : Tensor (N, D)
        Standardised inputs of the individuals.
    most : int
        Most clusters in a bag.
    seed : int
        Of the clusters.
    """
    return type(operator)(compress(replace(operator.bags, x=x), most, seed).bags)


def nugget_hyperparameter(nugget: float | str, scale: float, unit: str, like: Tensor,
                          usual: float = 1.0) -> Hyperparameter | None:
    """``nugget.std``, the std of individual white noise in f; None without any.

    Parameters
    ----------
    nugget : float or "learn"
        A number holds it there.
    scale : float
        Unit of f: learning starts at a fifth of it.
    unit : str
        Unit that it is reported in.
    like : Tensor
        Gives dtype and device.
    usual : float
        In units of ``scale``, what it exceeds with a prior probability of 5 %.
    """
    learn = nugget == "learn"
    if not learn and float(nugget) == 0:
        return None
    item = scalar_hyperparameter("nugget.std", 0.2 * scale if learn else float(nugget), unit,
                                 PCStd(usual * scale, 0.05), like)
    item.fixed = not learn
    return item


def variance_of(std: Hyperparameter | None, like: Tensor) -> Tensor:
    """Variance () by its std, zero without one."""
    return torch.zeros(()).to(like) if std is None else std.natural.reshape(()).square()


def kernel_hyperparameters(
    terms: list[Term], transform: InputTransform, extent: Tensor, scale: float
) -> list[Hyperparameter]:
    """Hyperparameters of the terms, with natural units and default priors.

    Lengthscales of coordinates get a penalised-complexity prior, P(ℓ < 5 % of the domain) = 5 %;
    of covariates a log-normal with its median at the initial value and sigma 1. Variances get
    P(std > 3 link units) = 5 %, that of effects of areas 1 instead of 3.
    """
    items = []
    for term in terms:
        for path, raw, constraint in term.kernel.named_parameters_and_constraints():
            if not raw.requires_grad:
                continue
            items.append(_kernel_item(term, path, raw, constraint, transform, extent, scale))
    return items


def _kernel_item(term, path, raw, constraint, transform, extent, scale) -> Hyperparameter:
    leaf = path.rsplit(".", 1)[-1].removeprefix("raw_")
    if leaf == "outputscale" and path == "raw_outputscale":
        largest = scale if term.name == PERSISTENT else 3 * scale
        prior = PCStd(largest, 0.05, of_variance=True)
        return Hyperparameter(f"{term.name}.variance", raw, constraint, "link scale²", 1.0, prior)
    middle = _factor_label(term, path)
    name = f"{term.name}.{middle}{'period' if leaf == 'period_length' else leaf}"
    periodic = isinstance(_module(term, path), PeriodicKernel) and leaf == "lengthscale"
    if periodic or leaf not in ("lengthscale", "period_length"):
        return Hyperparameter(name, raw, constraint, "", 1.0, LogNormal(1.0, 1.0))
    columns = _columns(term, path)
    factor, unit = _natural_scale(columns, raw, transform)
    spatial = set(columns) <= set(transform.columns.coordinates)
    reach = float(extent[list(columns)].square().sum().sqrt())
    if spatial and leaf == "lengthscale" and reach > 0:
        prior = PCLengthscale(0.05 * reach, 0.05, len(columns))
    else:
        # The density looks at entries in their own units, shaped as the raw values are.
        start = (constraint.transform(raw.detach()) * factor).reshape(-1).tolist()
        prior = LogNormal(start[0] if len(start) == 1 else tuple(start), 1.0)
    return Hyperparameter(name, raw, constraint, unit, factor, prior)


def _module(term: Term, path: str):
    module = term.kernel
    for part in path.split(".")[:-1]:
        module = getattr(module, part) if not part.isdigit() else module[int(part)]
    return module


def _columns(term: Term, path: str) -> tuple[int, ...]:
    active = _module(term, path).active_dims
    return term.columns if active is None else tuple(int(c) for c in active)


def _factor_label(term: Term, path: str) -> str:
    """Which factor of a product a parameter belongs to, such as ``rbf.``; empty for one factor.

    A GPyTorch kernel of the user's has no names for its parts: there it is the path to the part.
    """
    parts = path.split(".")[:-1]
    if term.name == "kernel":
        return "".join(f"{part}." for part in parts)
    if "kernels" not in parts:
        return ""
    names, position = term.name.split("_")[0].split("*"), int(parts[parts.index("kernels") + 1])
    nth = names[: position + 1].count(names[position])
    return f"{names[position]}_{nth}." if nth > 1 else f"{names[position]}."


def _natural_scale(columns, raw: Tensor, transform: InputTransform) -> tuple[Tensor | float, str]:
    """Factor and unit from standardised to natural lengthscales."""
    names, units = transform.columns.names, transform.columns.units
    powered = any(transform.powers[c] == transform.powers[c] for c in columns)
    scales = transform.scale[list(columns)]
    common = {units[c] if units else "" for c in columns}
    if raw.numel() == len(columns) and not powered:
        return scales.reshape(raw.shape), ", ".join(
            (units[c] if units and units[c] else names[c]) for c in columns
        ) if len(common) > 1 else next(iter(common))
    if not powered and torch.allclose(scales, scales[0].expand_as(scales)) and len(common) == 1:
        return scales[0], next(iter(common))
    return 1.0, "sd of inputs"


def finish(items: list[Hyperparameter], options: Options) -> HyperparameterSet:
    """Apply the options' priors, starting values and fixed values, in this order."""
    out = HyperparameterSet(items)
    for name, prior in options.priors.items():
        for one in (name, *prior_module.goes_by(prior)):
            choose("hyperparameter", one, [item.name for item in items])
        out[name].prior = (
            prior if hasattr(prior, "log_density") or prior_module.goes_by(prior)
            else prior_module.parse(prior, name))
    for item in items:
        for other in prior_module.goes_by(item.prior):
            require(not prior_module.goes_by(out[other].prior), f"the prior of {item.name} goes by "
                    f"{other}, whose prior itself goes by {prior_module.goes_by(out[other].prior)};"
                    f" give {other} a prior of its own, such as 'pc:1:0.05'")
    for name, value in options.initial.items():
        out[name].set(value["value"] if isinstance(value, dict) else value)
    out.fix(options.hyperparameters)
    return out
