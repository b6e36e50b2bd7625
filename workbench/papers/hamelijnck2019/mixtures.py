"""Mixtures of Gaussians for the network's posterior, from several of its optima.

The paper's q(u, v) is a mixture of K Gaussians, eq. (17); its authors' code has K = 1 in every
experiment, and so has `workbench.MRGPRN`. Here the optima of one Gaussian are the components of a
mixture. Expectations of a mixture are weighted sums, so that with L_k the bound of component k

    log p(y) ≥ Σ_k π_k L_k - Σ_k π_k log Σ_l π_l exp(-D_kl),

D being Bhattacharyya's distances: the mixture's entropy is at least that of its components plus the
last term (Kolchinsky and Tracey 2017, with Chernoff's α = 1/2). Of a single Gaussian this is exact.
Jensen's bound, eq. (25) of the paper, whose sign of inequality is reversed in print, is lower where
components hardly meet, by (log(e/2))/2 a dimension; where they overlap it can be the higher. A
component far from all others adds -π log π to the entropy. The mirror image (-W, -f) of a component
brings log 2 and predicts the same, so is left out.

References
----------
Hamelijnck et al. 2019, appendix A. Kolchinsky and Tracey 2017, Estimating mixture entropy with
pairwise distances.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
import xarray as xr
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from workbench.checks import require
from workbench.evaluation.accuracy import rmse
from workbench.evaluation.scoring import crps
from workbench.gp.models.several_sources.gprn_state import GPRNState, Q
from workbench.gp.models.several_sources.updates import optimise_q
from workbench.labelled.several import SourcesFit
from workbench.papers.hamelijnck2019 import sources_scores as scores
from workbench.papers.hamelijnck2019.positive_weights import cases, flat_error, problem
from workbench.papers.tools.base import Experiment, Row, Settings
from workbench.papers.tools.running import frame

STARTS = 12             # searches of other optima
_SAME = 0.1             # distance, in nats, below which two optima are one
_REST = 1e-4            # nats that the last round of a search may gain
_NOTES = (
    "The network of positive-weights with W, on the same data: hyperparameters as one Gaussian "
    f"learns them, then q is sought again from {STARTS} draws of the prior of W and f. 'optima' "
    "are those that differ, mirror images left out; 'next' is how far the second is below the "
    "best, in nats, 'behind' how far the fit itself is, 'gain' what the mixture of all adds to the "
    "bound of the best, 'share' the best one's weight. of_constant and crps as there, of the "
    "best optimum and of the mixture. Several Gaussians about one optimum are not tried. The "
    "authors' code has one Gaussian.")


def distance(one: Q, other: Q) -> float:
    """Bhattacharyya's distance between two q of the same latent functions, in nats.

    Parameters
    ----------
    one, other : list of (Tensor (M,), Tensor (M, M))
        Mean and covariance of each function's whitened features.

    Examples
    --------
    >>> import torch
    >>> here, there = torch.zeros(1), torch.full((1,), 4.0)
    >>> distance([(here, torch.eye(1))], [(there, torch.eye(1))])
    2.0
    """
    total = 0.0
    for (mean, covariance), (mean_other, covariance_other) in zip(one, other, strict=True):
        middle, gap = (covariance + covariance_other) / 2, mean - mean_other
        logs = [torch.logdet(s) for s in (middle, covariance, covariance_other)]
        total += float(gap @ torch.linalg.solve(middle, gap) / 8
                       + (logs[0] - (logs[1] + logs[2]) / 2) / 2)
    return total


def mixed(bounds: np.ndarray, distances: np.ndarray) -> tuple[np.ndarray, float]:
    """The best weights of a mixture, and its bound.

    Parameters
    ----------
    bounds : array (K,)
        Of each component alone, in nats.
    distances : array (K, K)
        Between the components.

    Returns
    -------
    shares : array (K,)
        Weights, which sum to one.
    bound : float
        At least the best of ``bounds``, up to the search's tolerance.

    Examples
    --------
    >>> far = np.array([[0.0, 50.0], [50.0, 0.0]])
    >>> shares, bound = mixed(np.array([-10.0, -10.0]), far)
    >>> shares.round(3).tolist(), round(bound + 10, 3)                # log 2
    ([0.5, 0.5], 0.693)
    """
    def loss(raw: np.ndarray) -> float:
        shares = softmax(raw)
        log_overlap = logsumexp(-distances, b=shares, axis=1)
        return -float(shares @ (bounds - bounds.max() - log_overlap))

    found = minimize(loss, bounds - bounds.max(), method="BFGS")
    return softmax(found.x), float(bounds.max() - found.fun)


def optima(state: GPRNState, starts: int, seed: int = 0) -> list[tuple[float, Q]]:
    """Optima of one Gaussian's bound that differ, the best first.

    Ends of a search that are not at rest, and mirror images, are left out.

    Parameters
    ----------
    state : GPRNState
        Fitted, of one basis function; its hyperparameters are held, and so is its q.
    starts : int
        Searches from draws of the prior; the state's own q is another.
    seed : int
        Of the draws.

    Returns
    -------
    list of (float, Q)
        Bound in nats, and q.

    Raises
    ------
    InputError
        If the network has several basis functions, which can change places, too.
    FactorisationError
        If the precision of a latent function is not positive definite.
    """
    require(state.q_count == 1, f"the network has {state.q_count} basis functions; mirror images "
            "are known of one alone: fit it with latent=1")
    rng, own = np.random.default_rng(seed), state.q
    projections = [state.projections(source) for source in state.full]
    found = [(float(state.evidence()), own)]
    try:
        for _ in range(starts):
            state.q = [(torch.as_tensor(rng.standard_normal(len(mean))).to(mean),
                        0.01 * torch.eye(len(mean)).to(mean)) for mean, _ in own]
            if optimise_q(state, state.full, projections) > _REST:
                continue
            bound = float(state.evidence())
            mirror = [(-mean, covariance) for mean, covariance in state.q]
            if all(min(distance(state.q, q), distance(mirror, q)) > _SAME for _, q in found):
                found.append((bound, list(state.q)))
    finally:
        state.q = own
    return sorted(found, key=lambda one: -one[0])


def _predicted(fit: SourcesFit, target: xr.Dataset, q: Q) -> tuple[np.ndarray, np.ndarray]:
    """Mean (n,) and draws (sample, n) of readings under one component."""
    state = fit.inner.state
    own, state.q = state.q, q
    try:
        return fit.at(target).mean.values, scores.reading_draws(fit, target)
    finally:
        state.q = own


def _score(settings: Settings) -> Row:
    data, target, kernel = problem(settings["case"], settings["seed"])
    fit = scores.fitted("mr-gprn", {"kernel": kernel}, data)
    found = optima(fit.inner.state, STARTS, settings["seed"])
    bounds = np.array([bound for bound, _ in found])
    shares, bound = mixed(bounds, np.array([[distance(one, other) for _, other in found]
                                            for _, one in found]))
    means, draws = zip(*(_predicted(fit, target, q) for _, q in found), strict=True)
    which = np.random.default_rng(settings["seed"]).choice(len(found), len(draws[0]), p=shares)
    pooled = np.stack(draws)[which, np.arange(len(which))]
    observed = target["value"].values
    flat = flat_error(data, observed)
    return {
        "optima": len(found), "gain": float(bound - bounds[0]), "share": float(shares[0]),
        "next": float(bounds[0] - bounds[1]) if len(found) > 1 else np.nan,
        "behind": float(bounds[0] - fit.inner.state.evidence()),
        "of_constant": rmse(observed, means[0]) / flat,
        "of_constant mixture": rmse(observed, shares @ np.stack(means)) / flat,
        "crps": float(crps(observed, draws[0]).mean()),
        "crps mixture": float(crps(observed, pooled).mean())} | scores.learnt(fit)


def _runs(preset: str) -> list[Settings]:
    return [{"case": case, "seed": seed} for case, seed in cases(preset)]


def _table(results: xr.Dataset) -> pd.DataFrame:
    """Means by case, and the mixture less the best optimum with its standard error."""
    runs = frame(results)
    groups = runs.groupby("case", sort=False)
    table = groups[["optima", "next", "gain", "share", "of_constant", "crps", "converged",
                    "seconds"]].mean()
    for score in ("of_constant", "crps"):
        gap = (runs[f"{score} mixture"] - runs[score]).groupby(runs["case"], sort=False)
        table[f"{score}: mixture less one"] = [
            f"{m:+.4f} ± {s:.4f}" for m, s in zip(gap.mean(), gap.sem(), strict=True)]
    table["runs"] = groups.size()
    return table


MIXTURES = Experiment(
    "mixtures", "The network's posterior as one Gaussian or as a mixture of its optima",
    "Hamelijnck et al. 2019, section 3.1 and appendix A", _runs, _score, _table, {}, _NOTES)
