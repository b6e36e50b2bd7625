"""What all models, states and fits are: how a model is assembled for a source, trained, asked."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from workbench.gp.data.bags import Bags, Source
from workbench.gp.models.fits import ModelFit
from workbench.gp.models.keeping import Kept, Recalled, recall_state
from workbench.gp.models.options import Options, build_options, non_defaults
from workbench.gp.numerics.linalg import watched_jitter
from workbench.gp.optimisation import checkpoint
from workbench.gp.optimisation.hyperparameters import HyperparameterSet
from workbench.gp.optimisation.training import History, maximise_evidence


class Model:
    """A model before it is fitted; keyword arguments are the fields of ``options_type``.

    A model is assembled for its data by ``state_type(model, source)``, which has
    ``hyperparameters`` and ``train(progress, callback)``; what is then asked of it, by
    ``fit_type(model, state, history)``.

    Raises
    ------
    InputError
        On an unknown option or choice (the nearest is suggested).
    """

    name: str
    summary: str
    paper: str
    options_type: type[Options]
    state_type: type
    fit_type: type[ModelFit]
    stops_early = False
    mediated = False        # whether it can learn from targets that belong to no bag
    several = False         # whether it can learn from several sources
    imagines = False        # whether fields can be drawn from it, see `imagine`
    at_centres = False      # whether it takes every bag as one individual

    def __init__(self, **options):
        self.options = build_options(self.options_type, options, self.name)

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in non_defaults(self.options).items())
        return f"{type(self).__name__}({given})"

    def reduce(self, bags: Bags) -> Bags:
        """The bags as this model sees them, with ``at_centres`` at their weighted mean inputs."""
        return bags.centres() if self.at_centres else bags

    def fit(self, source: Source, *, progress: bool = False, callback=None) -> ModelFit:
        """Learn the free hyperparameters and the posterior; returns the fit, also when cancelled.

        Parameters
        ----------
        source : Source
            Bags and targets.
        progress : bool
            Show a progress bar.
        callback : callable, optional
            ``callback(step, objective, fraction)``; may raise `workbench.Cancelled`.
        """
        state = self._assemble(source, callback)
        with checkpoint.opened(type(self).__qualname__, repr(self), source):
            history = _trained(state, progress, callback)
        return self.fit_type(self, state, history)

    def condition(self, source: Source, hyperparameters: Mapping) -> ModelFit:
        """The posterior with all hyperparameters given and none trained.

        Parameters
        ----------
        source : Source
            Bags and targets.
        hyperparameters : mapping
            Values by name in natural units, as a fit's ``hyperparameters`` gives them.

        Raises
        ------
        InputError
            If a hyperparameter has no value; the message lists those missing.
        """
        return self._conditioned(self._assemble(source), hyperparameters)

    def hyperparameters(self, source: Source) -> HyperparameterSet:
        """The hyperparameters before anything is learnt: where they start, with their priors.

        Parameters
        ----------
        source : Source
            Bags and targets, by which starts and default priors are scaled.
        """
        return self._assemble(source).hyperparameters

    def starting_values(self, source: Source) -> dict[str, dict]:
        """Where learning starts, as `condition` takes it; no posterior is looked for.

        Parameters
        ----------
        source : Source
            As of `hyperparameters`.
        """
        return self.hyperparameters(source).report()

    def imagine(self, source: Source, values: Mapping, seed: int, posterior: bool = False
                ) -> tuple[Tensor, Tensor]:
        """A field drawn from the model, and what would be observed of it.

        Parameters
        ----------
        source : Source
            Bags; under the prior its targets scale conventions of inputs and noise alone.
        values : mapping
            Every hyperparameter, in natural units.
        seed : int
            Of the draw.
        posterior : bool
            Whether the field is drawn given the targets; otherwise from the prior.

        Returns
        -------
        rates : Tensor (N,)
            True rate of each individual, effects of areas and individuals included.
        observed : Tensor (B,)
            Observations of the bags, as of ``source.targets.value``.

        Raises
        ------
        InputError
            If there are too many individuals for the model.
        """
        raise NotImplementedError

    def recall(self, source: Source, kept: Kept) -> ModelFit:
        """The fit that was kept, without training.

        Parameters
        ----------
        source : Source
            What it was fitted to.
        kept : Kept
            As of `ModelFit.keep`.

        Raises
        ------
        InputError
            If what was kept belongs to another model or other data.
        """
        state = self._blank(source, kept)
        return self.fit_type(self, state, recall_state(state, kept))

    def _blank(self, source: Source, kept: Kept):
        """The state of the model on its data, to be filled with what was kept."""
        return self.state_type(self, source)

    def _assemble(self, source: Source, callback=None):
        """The state of the model on its data, with nothing learnt."""
        return self.state_type(self, source)

    def _conditioned(self, state, given: Mapping) -> ModelFit:
        """The fit of a state at hyperparameters that are all given."""
        state.hyperparameters.fix(given)
        state.hyperparameters.require_all(given)
        return self.fit_type(self, state, _trained(state, False, None))


def _trained(state, progress: bool, callback) -> History:
    """Train a state; where nothing is searched for, jitter anywhere is that of the result."""
    with watched_jitter() as jitter:
        history = state.train(progress, callback)
    if jitter.told and not state.hyperparameters.free and jitter.told not in history.notes:
        history.notes.append(jitter.told)
    return history


class EvidenceState(Recalled):
    """A model assembled for a source, whose posterior has a closed form at its hyperparameters."""

    options: Options
    given: Source
    hyperparameters: HyperparameterSet

    def evidence(self) -> Tensor:
        """The log evidence () at the present hyperparameters, differentiable."""
        raise NotImplementedError

    def compute_posterior(self) -> None:
        """Keep the posterior at the present hyperparameters."""
        raise NotImplementedError

    def recall(self, learnt: Mapping[str, Tensor]) -> None:
        """The posterior follows from the hyperparameters."""
        self.compute_posterior()

    def train(self, progress: bool, callback) -> History:
        """Maximise evidence plus log prior, then keep the posterior."""
        history = maximise_evidence(self.evidence, self.hyperparameters, self.options,
                                    progress=progress, callback=callback)
        self.compute_posterior()
        return history
