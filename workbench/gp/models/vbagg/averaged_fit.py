"""A fit whose predictions are mixtures over settings of the hyperparameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from workbench.gp.data.bags import Bags
from workbench.gp.likelihoods.preserving import Groups
from workbench.gp.models.keeping import Kept
from workbench.gp.models.vbagg.fit import VariationalFit
from workbench.gp.predictive import Mixture, Normal, Predictive


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
    effective_number : float
        How many draws from the posterior the settings are worth.
    tail : float
        k̂ of the largest importance ratios, not a number of fewer than 25 settings: above 0.7 the
        average is not to be trusted.
    """

    def __init__(self, best: VariationalFit, members: list[VariationalFit], weights: Tensor,
                 effective_number: float = float("nan"), tail: float = float("nan")):
        super().__init__(best.model, best.state, best.history)
        self.members, self.weights = members, weights
        self.effective_number, self.tail = effective_number, tail

    def keep(self) -> Kept:
        """What `VBAgg.recall` makes the fit of again: the best setting, and all others."""
        parts = {"best": super().keep()}
        parts |= {str(k): fit.keep() for k, fit in enumerate(self.members)}
        return Kept({"effective_number": float(self.effective_number), "tail": float(self.tail)},
                    {"weights": self.weights.detach().clone()}, parts)

    def with_hyperparameters(self, values: Mapping) -> VariationalFit:
        """The posterior at one setting, no longer averaged over settings; its notes say so."""
        moved = super().with_hyperparameters(values)
        moved.history.notes.append(
            f"predictions are at the one setting moved to, not averaged over {len(self.members)} "
            "settings as those of the fit it was moved from")
        return moved

    def knows_totals(self, trained: Tensor | None) -> bool:
        """Whether effects of some bags can be given their totals in any of the members."""
        return any(fit.knows_totals(trained) for fit in self.members)

    @property
    def keeps_effects(self) -> bool:
        """Whether areas keep effects over periods in any of the members."""
        return any(fit.keeps_effects for fit in self.members)

    def latent(self, bags: Bags) -> Predictive:
        """Distribution of f at the individuals, without nugget and area effect."""
        return self._mix(lambda fit: fit.latent(bags))

    def at(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False
           ) -> Predictive:
        """Distribution of the rate at the individuals; see `VariationalFit.at`."""
        return self._mix(lambda fit: fit.at(bags, trained, area_effect))

    def over(self, bags: Bags, trained: Tensor | None = None, area_effect: bool = False
             ) -> Predictive:
        """Distribution of the bag parameter; see `VariationalFit.over`."""
        return self._mix(lambda fit: fit.over(bags, trained, area_effect))

    def fitted_sum(self, bags: Bags) -> float:
        """The mean over the members of theirs; see `ModelFit.fitted_sum`."""
        return sum(share * fit.fitted_sum(bags)
                   for share, fit in zip(self.weights.tolist(), self.members, strict=True))

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

    def preserve_sums(self, bags: Bags, trained: Tensor | None, totals: Tensor, groups: Groups,
                      samples: int, seed: int) -> Tensor:
        """Sums over groups given the bags' totals; see `VariationalFit.preserve_sums`."""
        return self._draw(samples, seed, lambda fit, count, own: fit.preserve_sums(
            bags, trained, totals, groups, count, own))

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
            predicted = Mixture(self.weights, [Normal(*part[name]) for part in parts])
            out[name] = (predicted.mean, predicted.std)
        return out

    def components(self, bags: Bags, by: str = "term", known: Tensor | None = None
                   ) -> dict[str, Predictive]:
        """Distribution of each summand of f at the individuals; one that a member lacks is zero."""
        parts = [fit.components(bags, by, known) for fit in self.members]
        none = Normal(*torch.zeros(2, len(bags.x)).to(self.state.x))
        names = dict.fromkeys(name for part in parts for name in part)
        return {name: Mixture(self.weights, [part.get(name, none) for part in parts])
                for name in names}

    def prior(self, bags: Bags) -> Predictive:
        """Distribution of f before any total was seen, each setting with its posterior weight."""
        return self._mix(lambda fit: fit.prior(bags))

    def _mix(self, predicted) -> Mixture:
        return Mixture(self.weights, [predicted(fit) for fit in self.members])

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
