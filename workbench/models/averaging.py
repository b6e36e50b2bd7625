"""Predictions averaged over what the data leave open about the hyperparameters.

Totals of areas tell little of a lengthscale, and of how overdispersion splits between areas and
individuals; predictions at the single best setting are then too sure. Here settings are drawn from
a Gaussian around the best one, in raw (logarithmic) coordinates and with the curvature of the
profiled objective, and weighted by importance; predictions are mixtures over them.

References
----------
Rue, Martino and Chopin 2009, section 3 (integration over hyperparameters); Owen 2013, chapter 9
(self-normalised importance sampling).
"""

from __future__ import annotations

import numpy as np
import torch
from scipy.stats import norm, qmc
from torch import Tensor
from tqdm import tqdm

from workbench.bags import Bags
from workbench.interrupt import Cancelled
from workbench.linalg import FactorisationError
from workbench.models.fit import VariationalFit
from workbench.predictive import Mixture, Normal, Predictive

# Steps of the finite differences and largest standard deviation of a draw, in raw units (e-folds).
_STEP, _WIDEST = 0.1, 2.0
_NEGLIGIBLE = 1e-3      # weight below which settings together are left out


class AveragedFit(VariationalFit):
    """A fit whose predictions are averaged over settings of the hyperparameters.

    What is reported of it (hyperparameters, objective, history) is that of the best setting.

    Parameters
    ----------
    best : VariationalFit
        The fit at the best setting.
    members : list of VariationalFit
        Fits at the settings.
    weights : Tensor (members,)
        Their posterior weights, which sum to one.
    """

    def __init__(self, best: VariationalFit, members: list[VariationalFit], weights: Tensor):
        super().__init__(best.model, best.state, best.history)
        self.members, self.weights = members, weights

    def latent(self, bags: Bags) -> Predictive:
        """Law of f at the individuals, without nugget and area effect."""
        return self._mix(lambda fit: fit.latent(bags))

    def at(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False
           ) -> Predictive:
        """Law of the rate at the individuals; see `VariationalFit.at`."""
        return self._mix(lambda fit: fit.at(bags, trained, area_effect))

    def over(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False
             ) -> Predictive:
        """Law of the bag parameter; see `VariationalFit.over`."""
        return self._mix(lambda fit: fit.over(bags, trained, area_effect))

    def draw_latent(self, bags: Bags, samples: int, seed: int) -> Tensor:
        """Joint draws of f, each at one setting (samples, N)."""
        return self._draw(samples, seed, lambda fit, count, own: fit.draw_latent(bags, count, own))

    def draw_rates(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint draws of rates, each at one setting (samples, N)."""
        return self._draw(samples, seed, lambda fit, count, own: fit.draw_rates(
            bags, trained, count, own))

    def draw_totals(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint draws of bag parameters, each at one setting (samples, B)."""
        return self._draw(samples, seed, lambda fit, count, own: fit.draw_totals(
            bags, trained, count, own))

    def simulate_bags(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint posterior predictive observations of bags (samples, B)."""
        return self._draw(samples, seed, lambda fit, count, own: fit.simulate_bags(
            bags, trained, count, own))

    def simulate_individuals(self, bags: Bags, trained: Tensor | None, samples: int, seed: int
                             ) -> Tensor:
        """Joint posterior predictive observations of individuals (samples, N)."""
        return self._draw(samples, seed, lambda fit, count, own: fit.simulate_individuals(
            bags, trained, count, own))

    def preserve(self, bags: Bags, trained: Tensor | None, totals: Tensor, samples: int, seed: int
                 ) -> tuple[Tensor, Tensor]:
        """Draws given the bags' totals; see `VariationalFit.preserve`."""
        both = self._draw(samples, seed, lambda fit, count, own: torch.stack(
            fit.preserve(bags, trained, totals, count, own), 1))
        return both[:, 0], both[:, 1]

    def log_density(self, y: Tensor, bags: Bags, trained: Tensor | None, unit: str, samples: int,
                    seed: int) -> Tensor:
        """Rows of log p(y | setting and draw) whose log mean exp is the log predictive density."""
        parts = [fit.log_density(y, bags, trained, unit, samples, seed) for fit in self.members]
        rows = sum(len(part) for part in parts)
        return torch.cat([part + (weight * rows / len(part)).log()
                          for part, weight in zip(parts, self.weights, strict=True)])

    def coefficients(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Mean and sd of the weights of linear and constant terms, over the settings too."""
        parts, out = [fit.coefficients() for fit in self.members], {}
        for name in parts[0]:
            law = Mixture(self.weights, [Normal(*part[name]) for part in parts])
            out[name] = (law.mean, law.std)
        return out

    def components(self, bags: Bags) -> dict[str, Predictive]:
        """Law of each additive term of f at the individuals, by the term's name."""
        parts = [fit.components(bags) for fit in self.members]
        return {name: Mixture(self.weights, [part[name] for part in parts]) for name in parts[0]}

    def _mix(self, law) -> Mixture:
        return Mixture(self.weights, [law(fit) for fit in self.members])

    def _draw(self, samples: int, seed: int, simulate) -> Tensor:
        """Draws of the members in numbers by their weights, in random order."""
        generator = np.random.default_rng(seed)
        probabilities = self.weights.cpu().double().numpy()
        counts = generator.multinomial(samples, probabilities / probabilities.sum())
        draws = torch.cat([
            simulate(fit, int(count), int(generator.integers(2**31)))
            for fit, count in zip(self.members, counts, strict=True) if count])
        order = torch.as_tensor(generator.permutation(samples), device=draws.device)
        return draws[order]


def average(fit: VariationalFit, progress: bool = False, callback=None) -> VariationalFit:
    """The fit with predictions averaged over ``fit.model.options.average`` settings.

    Parameters
    ----------
    fit : VariationalFit
        A fit with its hyperparameters at their best.
    progress : bool
        Show a progress bar.
    callback : callable, optional
        As in ``fit``; if it raises `Cancelled`, the fit at the best setting is returned.
    """
    state, history, count = fit.state, fit.history, fit.model.options.average
    best, q = state.hyperparameters.vector(), (state.field.q_mean, state.field.q_covariance)
    total = 2 * len(best) + count
    bar = tqdm(total=total, disable=not progress, desc="average", unit="setting")

    def step() -> None:
        bar.update()
        if callback is not None:
            callback(len(history.objective), history.objective[-1], bar.n / total)

    try:
        top = _profile(state, best)[0]
        spread = _spread(state, best, step)
        drawn = _points(len(best), count, fit.model.options.seed)
        members, logs = [], []
        for z in drawn:
            value, found = _setting(fit, best + spread @ z)
            members.append(found)
            logs.append(value - top + 0.5 * float(z @ z))
            step()
    except (Cancelled, KeyboardInterrupt):
        history.notes.append("averaging over hyperparameters was cancelled; the best setting alone")
        history.cancelled = True
        return fit
    finally:
        bar.close()
        state.hyperparameters.assign(best)
        state.field.set_q(*q)
    return _averaged(fit, members, np.array(logs))


def _averaged(fit: VariationalFit, members: list, logs: np.ndarray) -> AveragedFit:
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    order = np.argsort(weights)[::-1]
    kept = order[: int(np.searchsorted(np.cumsum(weights[order]), 1 - _NEGLIGIBLE)) + 1]
    size = 1 / float(np.square(weights).sum())
    fit.history.notes.append(
        f"predictions are averaged over {len(kept)} settings of the hyperparameters "
        f"(of {len(logs)} drawn; effective number {size:.1f})")
    chosen = torch.as_tensor(weights[kept] / weights[kept].sum()).to(fit.state.x)
    return AveragedFit(fit, [members[i] for i in kept], chosen)


def _profile(state, vector: np.ndarray) -> tuple[float, np.ndarray]:
    """Objective plus log prior at raw values of the hyperparameters, at the best q; gradient."""
    state.hyperparameters.assign(vector)
    for item in state.hyperparameters.free:
        item.raw.grad = None
    value = state.profile()
    value.backward()
    return float(value.detach()), state.hyperparameters.gradient()


def _spread(state, best: np.ndarray, step) -> np.ndarray:
    """Root of the covariance of a Gaussian at the best setting, by differences of gradients."""
    rows = []
    for i in range(len(best)):
        ends = []
        for sign in (1, -1):
            moved = best.copy()
            moved[i] += sign * _STEP
            ends.append(_profile(state, moved)[1])
            step()
        rows.append((ends[0] - ends[1]) / (2 * _STEP))
    curvature = -(np.array(rows) + np.array(rows).T) / 2
    values, vectors = np.linalg.eigh(curvature)
    # Directions that the data and the priors leave open are explored this far and no farther.
    return vectors / np.sqrt(np.maximum(values, _WIDEST**-2))


def _points(dimension: int, count: int, seed: int) -> np.ndarray:
    """Standard normal points that fill the space evenly."""
    uniform = qmc.Sobol(dimension, seed=seed).random_base2(int(np.ceil(np.log2(max(count, 2)))))
    return norm.ppf(np.clip(uniform[:count], 1e-9, 1 - 1e-9))


def _setting(fit: VariationalFit, vector: np.ndarray) -> tuple[float, VariationalFit | None]:
    """Log posterior and fit at one setting; minus infinity where it cannot be computed."""
    state = fit.state
    try:
        value = _profile(state, vector)[0]
    except FactorisationError:
        return float("-inf"), None
    return value, fit.model.near(fit, state.hyperparameters.report())
