"""Appendix C.4: the quasi-likelihood, whose variance follows f, beside the sample quasi-likelihood.

Of cell j with n observations and l = g⁻¹(ȳ), w = 1/v the information of one observation about f:

likelihood
    n (ȳ - g(u)) w(u) / g'(u) is its slope where it is of an exponential family.
quasi
    n (l - u) w(u): C.4 for the statistic of a cell; V depends on f, so that neither evidence nor
    posterior has a closed form.
sample
    n (l - u) w(l): definition 5.1; V is known, and both have one.

All have their mode at l and the curvature -n w(l) there, which is all that theorem 5.4 uses. Their
third derivatives at l are n (w g''/g' - 2w'), -2n w' and 0: quasi is nearer to the likelihood than
sample where |g''/g'| < |g''/g' - 2w'/w|. For counts under exp these are 1 and |1 - 2| = 1: both are
off by as much, to opposite sides. (Wedderburn's quasi-likelihood of means has the slope
n (ȳ - g(u)) g'(u) / V(g(u)), which for these likelihoods is the likelihood's own.)

The experiment measures the two against the likelihood in full: f is an Ornstein-Uhlenbeck process
at the cells' centres, a Markov chain, whose posterior under any of the three is found on a grid by
forward and backward messages, without any approximation but the grid.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import xarray as xr
from scipy.integrate import cumulative_simpson
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri

from workbench.checks import choose
from workbench.papers.tools.base import Experiment, Row, Settings
from workbench.papers.tools.running import frame

FORMS = ("likelihood", "quasi", "sample")
CASES = ("poisson", "bernoulli")
GRID = np.linspace(-7.0, 7.0, 561)      # of f, in prior standard deviations
CELLS, _CORRELATION = 20, float(np.exp(-0.25))     # neighbours: a quarter of a lengthscale apart


def information(case: str) -> Callable[[np.ndarray], np.ndarray]:
    """w = 1/v of a case: what one observation says of f.

    Parameters
    ----------
    case : {"poisson", "bernoulli"}
        Counts with mean exp f; successes with probability Φ(f).

    Returns
    -------
    callable
        Of f, elementwise.

    Examples
    --------
    >>> float(information("poisson")(0.0)), round(float(information("bernoulli")(0.0)), 4)
    (1.0, 0.6366)
    """
    if choose("case", case, CASES) == "poisson":
        return np.exp
    return lambda f: np.exp(-f**2 - np.log(2 * np.pi) - log_ndtr(f) - log_ndtr(-f))


def log_likelihoods(case: str, events: float, count: int, grid: np.ndarray = GRID) -> dict:
    """The three forms of one cell on a grid of f, each with its maximum, zero, at the mode.

    Parameters
    ----------
    case : {"poisson", "bernoulli"}
    events : float
        Sum of the observations.
    count : int
        Their number.
    grid : ndarray (k,)
        Rising values of f.

    Returns
    -------
    dict
        Arrays (k,) by the names of `FORMS`. Of cells with no event, or of successes only, the two
        quasi-likelihoods take the statistic half an event inside.

    References
    ----------
    Shikuri 2025, definition 5.1 and appendix C.4.

    Examples
    --------
    >>> found = log_likelihoods("poisson", 20, 10)
    >>> [round(float(GRID[found[form].argmax()]), 2) for form in FORMS]     # log 2 = 0.69
    [0.7, 0.7, 0.7]
    """
    w, share = information(case), events / count
    if case == "poisson":
        exact = events * grid - count * np.exp(grid)
        top = events * np.log(share) - events if events else 0.0
        mode = np.log(max(events, 0.5) / count)
    else:
        exact = events * log_ndtr(grid) + (count - events) * log_ndtr(-grid)
        inside = (events + 0.5) / (count + 1) if events in (0, count) else share
        top = sum(part * np.log(part / count) for part in (events, count - events) if part)
        mode = ndtri(inside)
    slope = count * (mode - grid) * w(grid)
    quasi = cumulative_simpson(slope, x=grid, initial=0)
    quasi -= np.interp(mode, grid, quasi)
    return {"likelihood": exact - top, "quasi": quasi,
            "sample": -0.5 * count * w(mode) * (grid - mode) ** 2}


def chain_posterior(log_likelihood: np.ndarray, correlation: float = _CORRELATION,
                    grid: np.ndarray = GRID) -> tuple[float, np.ndarray, np.ndarray]:
    """Evidence and marginals of a stationary Gaussian Markov chain, on a grid.

    Parameters
    ----------
    log_likelihood : ndarray (m, k)
        Of each member of the chain, at the values of the grid.
    correlation : float
        Of neighbours; each member is N(0, 1).
    grid : ndarray (k,)
        Equally spaced values, fine beside √(1 - correlation²).

    Returns
    -------
    tuple
        Log evidence, posterior means (m,) and standard deviations (m,).

    Examples
    --------
    One observation of variance one at 2 halves it:

    >>> found = chain_posterior(-0.5 * (GRID[None] - 2.0) ** 2)
    >>> [round(float(value[0]), 6) for value in found[1:]]
    [1.0, 0.707107]
    """
    step = grid[1] - grid[0]
    spread = 1 - correlation**2
    move = (-0.5 * (grid - correlation * grid[:, None]) ** 2 / spread
            - 0.5 * np.log(2 * np.pi * spread) + np.log(step))     # [from, to]
    kernel = np.exp(move)
    forward = [-0.5 * grid**2 - 0.5 * np.log(2 * np.pi) + np.log(step)]
    for row in log_likelihood[:-1]:
        forward.append(_passed(forward[-1] + row, kernel))
    backward = [np.zeros_like(grid)]
    for row in log_likelihood[:0:-1]:
        backward.append(_passed(backward[-1] + row, kernel.T))
    joint = np.array(forward) + log_likelihood + np.array(backward[::-1])
    evidence = logsumexp(joint[0])
    density = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    mean = density @ grid
    return float(evidence), mean, np.sqrt(density @ grid**2 - mean**2)


def _passed(log_message: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    top = log_message.max()
    return np.log(np.maximum(np.exp(log_message - top) @ kernel, 1e-300)) + top


def _score(settings: Settings) -> Row:
    case, count = settings["case"], settings["per_cell"]
    rng = np.random.default_rng((settings["seed"], count, CASES.index(case)))
    f = np.empty(CELLS)
    f[0] = rng.normal()
    for j in range(1, CELLS):
        f[j] = _CORRELATION * f[j - 1] + np.sqrt(1 - _CORRELATION**2) * rng.normal()
    events = (rng.poisson(count * np.exp(f)) if case == "poisson"
              else rng.binomial(count, ndtr(f)))
    forms = [log_likelihoods(case, float(e), count) for e in events]
    found = {form: chain_posterior(np.stack([one[form] for one in forms])) for form in FORMS}
    exact = found["likelihood"]
    edge = (events == 0) | ((events == count) if case == "bernoulli" else False)
    row = {"at_boundary": float(edge.mean())}
    for form in FORMS:
        evidence, mean, std = found[form]
        row[f"rmse_{form}"] = float(np.sqrt(np.mean((mean - f) ** 2)))
        row[f"cover_{form}"] = float(np.mean(np.abs(mean - f) < 1.959964 * std))
        if form != "likelihood":
            row[f"distance_{form}"] = float(np.sqrt(np.mean((mean - exact[1]) ** 2)))
            row[f"spread_{form}"] = float(np.mean(std / exact[2]))
            row[f"evidence_{form}"] = (evidence - exact[0]) / CELLS
    return row


def _runs(preset: str) -> list[Settings]:
    seeds = range(2 if preset == "quick" else 50)
    return [{"case": case, "per_cell": count, "seed": seed} for case in CASES
            for count in ((20,) if preset == "quick" else (5, 20, 100)) for seed in seeds]


def _table(results: xr.Dataset) -> pd.DataFrame:
    """Mean and standard error over the seeds, by case, observations per cell and form."""
    runs = frame(results)
    groups, parts = runs.groupby(["case", "per_cell"], sort=False), {}
    for form in FORMS[1:]:
        found = {}
        for name in ("distance", "spread", "evidence", "rmse", "cover"):
            column = groups[f"{name}_{form}"]
            found[name], found[f"{name}_error"] = column.mean(), column.sem()
        parts[form] = pd.DataFrame(found)
    return pd.concat(parts, names=["form"]).reorder_levels([1, 2, 0]).sort_index()


FORMS_COMPARED = Experiment(
    "quasi-likelihood-forms", "The quasi-likelihood beside the sample quasi-likelihood",
    "Shikuri 2025, appendix C.4", _runs, _score, _table, {},
    "Twenty cells on a line, f an Ornstein-Uhlenbeck process of variance one whose neighbours "
    "correlate by exp(-1/4), all observations at the centres. distance is the root mean square "
    "between posterior means under a form and under the likelihood, spread the mean ratio of their "
    "standard deviations, evidence the difference of log evidences per cell, each form with "
    "its maximum at zero.")
