r"""Weights of models in a mixture, by how well their predictive draws score together.

The CRPS of a mixture is a convex quadratic form in its weights: with
:math:`D_k(z) = F_k(z) - 1\{y \le z\}`,

.. math:: \mathrm{CRPS}\Big(\sum_k w_k F_k, y\Big) = w^\top G w,\qquad
          G_{kl} = \int D_k D_l\,dz
                 = \tfrac12\big(\mathrm{E}|X_k-y| + \mathrm{E}|X_l-y| - \mathrm{E}|X_k-X_l'|\big).

Few groups of units tell the models apart badly, and weights at the least mean score then follow
chance. So weights are shrunk. Minimised is

.. math:: w^\top \bar G w + \frac{c}{n}\,\frac{\operatorname{tr} P J P}{\operatorname{tr} P H P}\,
          \mathrm{KL}(p \,\|\, w),\qquad
          p_k \propto \Big(1 + \frac{t_k^2}{n - 1}\Big)^{-n/4},

with n groups, J the covariance between groups of the gradient of the score at equal weights (that
is, of paired differences between models: their standard errors decide), H its Hessian there, and P
the projection on changes of weights that add up to zero. t_k is the paired t-value of model k
against the best one: p is equal where the groups cannot tell models apart and leaves out what is
certainly bad (it is the root of the likelihood ratio of "as good as the best"; the whole ratio
would use the same scores twice over).

For a quadratic score whose gradient has variance J/n and a prior variance v of each weight, the
penalty of least expected loss has the curvature J/(n H v), and KL has the curvature K at equal
weights. A Dirichlet prior with concentrations 1/K has v = (K - 1)/(2 K^2), whence c = 2 K/(K - 1);
three times that is taken, as weights vary less about p than about equal ones. The multiple and
the root were chosen by out-of-sample loss with 5 to 100 groups: ``benchmarks/stacking.py``.

References
----------
Yao, Vehtari, Simpson and Gelman 2018 (log scores; pseudo-BMA+ weights, which p resembles).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from workbench.checks import require
from workbench.evaluation.scoring import chunks

Score = Callable[[np.ndarray], tuple[float, np.ndarray, np.ndarray]]    # value, slope, curvature


def stack(draws: Sequence[ArrayLike], observed: ArrayLike, groups: ArrayLike | None = None,
          shrink: str | float = "auto", replicates: ArrayLike | None = None) -> np.ndarray:
    """Weights that minimise the mean CRPS of the mixture of predictive draws, with shrinkage.

    Parameters
    ----------
    draws : sequence of array (sample, unit)
        For each model draws from its predictive distributions, on the scale on which they are to
        be scored (square roots of counts, so that large units do not decide alone). Numbers of
        draws may differ.
    observed : array (unit,)
        On the same scale.
    groups : array (unit,), optional
        Units of one group depend on each other; groups do not. By default each unit is its own.
    shrink : "auto" or float
        Strength of the shrinkage as a multiple of the automatic one; 0 for none, infinity for the
        weights p that all are shrunk to.
    replicates : array (unit,), optional
        The grouping that a unit belongs to, where the same areas come back in several groupings
        (levels and draws of coarsen and recover): the number of independent groups is then the
        mean over groupings, not the sum.

    Returns
    -------
    array (model,)
        Zero or more, adding up to 1; equal with fewer than two groups.

    Raises
    ------
    InputError
        If shapes disagree or something is not finite.
    """
    y, pool = _checked(draws, observed)
    forms = np.concatenate([_forms([x[:, part] for x in pool], y[part])
                            for part in chunks(sum(len(x) for x in pool) * len(pool), y.size)])
    mean = forms.mean(0)
    own, slopes = np.diagonal(forms, axis1=1, axis2=2), 2 * forms.mean(2)
    strength, target = _shrinkage(own, slopes, 2 * mean, groups, replicates, shrink)
    return _minimise(lambda w: (w @ mean @ w, 2 * mean @ w, 2 * mean), target, strength)


def cross_scores(draws: Sequence[ArrayLike], observed: ArrayLike) -> np.ndarray:
    """Matrices whose quadratic forms are the CRPS of mixtures.

    Parameters
    ----------
    draws : sequence of array (sample, unit)
        For each model draws from its predictive distributions.
    observed : array (unit,)
        Observed values.

    Returns
    -------
    array (unit, model, model)
        G: ``w @ G[u] @ w`` is the CRPS of the mixture at unit u. On the diagonal stand the models'
        own CRPS, of their draws' empirical distributions.

    Raises
    ------
    InputError
        If shapes disagree or something is not finite.
    """
    y, pool = _checked(draws, observed)
    return _forms(pool, y)


def _checked(draws, observed) -> tuple[np.ndarray, list[np.ndarray]]:
    y = np.asarray(observed, dtype=float)
    pool = [np.asarray(x, dtype=float) for x in draws]
    require(len(pool) > 0, "give the draws of at least one model")
    require(y.ndim == 1 and y.size > 0, f"observed must be (unit,), got shape {y.shape}")
    for k, x in enumerate(pool):
        require(x.ndim == 2 and x.shape[1] == y.size and len(x) > 0, f"draws of model {k} must be "
                f"(sample, {y.size}), got {x.shape}")
        require(bool(np.isfinite(x).all()), f"draws of model {k} are not all finite; leave out "
                "units that a model did not predict, for all models")
    require(bool(np.isfinite(y).all()), "observed values are not all finite")
    return y, pool


def _forms(pool: list[np.ndarray], y: np.ndarray) -> np.ndarray:
    """G of every unit, from one sort of all draws and the observation."""
    points = np.concatenate([*pool, y[None]])
    order = np.argsort(points, axis=0)
    gaps = np.diff(np.take_along_axis(points, order, axis=0), axis=0)
    sizes = [len(x) for x in pool]
    first = np.concatenate([[0], np.cumsum(sizes)])
    step = np.cumsum(order == first[-1], axis=0)[:-1]           # 1 from the observation on
    away = np.stack([np.cumsum((order >= first[k]) & (order < first[k + 1]), axis=0)[:-1] / n - step
                     for k, n in enumerate(sizes)])             # (model, point, unit)
    by_unit = away.transpose(2, 0, 1)
    return (by_unit * gaps.T[:, None]) @ by_unit.transpose(0, 2, 1)


def _shrinkage(scores: np.ndarray, slopes: np.ndarray, hessian: np.ndarray, groups, replicates,
               shrink) -> tuple[float, np.ndarray]:
    """Factor of the KL divergence, and the weights to shrink to.

    Parameters
    ----------
    scores : array (unit, model)
        Of the models by themselves.
    slopes : array (unit, model)
        Of the mixture with equal weights.
    hessian : array (model, model)
    """
    count, models = scores.shape
    even = np.full(models, 1 / models)
    require(shrink == "auto" or (not isinstance(shrink, str | bool) and shrink >= 0),
            f"shrink must be 'auto' or a number of 0 or more, got {shrink!r}")
    times = 1.0 if shrink == "auto" else float(shrink)
    groups = np.arange(count) if groups is None else np.asarray(groups)
    replicates = np.zeros(count, int) if replicates is None else np.asarray(replicates)
    for name, labels in (("groups", groups), ("replicates", replicates)):
        require(labels.shape == (count,), f"{name} must be one per unit ({count}), got "
                f"{labels.shape}")
    if times == 0 or models == 1:
        return 0.0, even
    with np.errstate(invalid="ignore"):         # an infinite score less another
        worse = scores - scores[:, [scores.mean(0).argmin()]]
    parts = [(groups[replicates == r], replicates == r) for r in np.unique(replicates)]
    n = np.mean([np.unique(g).size for g, _ in parts])
    if min(np.unique(g).size for g, _ in parts) < 2:
        return np.inf, even
    noise = np.mean([_variance(slopes[r] - slopes[r].mean(1, keepdims=True), g).sum()
                     for g, r in parts])
    curvature = np.trace(hessian) - hessian.sum() / models
    if curvature <= 0:                          # models that are the same
        return np.inf, even
    variance = np.mean([_variance(worse[r], g) for g, r in parts], axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        t = np.where(variance > 0, worse.mean(0) / np.sqrt(variance / n), 0)
        likely = (1 + t**2 / (n - 1)) ** (-n / 4)
    target = np.maximum(np.where(np.isfinite(t), likely, 0), 1e-3)
    strength = times * 6 * models / (models - 1) * noise / (curvature * n) if noise > 0 else 0.0
    strength = strength if np.isfinite(times) else np.inf
    return strength, target / target.sum()


def _variance(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Variance between groups of their contributions (unit, model) to the mean over units."""
    found, number = np.unique(groups, return_inverse=True)
    with np.errstate(invalid="ignore"):
        centred = values - values.mean(0)
    sums = np.stack([np.bincount(number, weights=column) for column in centred.T], axis=1)
    return ((sums * found.size / len(values)) ** 2).sum(0) / (found.size - 1)


