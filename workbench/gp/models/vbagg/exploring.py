"""The posterior of hyperparameters near the best setting: its curvature, skewness and values.

Every setting starts from the best one's q, so that none depends on those looked at before it.

References
----------
Rue, Martino and Chopin 2009, sections 3 and 6.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from workbench.gp.inference.parts import seen_in_learning
from workbench.gp.models.vbagg.proposal import SplitT
from workbench.gp.numerics.linalg import FactorisationError

# Step of the finite differences, and largest scale of a draw, in raw units (e-folds).
_STEP, _WIDEST = 0.1, 3.0
# Where skewness is looked for, and the least scale, in standard deviations by the curvature.
_PROBE, _NARROWEST = 2.0, 0.2
# Decrement of q, in nats, that counts as converged.
_NATS = 0.003


@dataclass(frozen=True)
class Setting:
    """Hyperparameters that were looked at.

    Parameters
    ----------
    value : float
        Objective at the best q plus log prior; minus infinity where it cannot be computed.
    hyperparameters : dict
        All of them by name, in natural units.
    q : (Tensor, Tensor)
        Mean (M,) and covariance (M, M) of the best q.
    """

    value: float
    hyperparameters: dict
    q: tuple[Tensor, Tensor]


class Explorer:
    """The log posterior of the free hyperparameters, in raw coordinates, from a trained state.

    It moves the state's hyperparameters and q; who calls puts them back.

    Parameters
    ----------
    state : VariationalState
        At the best setting.
    step : callable
        Called after every setting that was looked at; what it raises ends the search.
    """

    def __init__(self, state, step: Callable[[], None]):
        self._state, self._step = state, step
        self._best = state.hyperparameters.vector()
        self._q = state.field.q_mean, state.field.q_covariance

    def at(self, vector: np.ndarray) -> Setting:
        """The log posterior and the best q at raw values (d,)."""
        state = self._state
        state.hyperparameters.assign(vector)
        state.restart(*self._q)
        try:
            with torch.no_grad():
                found = state.optimise_q(seen_in_learning(state), nats=_NATS)
                value = float(found.value + state.hyperparameters.log_prior())
        except (FactorisationError, torch.linalg.LinAlgError):
            value = -np.inf
        self._step()
        return Setting(value if np.isfinite(value) else -np.inf, state.hyperparameters.report(),
                       (state.field.q_mean, state.field.q_covariance))

    def proposal(self) -> SplitT:
        """A proposal like the posterior: axes by its curvature, scales by its fall along each."""
        values, vectors = np.linalg.eigh(self._curvature())
        # Directions that data and priors leave open, or that curve upwards, have an end.
        units = 1 / np.sqrt(np.maximum(values, _WIDEST**-2))
        top, axes = self.at(self._best).value, vectors * units
        scales = [[self._scale(top, sign * axis, _WIDEST / unit)
                   for axis, unit in zip(axes.T, units, strict=True)] for sign in (-1, 1)]
        return SplitT(self._best, axes, np.array(scales))

    def _scale(self, top: float, axis: np.ndarray, widest: float) -> float:
        """Standard deviation, in lengths of the axis, of a Gaussian that falls as far on it."""
        distance = _PROBE
        for _ in range(2):
            fall = top - self.at(self._best + distance * axis).value
            scale = distance / np.sqrt(2 * max(fall, 1e-9))
            if scale > distance / _PROBE / 2:
                break
            distance /= 4       # so steep, or without a value: look nearer
        return float(np.clip(scale, _NARROWEST, widest))

    def _curvature(self) -> np.ndarray:
        """Minus the second derivatives at the best setting (d, d), by differences of gradients."""
        here, rows = self._gradient(self._best), []
        for i in range(len(self._best)):
            row = np.zeros_like(here)           # where there is none: as if left open
            for step in (_STEP, -_STEP):
                moved = self._best.copy()
                moved[i] += step
                try:
                    row = (self._gradient(moved) - here) / step
                    break
                except (FactorisationError, torch.linalg.LinAlgError):
                    continue
            rows.append(row)
            self._step()
        return -(np.array(rows) + np.array(rows).T) / 2

    def _gradient(self, vector: np.ndarray) -> np.ndarray:
        state = self._state
        state.hyperparameters.assign(vector)
        state.restart(*self._q)
        for item in state.hyperparameters.free:
            item.raw.grad = None
        state.profile().backward()
        return state.hyperparameters.gradient()
