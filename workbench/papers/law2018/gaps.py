"""How far each named form of E log η is from the truth: chosen Gaussians, brute force beside it.

For tests, benchmarks and notebooks. A regime is a set of bags with a Gaussian distribution of f
whose spread is partly common to a bag and partly the individuals' own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.special import expit, ndtr

from workbench.gp.data.bags import Bags, Columns
from workbench.gp.expectations.table import BOUNDS
from workbench.gp.fields.inducing import Projection
from workbench.gp.fields.projected import ProjectedData
from workbench.gp.fields.residual import Residual
from workbench.gp.kernels.operators import SegmentMean, SegmentSum, blocks

_HELD = 20_000_000      # draws x individuals held at once


@dataclass(frozen=True)
class Regime:
    """Bags with a Gaussian distribution of f of a certain kind.

    Parameters
    ----------
    sizes : tuple of int
        Individuals in each bag.
    common, own : float
        Standard deviation of what a bag's individuals share, and of each one's own.
    weights : float
        Standard deviation of the logarithms of the weights.
    centre : float
        Mean over individuals of the mean of f, around which it varies with sd 0.5.
    """

    sizes: tuple[int, ...]
    common: float
    own: float
    weights: float = 0.5
    centre: float = 1.0


REGIMES = {
    "narrow": Regime((1, 4, 30), 0.1, 0.1),
    "common": Regime((1, 4, 30), 0.5, 0.05),
    "individual": Regime((1, 4, 30), 0.05, 0.5),
    "wide": Regime((1, 4, 30), 0.7, 0.7),
    "heavy weights": Regime((2, 10, 100), 0.3, 0.5, 2.0),
    "very wide": Regime((1, 4, 30), 0.3, 1.2),
    "few individuals": Regime((1, 2, 3), 0.5, 0.7),
}
# Half of the variance common to a bag, half the individuals' own; equal and heavy weights.
SWEEP = {
    f"sd {sd:g}, {weights} weights": Regime(
        (1, 3, 10, 30, 100, 300), sd / 2**0.5, sd / 2**0.5, 2.0 if weights == "heavy" else 0.5)
    for weights in ("even", "heavy") for sd in (0.1, 0.2, 0.5, 1.0, 1.5)
}
_PREVALENCE = -2.0      # centre of the log-odds under the logit link


def explicit_view(sizes: Sequence[int], mean, root, *, weight=None, nugget: float = 0.0,
                  effect: float | None = None, average: bool = False) -> ProjectedData:
    """A view under which q = N(0, I) means f ~ N(mean, root rootᵀ), without any residual.

    Parameters
    ----------
    sizes : sequence of int
        Individuals in each bag.
    mean, root : array (N,), (N, M)
        Distribution of f at the individuals.
    weight : array (N,), optional
        Weights, ones by default.
    nugget, effect : float
        Variance of the nugget, and standard deviation of the area's effect.
    average : bool
        Whether bags are weighted means instead of sums.
    """
    members = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    mean, root = (torch.as_tensor(a, dtype=torch.float64) for a in (mean, root))
    n = len(members)
    weight = torch.ones(n).to(mean) if weight is None else torch.as_tensor(weight).to(mean)
    bags = Bags(torch.zeros(n, 1).to(mean), members, weight, len(sizes), Columns(("none",)))
    none = torch.zeros(n).to(mean)
    pairs = [torch.zeros(*index.shape, index.shape[1]).to(mean) for index, _ in blocks(bags)]
    operator = (SegmentMean if average else SegmentSum)(bags)
    return ProjectedData(Projection(root, none, mean), operator, Residual(bags, none, pairs),
                         torch.tensor(nugget).to(mean),
                         None if effect is None else torch.tensor(effect).to(mean))


def view_of_regime(regime: Regime, link: str, seed: int = 0) -> ProjectedData:
    """Bags and distribution of f of the regime, from a seed; bag means of probabilities."""
    rng, n = np.random.default_rng(seed), sum(regime.sizes)
    weight = np.exp(regime.weights * rng.standard_normal(n))
    shared = np.zeros((n, len(regime.sizes)))
    shared[np.arange(n), np.repeat(np.arange(len(regime.sizes)), regime.sizes)] = regime.common
    probability = link in ("logit", "probit")
    mean = rng.normal(_PREVALENCE if probability else regime.centre, 0.5, n)
    root = np.hstack([shared, regime.own * np.eye(n)])
    return explicit_view(regime.sizes, mean, root, weight=weight, average=probability)


def brute_force(view: ProjectedData, link: str, draws: int, seed: int = 0, nugget: float = 0.0
                ) -> np.ndarray:
    """Independent draws of η of every bag (draws, B), by NumPy and no shared code."""
    rng = np.random.default_rng(seed)
    mean, root = view.projection.offset.numpy(), csr_array(view.projection.features.numpy())
    totals, parts = csr_array(view.operator.dense().numpy()), []
    psi = {"exp": np.exp, "square": np.square, "logit": expit, "probit": ndtr}[link]
    step = max(1, _HELD // root.shape[0])
    for start in range(0, draws, step):
        count = min(step, draws - start)
        f = mean[:, None] + root @ rng.standard_normal((root.shape[1], count))
        if nugget > 0:
            f = f + np.sqrt(nugget) * rng.standard_normal(f.shape)
        parts.append((totals @ psi(f)).T)
    return np.concatenate(parts)


def gaps(regimes: dict[str, Regime], links: Iterable[str] = ("exp", "square", "logit"),
         draws: int = 100_000, seed: int = 0) -> list[dict]:
    """E log η by every bound of the links against brute force, one row per regime, bag and bound.

    Returns
    -------
    list of dict
        ``regime``, ``link``, ``bound``, ``kind``; of the bag ``size``, ``sd`` of f, ``common``
        (the part of its variance that individuals share), ``weights`` (sd of their logarithms) and
        ``effective`` size 1/Σ w² of weights that sum to one; ``truth`` and its Monte Carlo
        ``error``; ``value``; ``gap`` = value - truth, in nats per count; ``variance_ratio`` of
        Var η to brute force; ``seconds`` for all bags of the regime.
    """
    rows = []
    for link in links:
        for name, regime in regimes.items():
            view = view_of_regime(regime, link, seed)
            eta = brute_force(view, link, draws, seed + 1)
            logs = np.log(eta)
            truth, error = logs.mean(0), logs.std(0, ddof=1) / np.sqrt(draws)
            share = view.operator.bags.weight / view.operator.bags.totals[
                view.operator.bags.membership]
            effective = 1 / view.sum(share.square()).numpy()
            variance = regime.common**2 + regime.own**2
            for (of, bound), entry in BOUNDS.items():
                if of != link:
                    continue
                value, spread, seconds = _evaluate(entry, view)
                rows += [{
                    "regime": name, "link": link, "bound": bound, "kind": entry.kind,
                    "size": size, "sd": variance**0.5, "common": regime.common**2 / variance,
                    "weights": regime.weights, "effective": effective[b], "truth": truth[b],
                    "error": error[b], "value": value[b], "gap": value[b] - truth[b],
                    "variance_ratio": spread[b] / eta[:, b].var(), "seconds": seconds,
                } for b, size in enumerate(regime.sizes)]
    return rows


def _evaluate(entry, view: ProjectedData) -> tuple[np.ndarray, np.ndarray, float]:
    width = view.projection.features.shape[1]
    mean, covariance = torch.zeros(width).double(), torch.eye(width).double()
    start = time.perf_counter()
    moments = entry.moments(view, mean, covariance)
    value = moments.log_mean.numpy()
    return value, moments.variance.numpy(), time.perf_counter() - start
