"""Granularity beside the lengthscale on a line: bounds of the input error, and the error itself."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pandas as pd
import xarray as xr
from scipy.linalg import cho_factor, cho_solve

from workbench.granularity import input_error_bound, nearest
from workbench.granularity.correlations import gram
from workbench.papers.shikuri2025.kappa import searched_bound, trust_region_kappa
from workbench.papers.tools.base import Experiment, Row, Settings
from workbench.papers.tools.running import frame

KERNELS = ("matern12", "rbf")           # the paper's Laplacian and Gaussian
LENGTHSCALES = (0.1, 1.0, 10.0)
SEARCHED = (2, 5, 10, 15, 20, 25, 30, 35, 40)   # numbers of areas with κ by trust region as well
_NOTES = (
    "Numbers of areas from 2 to 40: the paper's axis is not in its text. Centroids are equally "
    "spaced with both ends, as the inputs are. eta has the exact infimum kappa; eta_search has "
    "kappa as the paper searched for it, in SciPy's present version (the paper: 1.7.3), at "
    f"{', '.join(map(str, SEARCHED))} areas alone, as the search takes seconds. Where the Gaussian "
    "kernel's K_uu is singular to rounding it has a ridge (jitter), which kappa feels. gap is "
    "|Q + constants of Theorem 5.4 - L| in nats: observations are Normal, their log-likelihood is "
    "quadratic in u, and Q + constants is E exactly (identity: the largest difference in any trial "
    "from log N(y; 0, W K_uu W' + I)), so that gap is |E - L|. rmse is between posterior means, "
    "1,000 new inputs drawn in each trial. All numbers of areas share the same 100 trials."
)


@lru_cache(maxsize=2)
def toy(n: int, trials: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inputs (n,), outputs (n, trials) and new inputs (trials, n) of the toy.

    Parameters
    ----------
    n, trials, seed : int
        Outputs are N(sin x, 1) at n equally spaced inputs in [0, 2π], new inputs uniform there.

    References
    ----------
    Shikuri 2025, captions of figures 3 and 4.
    """
    random = np.random.default_rng(seed)
    x = np.linspace(0, 2 * np.pi, n)
    y = np.sin(x)[:, None] + random.normal(size=(n, trials))
    return x, y, random.uniform(0, 2 * np.pi, (trials, n))


def errors(kernel: str, lengthscale: float, areas: int, n: int, trials: int) -> dict:
    """Log evidences and posterior means of every trial, of complete data and of summaries.

    Prior variance and noise variance are one, the mean is zero.

    Parameters
    ----------
    kernel : {"matern12", "rbf"}
    lengthscale : float
    areas, n, trials : int
        Numbers of centroids, of inputs (and of new inputs), and of trials.

    Returns
    -------
    dict
        Arrays (trials,): ``complete`` L, ``summaries`` E by its definition, ``quasi`` Q,
        ``constants`` those of Theorem 5.4; arrays (trials, n) at the new inputs: ``complete_mean``
        and ``summaries_mean`` μ_q.
    """
    x, y, new = toy(n, trials)
    z, w, count = _areas(areas, n)
    means = np.stack([np.bincount(w, column) for column in y.T], 1) / count[:, None]
    prior, noise = gram(z, z, kernel, lengthscale), np.diag(1 / count)
    complete, complete_mean = _complete(kernel, lengthscale, n, trials)
    quasi, weights = _evidence(prior + noise, means)
    # log p(y | W ȳ) + (m/2) log 2π + ½ log|V|
    at_means = -0.5 * (n * np.log(2 * np.pi) + ((y - means[w]) ** 2).sum(0))
    constants = at_means + 0.5 * (areas * np.log(2 * np.pi) - np.log(count).sum())
    return {
        "complete": complete, "complete_mean": complete_mean, "quasi": quasi,
        "constants": constants,
        "summaries": _evidence(prior[np.ix_(w, w)] + np.eye(n), y)[0],
        "summaries_mean": _means(new, z, weights, kernel, lengthscale),
    }


