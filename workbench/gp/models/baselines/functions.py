"""What f is: a weighted sum of Nyström features, or a network with one hidden layer.

A function knows its parameters as named hyperparameters (`items`), which of them are inferred at
given hyperparameters (`inferred`, by name), those that the weight penalty acts on (`weights`), and
which columns it looks at (`terms`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from workbench.gp.data.bags import Columns
from workbench.gp.kernels.grammar import JointTerm
from workbench.gp.models.assembly import inducing_field, kernel_hyperparameters, kernel_terms
from workbench.gp.numerics.linalg import cholesky
from workbench.gp.numerics.shapes import Inputs, PerIndividual
from workbench.gp.optimisation.hyperparameters import Hyperparameter


class NystromFunction:
    """f(x) = mean + φ(x)ᵀw with the whitened features φ of a kernel at landmarks W.

    φ(x)ᵀφ(x') = K_xW K_WW⁻¹ K_Wx', so that w ~ N(0, I) is the prior of the Gaussian process seen
    through its landmarks, which are those of `workbench.gp.models.vbagg.model.VBAgg` at the same
    seed.

    Deviation: φ = K_xW L⁻ᵀ with the Cholesky root K_WW = LLᵀ (and its small jitter) instead of
    K_xW K_WW^(-1/2). The two differ by a rotation of w, which no penalty here sees.

    Parameters
    ----------
    state : PointState
        The source, options and transform it is for.
    generator : torch.Generator
        Source of the initial weights.

    References
    ----------
    Law et al. 2018, section 4 and appendix B.
    """

    penalty_per_bag = True
    inferred = ("weights",)

    def __init__(self, state, generator: torch.Generator):
        options, bags = state.options, state.source.bags
        individuals = state.transform(bags.x)
        terms = kernel_terms(options.kernel, bags.columns, individuals, options.seed, state.scale)
        joint = options.layout == "joint" and len(terms) > 1
        blocks = [JointTerm(terms)] if joint else terms
        self.features = inducing_field(blocks, individuals, options.inducing, options.seed)
        self.mean = self.features.mean
        width = len(self.features.q_mean)
        self.weight = he_normal((width,), width, generator, individuals)
        self.weights = [self.weight]
        extent = bags.x.amax(0) - bags.x.amin(0)
        self.items = [
            *kernel_hyperparameters(terms, state.transform, extent, state.scale),
            Hyperparameter("weights", self.weight, None, "prior sd"),
        ]

    @property
    def terms(self):
        """Additive terms of the kernel."""
        return self.features.terms

    def __call__(self, x: Inputs) -> PerIndividual:
        """f at standardised inputs (N,)."""
        f = self.mean.expand(len(x))
        for term, z, (start, stop) in zip(
                self.terms, self.features.inducing, self.features.blocks().values(), strict=True):
            w = self.weight[start:stop]
            if z is None:
                f = f + term.basis(x) @ w
                continue
            # φ(x)ᵀw = K_xW (L⁻ᵀw): only the weights are solved for, never the features.
            root = cholesky(term(z, z), f"landmark covariance of {term.name}")
            values = torch.linalg.solve_triangular(root.mT, w[:, None], upper=True)
            f = f + (term(x, z) @ values)[:, 0]
        return f


@dataclass(frozen=True)
class InputGroup:
    """The columns that a function without a kernel looks at."""

    name: str
    columns: tuple[int, ...]


class NetworkFunction:
    """f(x) = mean + scale vᵀ max(0, Ux + b): one hidden layer, no bias at the output.

    ``scale`` is the size of f that changes the rate by one part in one (`Link.scale`): one under
    exp. Weights start he-normal, biases at zero. Parameters are as of `NystromFunction`.

    References
    ----------
    Law et al. 2018, appendix B; He et al. 2015, Delving deep into rectifiers.
    """

    penalty_per_bag = False
    inferred = ()

    def __init__(self, state, generator: torch.Generator):
        columns: Columns = state.source.bags.columns
        x, hidden, width = state.x, state.options.hidden, len(columns.names)
        self.scale = state.scale
        self.mean = nn.Parameter(torch.zeros(1).to(x))
        self.inner = he_normal((hidden, width), width, generator, x)
        self.bias = nn.Parameter(torch.zeros(hidden).to(x))
        self.outer = he_normal((hidden,), hidden, generator, x)
        self.weights = [self.inner, self.bias, self.outer]
        self.terms = [InputGroup("network", tuple(range(width)))]
        self.items = [
            Hyperparameter("hidden.weight", self.inner, None, "1 / sd of inputs"),
            Hyperparameter("hidden.bias", self.bias),
            Hyperparameter("output.weight", self.outer, None, "", self.scale),
        ]

    def __call__(self, x: Inputs) -> PerIndividual:
        """f at standardised inputs (N,)."""
        return self.mean + self.scale * (torch.relu(x @ self.inner.mT + self.bias) @ self.outer)


def he_normal(shape: tuple[int, ...], fan_in: int, generator: torch.Generator, like: Tensor
              ) -> nn.Parameter:
    """Normal weights with variance 2 / fan_in."""
    draws = torch.randn(shape, generator=generator, dtype=torch.float64)
    return nn.Parameter((math.sqrt(2 / fan_in) * draws).to(like))