def _minimise(score: Score, target: np.ndarray, strength: float) -> np.ndarray:
    """Least score plus strength * KL(target || w) on the simplex.

    Newton steps along a path of falling strengths (an interior-point method: KL is the barrier);
    without shrinkage the path ends where the score is within 1e-9 of its range of the least.
    """
    w = target
    if w.size == 1 or not np.isfinite(strength):
        return w
    value, slope, _ = score(w)
    scale = max(np.ptp(slope), 1e-9 * abs(value))
    if scale == 0:                              # every weight is as good
        return w
    last = max(strength, 1e-9 * scale, 1e-13 * abs(value))
    for step in np.geomspace(max(last, scale), last, 1 + int(np.ceil(np.log10(
            max(last, scale) / last)))):
        w = _newton(score, w, target, step)
    return np.where(w < 1e-6, 0.0, w) / w[w >= 1e-6].sum() if strength == 0 else w


def _newton(score: Score, w: np.ndarray, target: np.ndarray, strength: float) -> np.ndarray:
    """Damped Newton steps for score(w) - strength * target @ log(w), weights adding up to 1."""
    models = w.size
    system, right = np.zeros((models + 1, models + 1)), np.zeros(models + 1)

    def penalised(w: np.ndarray) -> float:
        return score(w)[0] - strength * (target @ np.log(w))

    now = penalised(w)
    for _ in range(200):
        _, slope, curvature = score(w)
        gradient = slope - strength * target / w
        # In units of w, so that weights near zero do not spoil the condition of the system.
        system[:-1, :-1] = curvature * w[:, None] * w / strength + np.diag(target)
        system[-1, :-1] = system[:-1, -1] = w
        right[:-1] = -gradient * w / strength
        change = w * np.linalg.solve(system, right)[:-1]
        fall = -gradient @ change
        if fall < 1e-8 * strength:
            break
        shrinking = change < 0
        length = min(1.0, 0.99 * (w[shrinking] / -change[shrinking]).min(initial=np.inf))
        while (then := penalised(w + length * change)) > now - 0.1 * length * fall:
            length /= 2
            if length < 1e-12:
                return w
        w, now = w + length * change, then
        w = w / w.sum()
    return w
