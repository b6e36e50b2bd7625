"""Kernels by name: a small grammar over GPyTorch's kernels, as a list of additive terms.

``"linear+matern32"``, ``"ard-rbf(covariates)+matern32(coordinates)"``, ``"rbf*periodic(month)"``.
A single kernel acts on all inputs. In a sum or product ``linear`` and ``rbf`` act on the covariates
and the others on the coordinates; on data that lack that group, on all inputs. A group or a column
in parentheses overrides this: ``matern32(place)*matern12(time)`` is a field over place that
changes with the column ``time`` (place and coordinates are one group). ``ard-`` gives every column
its own lengthscale.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import gpytorch
import numpy as np
import torch
from gpytorch.constraints import Positive
from torch import Tensor, nn

from workbench.checks import InputError, choose
from workbench.gp.data.bags import Columns
from workbench.gp.kernels.parts import Matern, Product, Scaled, alone, dense
from workbench.gp.numerics.recent import ResultCache
from workbench.gp.numerics.shapes import Inputs

KERNELS = {
    "constant": "the same value everywhere: a random intercept",
    "linear": "linear regression, its slopes Gaussian",
    "rbf": "squared exponential: very smooth",
    "matern12": "Matérn 1/2 (exponential): rough",
    "matern32": "Matérn 3/2",
    "matern52": "Matérn 5/2",
    "rq": "rational quadratic: a mixture of lengthscales",
    "periodic": "periodic along its columns",
}
ALIASES = {
    "malaria": "ard-rbf(covariates)+ard-matern32(coordinates)",
    "space-time": "linear+matern32(place)+matern32(place)*matern12(time)",
}
_COVARIATE_TERMS = ("linear", "rbf")
_FACTOR = re.compile(r"^(ard-)?([a-z0-9]+)(?:\(([^()]+)\))?$")

_RECENT = ResultCache(16)    # inducing inputs
_ENOUGH = 100_000            # distinct rows that inducing inputs are sought among


@dataclass
class Factor:
    """One parsed kernel name: ``ard-rbf(covariates)``."""

    name: str
    ard: bool
    columns: tuple[int, ...]


class Term(nn.Module):
    """One additive term of a kernel: variance x product of kernels on some columns.

    ``finite_rank`` is true for linear and constant terms, whose functions have finitely many
    weights: an inducing field represents these exactly by the weights themselves.
    """

    def __init__(self, name: str, kernel: gpytorch.kernels.Kernel, columns: tuple[int, ...],
                 finite_rank: bool = False):
        super().__init__()
        self.name, self.kernel, self.columns = name, kernel, columns
        self.finite_rank, self.width = finite_rank, None

    @property
    def has_basis(self) -> bool:
        """Whether the kernel is that of the features of `basis`."""
        return self.finite_rank

    def forward(self, x1: Inputs, x2: Inputs) -> Tensor:
        """Dense kernel matrix between standardised inputs, (..., n, m)."""
        if isinstance(self.kernel, Scaled):
            return dense(self.kernel, x1, x2)
        with alone(self.kernel):
            return self.kernel(*self._own(x1, x2)).to_dense()

    def between(self, x1: Inputs, x2: Inputs) -> Tensor:
        """Prior covariance of each input with its partner in the other set (n,)."""
        with alone(self.kernel):
            return self.kernel(*self._own(x1, x2), diag=True)

    def _own(self, *inputs: Inputs) -> tuple[Inputs, ...]:
        """Inputs without the numbers of areas, of which a user's kernel knows nothing."""
        return inputs if self.width is None else tuple(x[..., :self.width] for x in inputs)

    def diagonal(self, x: Inputs) -> Tensor:
        """Prior variance at each input (n,)."""
        return self.between(x, x)

    def basis(self, x: Inputs) -> Tensor:
        """Features φ with k(x, x') = φ(x)ᵀφ(x') of a term of finite rank, (n, rank)."""
        root = self.kernel.outputscale.sqrt()
        if self.name.startswith("constant"):
            return root * torch.ones(len(x), 1).to(x)
        return root * x[:, list(self.columns)]


