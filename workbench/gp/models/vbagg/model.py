"""VBAgg: variational learning on aggregate outputs, with overdispersion; and its special cases.

References
----------
Law et al. 2018, Variational Learning on Aggregate Outputs with Gaussian Processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import torch
from torch import Tensor

from workbench.checks import stops
from workbench.gp.data.bags import Source
from workbench.gp.models.base import Model
from workbench.gp.models.keeping import Kept, recall_state
from workbench.gp.models.options import (
    ConstantOptions,
    Options,
    VariationalOptions,
    non_defaults,
)
from workbench.gp.models.vbagg import draws
from workbench.gp.models.vbagg.averaged_fit import AveragedFit
from workbench.gp.models.vbagg.averaging import average
from workbench.gp.models.vbagg.choosing import cancel, settled, unsettled
from workbench.gp.models.vbagg.diagnosis import diagnose
from workbench.gp.models.vbagg.fit import VariationalFit
from workbench.gp.models.vbagg.state import VariationalState
from workbench.gp.optimisation.training import History, scaled_callback

MOST_IMAGINED = 1_000   # inducing inputs of a field that is drawn from the prior


class VBAgg(Model):
    """Gaussian process on individuals, observed through weighted bags, by variational inference.

    f ~ GP(mean, k);  η_b = Σ_i w_i ψ(f(x_i));  y_b ~ Poisson, negative binomial, exponential,
    binomial or Normal.

    Law et al. 2018, sections 2 and 3.
    """

    name = "vbagg"
    summary = "Gaussian process on individuals, variational (VBAgg)"
    paper = "Law et al. 2018"
    options_type: type[Options] = VariationalOptions
    state_type, fit_type = VariationalState, VariationalFit
    imagines = True

    def fit(self, source: Source, *, progress: bool = False, callback=None) -> VariationalFit:
        """As `Model.fit`; then look at whether the fit is any good, and average if asked to."""
        try:
            model = settled(self, source, callback)
        except stops():         # before anything was learnt: the fit ends where it would begin
            model, callback = unsettled(self), cancel
        if model is not self:
            return model.fit(source, progress=progress, callback=callback)
        averaged = bool(self.options.average)       # which takes longer than the search
        searching = scaled_callback(callback, 0, 3) if averaged else callback
        fit = super().fit(source, progress=progress, callback=searching)
        diagnose(fit, source)
        if averaged and fit.state.hyperparameters.free and not fit.history.cancelled:
            return average(fit, progress, scaled_callback(callback, 1, 3, 3))
        return fit

    def condition(self, source: Source, hyperparameters: Mapping) -> VariationalFit:
        """As `Model.condition`; the hyperparameters say which effects there are."""
        model = settled(self, source)
        return model._conditioned(VariationalState(model, source, given=hyperparameters),
                                  hyperparameters)

    def imagine(self, source: Source, values: Mapping, seed: int, posterior: bool = False
                ) -> tuple[Tensor, Tensor]:
        """As `Model.imagine`; a field of the prior is carried by many inducing inputs.

        With at most `MOST_IMAGINED` individuals all of them are inducing inputs, and the field is
        drawn exactly; with more, that many are, and what they leave unexplained is drawn jointly
        inside each bag.
        """
        if posterior:
            known = torch.arange(source.bags.count)
            return draws.imagined(self.condition(source, values), source.bags, seed, known)
        given = non_defaults(self.options)
        if any(one.name == "inducing" for one in fields(self.options)):     # the flat one has none
            given |= {"inducing": min(len(source.bags.x), MOST_IMAGINED), "inducing_inputs": "held"}
        state = VariationalState(type(self)(**given), source, given=values)
        state.hyperparameters.fix(values)
        state.hyperparameters.require_all(values)
        width = len(state.field.q_mean)
        state.field.set_q(torch.zeros(width).to(state.x), torch.eye(width).to(state.x))
        return draws.imagined(VariationalFit(self, state, History()), source.bags, seed)

    def warm_start(self, fit: VariationalFit, values: Mapping) -> VariationalFit:
        """The fit's posterior at other hyperparameters, from its q and with its design.

        For speed q is found on the clusters that hyperparameters are learnt on, where there are,
        and covariances of the training individuals that inducing inputs leave are those of
        clusters.

        Parameters
        ----------
        fit : VariationalFit
            A fit of this model.
        values : mapping
            Every hyperparameter, in natural units.
        """
        state = VariationalState(self, fit.state.given, fit.state.design, values)
        state.hyperparameters.fix(values)
        state.field.set_q(fit.state.field.q_mean, fit.state.field.q_covariance)
        state.recall_clusters(fit.state.learnt())
        return VariationalFit(self, state, state.compute_posterior())

    def recall(self, source: Source, kept: Kept) -> VariationalFit:
        """As `Model.recall`; of a fit averaged over settings all of them."""
        if not kept.parts:
            return super().recall(source, kept)
        best = super().recall(source, kept.parts["best"])
        members = []
        for name, part in kept.parts.items():
            if name != "best":
                state = VariationalState(self, source, best.state.design, best.hyperparameters)
                members.append(VariationalFit(self, state, recall_state(state, part)))
                state.trained_data = None       # of many settings it would take much memory
        weights = kept.tensors["weights"].to(best.state.x)
        return AveragedFit(best, members, weights, **kept.facts)

    def _blank(self, source: Source, kept: Kept) -> VariationalState:
        return VariationalState(self, source, given=kept.given)


class CentrePointGP(VBAgg):
    """Each area as one point at its weighted mean input: the usual short cut, as a baseline."""

    name = "centre-point"
    summary = "Gaussian process on the areas' centres"
    paper = "baseline; Hamelijnck et al. 2019 (CENTER-POINT)"
    at_centres = True


class Constant(VBAgg):
    """One rate everywhere, but for effects of areas: the baseline everything is compared with."""

    name = "constant"
    summary = "one flat rate"
    paper = "baseline"
    options_type = ConstantOptions
