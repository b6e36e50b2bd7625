"""What all models and fits are: options and a name; a model, its state and how it got there."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from workbench.bags import Bags
from workbench.checks import InputError, NotExact
from workbench.models.options import Options, build_options, non_defaults
from workbench.models.preserving import Groups


class Model:
    """A model before it is fitted; keyword arguments are the fields of ``options_type``.

    Raises
    ------
    InputError
        On an unknown option or choice (the nearest is suggested).
    """

    name: str
    summary: str
    paper: str
    options_type: type[Options]
    stops_early = False
    mediated = False        # whether it can learn from targets that belong to no bag
    several = False         # whether it can learn from several sources

    def __init__(self, **options):
        self.options = build_options(self.options_type, options)

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in non_defaults(self.options).items())
        return f"{type(self).__name__}({given})"

    def reduce(self, bags: Bags) -> Bags:
        """The bags as this model sees them."""
        return bags


class ModelFit:
    """A model fitted to a source, at the hyperparameters of its state.

    Parameters
    ----------
    model : Model
        What was fitted.
    state : object
        The model assembled for the source: ``hyperparameters``, ``given`` (the source), and for
        exact models ``evidence()``.
    history : History
        What happened in training.
    """

    def __init__(self, model, state, history):
        self.model, self.state, self.history = model, state, history

    @property
    def hyperparameters(self) -> dict[str, dict]:
        """Values by name in natural units; goes back into ``condition``."""
        return self.state.hyperparameters.report()

    @property
    def objective(self) -> float:
        """The log evidence."""
        with torch.no_grad():
            return float(self.state.evidence())

    def move(self, values: Mapping):
        """The posterior with some hyperparameters at other values and the rest as they are."""
        return self.model.condition(self.state.given, {**self.hyperparameters, **values})

    def draw_latent(self, bags: Bags, samples: int, seed: int) -> Tensor:
        """Joint draws of f at the individuals (samples, N).

        Raises
        ------
        InputError
            If the model has none.
        """
        raise self._no_joint_draws()

    def draw_rates(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint draws of the rate at the individuals (samples, N), see `draw_latent`.

        Effects of ``trained`` bags are conditional on their totals, others' have their prior.
        """
        raise self._no_joint_draws()

    def draw_totals(self, bags: Bags, trained: Tensor | None, samples: int, seed: int) -> Tensor:
        """Joint draws of the parameters of bags (samples, B), see `draw_latent`."""
        raise self._no_joint_draws()

    def preserve(self, bags: Bags, trained: Tensor | None, totals: Tensor, samples: int, seed: int
                 ) -> tuple[Tensor, Tensor]:
        """Expectations and observations of individuals given totals, see `draw_latent`."""
        raise NotExact(f"{self.model.name} has no draws that preserve totals; vbagg, the exact "
                         "models of one source and the baselines have: use preserve_totals=False "
                         "or one of them")

    def preserve_sums(self, bags: Bags, trained: Tensor | None, totals: Tensor, groups: Groups,
                      samples: int, seed: int) -> Tensor:
        """Observations given totals, added up over groups of individuals (samples, G)."""
        return groups.sums(self.preserve(bags, trained, totals, samples, seed)[1])

    def _no_joint_draws(self) -> InputError:
        return InputError(f"{self.model.name} has no joint draws; draws of single places are "
                          "those of sample(..., joint=False)")

    def coefficients(self) -> dict:
        """Weights of linear terms; empty where a field keeps none of its own."""
        return {}