class JointTerm(Term):
    """Several terms behind one set of inducing inputs, as in the paper."""

    def __init__(self, parts: list[Term]):
        columns = tuple(sorted({c for part in parts for c in part.columns}))
        super().__init__("+".join(part.name for part in parts), None, columns)
        self.parts = nn.ModuleList(parts)

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Sum of the parts' kernel matrices."""
        return sum(part(x1, x2) for part in self.parts)

    def between(self, x1: Tensor, x2: Tensor) -> Tensor:
        """Sum of the parts' covariances."""
        return sum(part.between(x1, x2) for part in self.parts)


def written(text: str) -> list[list[tuple[str, bool, str | None]]]:
    """Name, ard and group of each factor of each term: what can be said without columns.

    Raises
    ------
    InputError
        On an unknown name (the nearest is suggested), or ard- without lengthscales.
    """
    text = ALIASES.get(text, text).replace(" ", "")
    return [[_split(part) for part in term.split("*")] for term in text.split("+")]


def parse(text: str, columns: Columns) -> list[list[Factor]]:
    """Terms of factors named in ``text``, with the columns each acts on.

    Raises
    ------
    InputError
        On an unknown name (the nearest is suggested), an empty group, or ard- without lengthscales.
    """
    read = written(text)
    several = sum(name != "constant" for term in read for name, _, _ in term) > 1
    return [[Factor(name, ard, _columns_of(name, group, several, columns))
             for name, ard, group in term] for term in read]


def build(kernel: str | gpytorch.kernels.Kernel, columns: Columns, x: Inputs,
          seed: int = 0) -> list[Term]:
    """Terms with initial lengthscales at the median distance of standardised inputs ``x``.

    Parameters
    ----------
    kernel : str or gpytorch.kernels.Kernel
        A kernel in this module's grammar, or a GPyTorch kernel, which becomes a single term on
        standardised inputs (deep-copied, so that two fits never share parameters).
    columns : Columns
        Names and groups of the input columns.
    x : Tensor (N, D)
        Standardised training inputs.
    seed : int
        Seed of the subsample that the median distance is taken on.
    """
    if isinstance(kernel, gpytorch.kernels.Kernel):
        import copy

        width = len(columns.names)
        term = Term("kernel", copy.deepcopy(kernel).to(x), tuple(range(width)))
        term.width = width
        return [term]
    terms, used = [], {}
    parsed = parse(kernel, columns)
    for factors in parsed:
        name = "*".join(f.name for f in factors)
        used[name] = used.get(name, 0) + 1
        label = name if used[name] == 1 else f"{name}_{used[name]}"
        product = [_base(f, x, seed) for f in factors]
        base = product[0] if len(product) == 1 else Product(*product)
        scaled = Scaled(base, outputscale_constraint=positive())
        where = tuple(sorted({c for f in factors for c in f.columns}))
        # All terms start with the same share of a prior variance of f of one; a linear kernel has
        # that of one column in each of its columns.
        slopes = len(where) if any(f.name == "linear" for f in factors) else 1
        scaled.outputscale = 1.0 / (len(parsed) * slopes)
        finite_rank = len(factors) == 1 and factors[0].name in ("linear", "constant")
        terms.append(Term(label, scaled.to(x), where, finite_rank))
    return terms


def inducing_inputs(term: Term, x: Inputs, count: int, seed: int = 0) -> Inputs:
    """Up to ``count`` k-means++ seeds among the distinct rows of the term's columns.

    Of hundreds of thousands they are sought among a random part. Other columns are set to their
    mean, zero in standardised units: the term ignores them.

    References
    ----------
    Law et al. 2018, section 4: landmarks by k-means++ seeding, without Lloyd iterations.
    """
    table = x[:, list(term.columns)].detach()
    distinct = _RECENT.get(lambda: _spread_out(table, count, seed), table, count, seed)
    out = torch.zeros(len(distinct), x.shape[1]).to(x)
    out[:, list(term.columns)] = distinct.to(x)
    return out