def _areas(areas: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centroids (m,), assignment (n,) and counts (m,)."""
    x, z = np.linspace(0, 2 * np.pi, n), np.linspace(0, 2 * np.pi, areas)
    w = nearest(x, z)
    return z, w, np.bincount(w, minlength=areas).astype(float)


@lru_cache(maxsize=2)
def _complete(kernel: str, lengthscale: float, n: int, trials: int):
    """L and the posterior mean given every single observation."""
    x, y, new = toy(n, trials)
    evidence, weights = _evidence(gram(x, x, kernel, lengthscale) + np.eye(n), y)
    return evidence, _means(new, x, weights, kernel, lengthscale)


def _evidence(covariance: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log N(y; 0, covariance) of every column, and covariance⁻¹ y."""
    root = cho_factor(covariance, lower=True)
    weights = cho_solve(root, y)
    halves = np.log(np.diag(root[0])).sum() + 0.5 * len(y) * np.log(2 * np.pi)
    return -halves - 0.5 * (y * weights).sum(0), weights


def _means(new, inputs, weights, kernel: str, lengthscale: float) -> np.ndarray:
    return np.stack([gram(at, inputs, kernel, lengthscale) @ column
                     for at, column in zip(new, weights.T, strict=True)])


def _score(settings: Settings) -> Row:
    kernel, lengthscale = settings["kernel"], settings["lengthscale"]
    n, areas = settings["n"], settings["areas"]
    x = np.linspace(0, 2 * np.pi, n)
    z, w, _ = _areas(areas, n)
    prior = {"kernel": kernel, "lengthscale": lengthscale}
    exact = input_error_bound(x, z, w, **prior)
    searched = trust_region_kappa(x, z, w, **prior) if areas in SEARCHED else float("nan")
    found = errors(kernel, lengthscale, areas, n, settings["trials"])
    likelihood = found["quasi"] + found["constants"]
    gap = np.abs(likelihood - found["complete"])
    rmse = np.sqrt(((found["summaries_mean"] - found["complete_mean"]) ** 2).mean(1))
    return {
        "kappa": exact.kappa, "eta": exact.bound, "certificate": exact.certificate,
        "direct": exact.direct_certificate, "rms": exact.rms, "jitter": exact.jitter,
        "kappa_search": searched,
        "eta_search": searched_bound(exact, searched) if areas in SEARCHED else float("nan"),
        "gap": gap.mean(), "gap_min": gap.min(), "gap_max": gap.max(),
        "signed_gap": float((likelihood - found["complete"]).mean()),
        "identity": float(np.abs(likelihood - found["summaries"]).max()),
        "rmse": rmse.mean(), "rmse_min": rmse.min(), "rmse_max": rmse.max(),
    }


def _runs(preset: str) -> list[Settings]:
    quick = preset == "quick"
    return [{"kernel": kernel, "lengthscale": lengthscale, "areas": areas,
             "n": 100 if quick else 1000, "trials": 5 if quick else 100}
            for kernel in KERNELS for lengthscale in LENGTHSCALES
            for areas in ((2, 6, 9) if quick else range(2, 41))]


def _table(results: xr.Dataset) -> pd.DataFrame:
    """Figures 3 and 4 at those numbers of areas that have both κ."""
    runs = frame(results).sort_values(["kernel", "lengthscale", "areas"])
    table = runs[runs["areas"].isin(SEARCHED)].set_index(["kernel", "lengthscale", "areas"])
    return table[["kappa", "kappa_search", "eta", "eta_search", "certificate", "direct", "rms",
                  "gap", "rmse"]]


GRANULARITY = Experiment(
    "granularity-toy", "Granularity and lengthscale on a line: bounds and errors",
    "Shikuri 2025, figures 3 and 4", _runs, _score, _table,
    {"figure 3": "eta decreases with finer summarised data and with the lengthscale (no numbers)",
     "figure 4": "errors of evidence and posterior mean largely behave as eta (no numbers)"},
    _NOTES)
