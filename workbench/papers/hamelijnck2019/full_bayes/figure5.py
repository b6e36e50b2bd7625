"""Figure 5 of Hamelijnck et al. 2019: what each likelihood makes of f and of σ₁, fully Bayesian.

Data are those of App. B.1: points of 5 sin²(x) with noise σ₁ = 1, means of consecutive pairs of
the noisy points with noise σ₂ = 0.1. The paper gives neither inputs nor their number; ours are
equally spaced, of the spacing of B.6: 100 on [-2, 15], or the 40 on [3, 10] that are drawn there.

With the noise learnt the product likelihood takes noise for signal: points and their means agree
about the noise, so f interpolates it and σ₁ nearly vanishes. That mode has e³⁴ times the mass of
the one at the truth (Laplace; 40 points, seed 1); at one weight of 1/2 it is not a mode at all. At
weights (1, 1/4) it has a quarter of the mass. Chains of Gibbs jump from one to the other; those of
walks alone, and of NUTS, stay in the mode that they start in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from workbench.checks import choose, reject, require
from workbench.papers.hamelijnck2019.full_bayes import metropolis, nuts
from workbench.papers.hamelijnck2019.full_bayes.chains import Chains
from workbench.papers.hamelijnck2019.full_bayes.problem import Priors, Problem

if TYPE_CHECKING:
    import xarray as xr

# inputs: from, to, how many; of the samplers: chains, steps and burn-in of each
SIZES = {"quick": {"inputs": (3.0, 10.0, 40), "chains": 2, "gibbs": (1000, 800),
                   "nuts": (300, 200)},
         "full": {"inputs": (-2.0, 15.0, 100), "chains": 4, "gibbs": (4000, 2000),
                  "nuts": (1000, 500)}}
SAMPLERS = {"gibbs": metropolis.sample, "nuts": nuts.sample,
            "walks": partial(metropolis.sample, moves={"jump": 0})}
POINT_NOISE, AGGREGATE_NOISE = 1.0, 0.1
TRUE, PRODUCT = "dependent", "product"


@dataclass(frozen=True)
class LatentPosterior:
    """Posterior of f at the inputs under one likelihood: a band of one panel.

    Parameters
    ----------
    mean, sd, low, high : array (N,)
        Mean, standard deviation, 5 % and 95 % quantiles.
    """

    mean: np.ndarray
    sd: np.ndarray
    low: np.ndarray
    high: np.ndarray


@dataclass(frozen=True)
class Figure5:
    """Plain arrays of the four panels, and the chains they are from.

    Parameters
    ----------
    x, truth, points : array (N,)
        Inputs, 5 sin²(x), and y₁.
    aggregates : array (N / 2,)
        y₂; bag j has inputs 2j and 2j + 1.
    latent : mapping of str to LatentPosterior
        Of f: ``dependent`` (the true likelihood), ``product``, and each named weight. The panels
        of f show ``dependent`` beside one of the others.
    point_noise : mapping of str to array
        Draws of σ₁, by the same names: the panel of the noise.
    chains : mapping of str to Chains
        All draws, for diagnostics.
    """

    x: np.ndarray
    truth: np.ndarray
    points: np.ndarray
    aggregates: np.ndarray
    latent: Mapping[str, LatentPosterior]
    point_noise: Mapping[str, np.ndarray]
    chains: Mapping[str, Chains]

    def relative_sd(self, name: str) -> float:
        """Mean over the inputs of sd(f) under a likelihood over that under the true one."""
        return float(np.mean(self.latent[name].sd / self.latent[TRUE].sd))


def pairs(count: int, low: float, high: float, seed: int) -> tuple[np.ndarray, ...]:
    """Inputs (N,), truth (N,), points (N,), aggregates (N / 2,) and operator (N / 2, N) of (50).

    Raises
    ------
    InputError
        If the number of inputs is not even and positive.
    """
    require(count > 0 and count % 2 == 0, f"expected an even number of inputs, got {count}: bags "
            "are pairs")
    rng = np.random.default_rng(seed)
    x = np.linspace(low, high, count)
    truth = 5 * np.sin(x) ** 2
    points = truth + POINT_NOISE * rng.standard_normal(count)
    operator = np.kron(np.eye(count // 2), [[0.5, 0.5]])
    aggregates = operator @ points + AGGREGATE_NOISE * rng.standard_normal(count // 2)
    return x, truth, points, aggregates, operator


def figure5(weights: Mapping[str, float | tuple[float, float]], *, size: str = "quick",
            sampler: str = "gibbs", seed: int = 0) -> Figure5:
    """Sample the posteriors of Figure 5.

    Parameters
    ----------
    weights : mapping of str to float or pair of float
        Composite weights φ by name, one for both sources or one each, such as those of Lyddon et
        al. and of Ribatet et al.; each adds a posterior.
    size : {"quick", "full"}
        40 inputs and short chains, or 100 inputs and long ones.
    sampler : {"gibbs", "nuts", "walks"}
        `metropolis.sample`; `nuts.sample`, which needs the extra ``sampling``; or the first
        without jumps between modes, to show what these are for.
    seed : int
        Of the data and of the chains.

    Raises
    ------
    InputError
        On an unknown size or sampler, a weight out of range, or a name that is taken.

    References
    ----------
    Hamelijnck et al. 2019, App. B.1, B.5 and Figure 5.
    """
    choose("size", size, SIZES)
    choose("sampler", sampler, SAMPLERS)
    for name in (TRUE, PRODUCT):
        if name in weights:
            raise reject("another name for a weight", repr(name), "it is sampled anyway")
    settings = SIZES[size]
    low, high, count = settings["inputs"]
    x, truth, points, aggregates, operator = pairs(count, low, high, seed)
    problems = {name: Problem(x, points, aggregates, operator, likelihood,
                              weights.get(name, 1.0), Priors())
                for name, likelihood in ((TRUE, TRUE), (PRODUCT, PRODUCT),
                                         *((name, "composite") for name in weights))}
    steps, burn_in = settings["nuts" if sampler == "nuts" else "gibbs"]
    chains = {name: SAMPLERS[sampler](problem, steps=steps, burn_in=burn_in,
                                      chains=settings["chains"], seed=seed)
              for name, problem in problems.items()}
    return Figure5(x, truth, points, aggregates,
                   {name: _latent(one.pooled("latent")) for name, one in chains.items()},
                   {name: one.pooled("point_noise") for name, one in chains.items()}, chains)


def _latent(draws: np.ndarray) -> LatentPosterior:
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    return LatentPosterior(draws.mean(0), draws.std(0), low, high)


def relative_sds(stored: xr.Dataset) -> xr.DataArray:
    """Mean over the inputs of sd(f) over that under the true likelihood, of stored posteriors.

    Parameters
    ----------
    stored : xr.Dataset
        Of ``benchmarks/full_bayes.py``, with ``sd`` (..., likelihood, individual).

    Returns
    -------
    xr.DataArray (..., likelihood)
        One where f is as uncertain as it should be, less where it is contracted.
    """
    return (stored["sd"] / stored["sd"].sel(likelihood=TRUE)).mean("individual")