def _spread_out(table: Inputs, count: int, seed: int) -> Inputs:
    from sklearn.cluster import kmeans_plusplus

    distinct = np.unique(table.cpu().numpy(), axis=0)
    if len(distinct) > _ENOUGH:
        distinct = np.random.default_rng(seed).choice(distinct, _ENOUGH, replace=False)
    if len(distinct) > count:
        distinct, _ = kmeans_plusplus(distinct, count, random_state=seed)
    return torch.as_tensor(distinct)


def median_distance(x: Inputs, seed: int = 0) -> float:
    """sqrt(median of squared distances / 2) of 1,000 of x: the usual initial lengthscale."""
    generator = torch.Generator().manual_seed(seed)
    index = torch.randperm(len(x), generator=generator)[:1000].to(x.device)
    squared = torch.pdist(x[index]).square()
    squared = squared[squared > 0]
    return float((squared.median() / 2).sqrt()) if len(squared) else 1.0


def _split(text: str) -> tuple[str, bool, str | None]:
    match = _FACTOR.match(text)
    if match is None:
        raise InputError(
            f"kernel part {text!r} is not understood; write NAME, ard-NAME or NAME(group), "
            f"joined by + and *, with NAME one of {', '.join(KERNELS)}"
        )
    ard, name, group = match.groups()
    if choose("kernel", name, KERNELS) in ("constant", "linear") and ard:
        raise InputError(f"{text!r}: a {name} kernel has no lengthscales for ard-; write {name!r}")
    return name, bool(ard), group


def _columns_of(name: str, group: str | None, several: bool, columns: Columns) -> tuple[int, ...]:
    if name == "constant":
        return ()
    if group is not None:
        found = columns.group(group)
        if not found:
            raise InputError(f"{name}({group}): the data have no {group}; choose another group")
        return found
    wanted = "all"
    if several:
        wanted = "covariates" if name in _COVARIATE_TERMS else "coordinates"
    return columns.group(wanted) or columns.group("all")


def positive() -> Positive:
    """The constraint of lengthscales and variances: raw values are logarithms."""
    # The exponential keeps natural-scale gradients proportional to the value: lengthscales and
    # variances span orders of magnitude, on which softplus makes L-BFGS slow.
    return Positive(transform=torch.exp, inv_transform=torch.log)


def _base(factor: Factor, x: Inputs, seed: int) -> gpytorch.kernels.Kernel:
    if factor.name == "constant":
        kernel = gpytorch.kernels.ConstantKernel().to(x)
        kernel.constant = torch.ones(1).to(x)
        return _frozen(kernel)
    common = dict(active_dims=factor.columns)
    if factor.name == "linear":
        # In the inputs' dtype before its variance is set: single precision misses one by 1e-9.
        kernel = gpytorch.kernels.LinearKernel(**common).to(x)
        kernel.variance = 1.0
        return _frozen(kernel)
    if factor.ard:
        common["ard_num_dims"] = len(factor.columns)
    common["lengthscale_constraint"] = positive()
    if factor.name.startswith("matern"):
        kernel = Matern(nu=int(factor.name[-2]) / 2, **common)
    elif factor.name == "rq":
        kernel = gpytorch.kernels.RQKernel(alpha_constraint=positive(), **common)
    elif factor.name == "periodic":
        kernel = gpytorch.kernels.PeriodicKernel(period_length_constraint=positive(), **common)
    else:
        kernel = gpytorch.kernels.RBFKernel(**common)
    kernel = kernel.to(x)
    # Inside the sine of a periodic kernel distances have no unit.
    kernel.lengthscale = 1.0 if factor.name == "periodic" else (
        median_distance(x[:, list(factor.columns)], seed))
    return kernel


def _frozen(kernel: gpytorch.kernels.Kernel) -> gpytorch.kernels.Kernel:
    """Hold a kernel's own variance: the term's variance is the one that is learnt."""
    for parameter in kernel.parameters():
        parameter.requires_grad_(False)
    return kernel
