"""Small sources made from a seed, and slow formulas that are obviously right."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from workbench.checks import Cancelled
from workbench.gp.data.bags import Bags, Columns, Source, Targets


def bags(sizes=(3, 5, 1, 4), seed=0, covariates=1, coordinates=True, weights=True) -> Bags:
    """Ragged bags with covariates c0, c1, ... and, if asked, planar coordinates x and y in km."""
    rng = np.random.default_rng(seed)
    membership = np.repeat(np.arange(len(sizes)), sizes)
    n = len(membership)
    # Bags lie side by side, so that a map can be learnt from their totals.
    centre = rng.uniform(0, 100, (len(sizes), 2))[membership]
    spatial = centre + rng.normal(0, 6, (n, 2))
    table = rng.normal(size=(n, covariates)) + 0.02 * spatial[:, :1]
    names = tuple(f"c{i}" for i in range(covariates))
    units, where = ("",) * covariates, ()
    if coordinates:
        table = np.hstack([table, spatial])
        where = (covariates, covariates + 1)
        names, units = (*names, "x", "y"), (*units, "km", "km")
    weight = rng.uniform(0.5, 2.0, n) if weights else np.ones(n)
    return Bags(
        torch.as_tensor(table), torch.as_tensor(membership), torch.as_tensor(weight),
        len(sizes), Columns(names, where, units), tuple(f"b{i}" for i in range(len(sizes))),
    )


def rates(made: Bags) -> np.ndarray:
    """A smooth positive rate of the individuals."""
    x = made.x.numpy()
    return np.exp(1.0 + 0.5 * np.sin(x[:, -2] / 20) + 0.3 * x[:, 0])


def counts(made: Bags, seed=1, scale=10.0) -> Source:
    """Poisson totals of the bags."""
    mean = np.bincount(made.membership.numpy(), made.weight.numpy() * rates(made)) * scale
    value = np.random.default_rng(seed).poisson(mean).astype(float)
    return Source(made, Targets(torch.as_tensor(value)), "sum", "count", "made counts")


def continuous(made: Bags, aggregation="mean", noise=0.1, seed=2, known=None) -> Source:
    """Noisy weighted means or sums of log rates."""
    weight = made.weight.numpy()
    total = np.bincount(made.membership.numpy(), weight * np.log(rates(made)))
    if aggregation == "mean":
        total = total / np.bincount(made.membership.numpy(), weight)
    value = total + noise * np.random.default_rng(seed).normal(size=made.count)
    variance = None if known is None else torch.tensor(known, dtype=torch.float64)
    return Source(made, Targets(torch.as_tensor(value), variance), aggregation, "continuous",
                  "made values")


def take(made: Source, order) -> Source:
    """The source with its individuals in another order, and its bags renumbered to follow them."""
    order = torch.as_tensor(order)
    members = made.bags.membership[order]
    first = torch.unique_consecutive(members)
    position = torch.empty_like(first)
    position[first] = torch.arange(len(first))
    shuffled = Bags(made.bags.x[order], position[members], made.bags.weight[order],
                    made.bags.count, made.bags.columns, tuple(made.bags.names[i] for i in first))
    return Source(shuffled, Targets(made.targets.value[first]), made.aggregation, made.kind)


def cancelling(after: int) -> tuple[list[tuple], Callable]:
    """What a callback was told, (step, objective, fraction), and the callback: so many calls."""
    told = []

    def callback(step, objective, fraction):
        told.append((step, objective, fraction))
        if len(told) == after:
            raise Cancelled

    return told, callback


def values(fit) -> dict:
    """Hyperparameters of a fit, ready to go into `condition`."""
    return fit.hyperparameters
