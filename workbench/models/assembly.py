"""The parts of a variational model put together for one source, with named hyperparameters."""

from __future__ import annotations

import math

import torch
from gpytorch.constraints import Positive
from gpytorch.kernels import PeriodicKernel
from torch import Tensor, nn

from workbench import priors as prior_module
from workbench.bags import Bags, Source
from workbench.checks import InputError, choose
from workbench.hyperparameters import Hyperparameter, HyperparameterSet
from workbench.inputs import InputTransform
from workbench.kernels import Term
from workbench.links import Link
from workbench.models.options import Options
from workbench.priors import LogNormal, PCLengthscale, PCStd


def positive_parameter(value: float, like: Tensor) -> tuple[nn.Parameter, Positive]:
    """A log-parametrised positive scalar and its constraint."""
    constraint = Positive(transform=torch.exp, inv_transform=torch.log)
    return nn.Parameter(torch.tensor([math.log(value)], dtype=torch.float64).to(like)), constraint


def link_scale(link: Link, source: Source) -> float:
    """Size of f that is one unit of *relative* change of the rate; units for default priors.

    One under exp, and under logit, where it is one of the odds; √rate/2 under square (d log f² =
    2 df/f); the spread of the areas' rates, or failing that their size, under identity.
    """
    if link.name in ("exp", "logit"):
        return 1.0
    if link.name == "square":
        return float(source.mean_rate.sqrt()) / 2
    rates = source.as_rates().targets.value
    spread = float(rates.std()) if len(rates) > 1 else 0.0
    return spread or max(float(rates.abs().mean()), 1e-12)


def kernel_hyperparameters(
    terms: list[Term], transform: InputTransform, extent: Tensor, scale: float
) -> list[Hyperparameter]:
    """Hyperparameters of the terms, with natural units and default priors.

    Lengthscales of coordinates get a penalised-complexity prior, P(ℓ < 5 % of the domain) = 5 %;
    of covariates a log-normal with its median at the initial value and sigma 1. Variances get
    P(std > 3 link units) = 5 %.
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
        prior = PCStd(3 * scale, 0.05, of_variance=True)
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


def scalar_hyperparameter(name: str, value: float, unit: str, prior, like: Tensor):
    """A positive scalar hyperparameter on its own, such as ``area.std``."""
    raw, constraint = positive_parameter(value, like)
    return Hyperparameter(name, raw, constraint, unit, 1.0, prior)


def noise_factor(noise: str, bags: Bags, aggregation: str, reference: float) -> Tensor:
    """What σ² is multiplied by to give each bag's observation variance (B,).

    ``reference`` is the mean total weight of the training bags, for ``noise="weight"``.

    References
    ----------
    Law et al. 2018, appendix A and the released code: N_a σ² for sums; σ²/N_a for means.
    """
    if noise == "constant":
        return torch.ones(bags.count).to(bags.weight)
    relative = bags.sizes if noise == "size" else bags.totals / reference
    return relative if aggregation == "sum" else 1 / relative


class NoiseModel:
    """Observation variance of bags under one of the named conventions.

    Parameters
    ----------
    convention : str
        ``constant``, ``size``, ``weight`` or ``known`` (see the options).
    source : Source
        The training source; its values scale the starting value.

    Raises
    ------
    InputError
        If ``known`` but the source gives no variances, or not all are positive.
    """

    def __init__(self, convention: str, source: Source):
        self.convention, self.aggregation = convention, source.aggregation
        self.known, self._names = source.targets.noise_variance, source.bags.names
        self.reference = float(source.bags.totals.mean())
        self.items: list[Hyperparameter] = []
        if convention == "known":
            if self.known is None or not bool((self.known > 0).all()):
                raise InputError(
                    "noise='known' needs a positive noise_variance for every bag in the dataset"
                )
            return
        self.factor = noise_factor(convention, source.bags, self.aggregation, self.reference)
        value = source.targets.value
        spread = value.var() if len(value) > 1 else value.square().mean()
        start = max(float(0.1 * spread / self.factor.median()), 1e-10)
        self.items = [scalar_hyperparameter("noise.variance", start, "value²", None, value)]

    def __call__(self) -> Tensor:
        """Variance of each training bag's observation (B,), differentiable."""
        if self.convention == "known":
            return self.known
        return self.items[0].natural.reshape(()) * self.factor

    def std(self, bags: Bags) -> Tensor:
        """Standard deviation of an observation of each given bag (B,).

        Raises
        ------
        InputError
            If the variances are known ones: those of other bags are not.
        """
        if self.convention == "known":
            if bags.names == self._names and len(self.known) == bags.count:
                return self.known.sqrt()
            raise InputError(
                "noise='known' gives no noise variance for bags outside the training data; "
                "predict the parameter with over() instead of observations"
            )
        factor = noise_factor(self.convention, bags, self.aggregation, self.reference)
        return (self.items[0].natural.detach().reshape(()) * factor).sqrt()


def finish(items: list[Hyperparameter], options: Options) -> HyperparameterSet:
    """Apply the options' priors, starting values and fixed values, in this order."""
    out = HyperparameterSet(items)
    for name, prior in options.priors.items():
        choose("hyperparameter", name, [item.name for item in items])
        out[name].prior = (
            prior if hasattr(prior, "log_density") else prior_module.parse(prior, name))
    for name, value in options.initial.items():
        out[name].set(value["value"] if isinstance(value, dict) else value)
    out.fix(options.hyperparameters)
    return out
