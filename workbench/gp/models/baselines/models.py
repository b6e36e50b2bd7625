"""The trained baselines of the paper: Nyström, neural network and bag-pixel.

References
----------
Law et al. 2018, section 4 and appendix B.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.gp.data.bags import Source
from workbench.gp.models.base import Model
from workbench.gp.models.baselines.epochs import descend
from workbench.gp.models.baselines.fit import PointFit
from workbench.gp.models.baselines.functions import NetworkFunction, NystromFunction
from workbench.gp.models.baselines.options import (
    BagPixelOptions,
    NetworkOptions,
    NystromOptions,
    PointOptions,
)
from workbench.gp.models.baselines.scores import bag_nll
from workbench.gp.models.baselines.state import PointState
from workbench.gp.models.keeping import Kept
from workbench.gp.optimisation.training import History


class PointModel(Model):
    """A function of the inputs, trained on bags by a penalised likelihood; no posterior.

    y_b ~ Poisson or Normal with mean Σ_i w_i ψ(f(x_i)); f as the model says.

    Parameters
    ----------
    **options
        Fields of the model's options.

    Raises
    ------
    InputError
        On an unknown option, choice or hyperparameter (the nearest is suggested).
    """

    name: str
    summary: str
    paper = "Law et al. 2018, appendix B (baseline)"
    options_type: type[PointOptions]
    function: type
    state_type, fit_type = PointState, PointFit
    stops_early = True

    def fit(self, source: Source, *, early_stop: Source | None = None, progress: bool = False,
            callback=None) -> PointFit:
        """Learn the weights and the free hyperparameters; returns the fit, also when cancelled.

        Parameters
        ----------
        source : Source
            Bags and targets.
        early_stop : Source, optional
            Other bags with targets; training by adam stops when their likelihood no longer
            improves, and the state in which it was best is kept.
        progress : bool
            Show a progress bar.
        callback : callable, optional
            ``callback(step, objective, fraction)`` after each epoch or evaluation; may raise
            `workbench.Cancelled`.
        """
        state = PointState(self, source)
        state.fix_intercept()
        whole = early_stop is None and not state.large
        if whole or not state.hyperparameters.free:
            return PointFit(self, state, state.maximise(progress, callback))
        fit = PointFit(self, state, History())
        criterion = None if early_stop is None else lambda: bag_nll(fit, early_stop).exact
        fit.history = descend(state, criterion, progress=progress, callback=callback)
        return fit

    def _blank(self, source: Source, kept: Kept) -> PointState:
        return PointState(self, source, kept.given)

    def starting_values(self, source: Source) -> dict[str, dict]:
        """As `Model.starting_values`, without weights that `condition` finds."""
        state = PointState(self, source)
        state.fix_intercept()
        return {name: value for name, value in state.hyperparameters.report().items()
                if name not in state.field.inferred}

    def condition(self, source: Source, hyperparameters: Mapping,
                  start: Mapping | None = None) -> PointFit:
        """The predictor with all hyperparameters given and none trained.

        The weights of Nyström features are brought to their optimum, as q of a variational model
        is, unless they are among the hyperparameters too; those of a network have to be.

        Parameters
        ----------
        source, hyperparameters
            As of `Model.condition`.
        start : mapping, optional
            Weights to start from, likewise.

        Raises
        ------
        InputError
            If a hyperparameter has no value; the message lists those missing.
        """
        state = PointState(self, source, hyperparameters)
        state.hyperparameters.fix(hyperparameters)
        state.hyperparameters.require_all(
            {**dict.fromkeys(state.field.inferred), **hyperparameters})
        for name, value in (start or {}).items():
            state.hyperparameters[name].set(value["value"])
        return PointFit(self, state, state.maximise(False, None))


class Nystrom(PointModel):
    """Regression on Nyström features of a kernel, maximum a posteriori: VBAgg without a posterior.

    f(x) = φ(x)ᵀw, φ(x)ᵀφ(x') = K_xW K_WW⁻¹ K_Wx'; lengthscale and variance are learnt.

    Law et al. 2018, section 4 and appendix B.
    """

    name = "nystrom"
    summary = "regression on Nyström features, maximum a posteriori"
    options_type = NystromOptions
    function = NystromFunction


class NeuralNetwork(PointModel):
    """Network with one hidden layer on individuals, trained through the bags' sums.

    f(x) = vᵀ max(0, Ux + b).

    Law et al. 2018, section 4 and appendix B.
    """

    name = "neural-network"
    summary = "network with one hidden layer, penalised likelihood"
    options_type = NetworkOptions
    function = NetworkFunction


class BagPixel(PointModel):
    """Network on the weighted mean inputs of bags; individuals are predicted from their own.

    Within a bag nothing is learnt: the rate of a bag's mean input stands for the bag.

    Law et al. 2018, section 4 (bag-pixel) and appendix B.
    """

    name = "bag-pixel"
    summary = "network on the bags' mean inputs"
    options_type = BagPixelOptions
    function = NetworkFunction
    at_centres = True
