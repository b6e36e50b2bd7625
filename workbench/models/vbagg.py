"""VBAgg: variational learning on aggregate outputs, with overdispersion; and its special cases.

References
----------
Law et al. 2018, Variational Learning on Aggregate Outputs with Gaussian Processes.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from workbench.bags import Bags, Source
from workbench.models.averaging import average
from workbench.models.base import Model
from workbench.models.diagnosis import diagnose
from workbench.models.fit import VariationalFit
from workbench.models.options import (
    ConstantOptions,
    Options,
    VariationalOptions,
)
from workbench.models.state import VariationalState
from workbench.training import History


class VBAgg(Model):
    """Gaussian process on individuals, observed through weighted bags, by variational inference.

    f ~ GP(mean, k);  η_b = Σ_i w_i ψ(f(x_i));  y_b ~ Poisson, negative binomial or Normal.

    Parameters
    ----------
    **options
        Fields of `VariationalOptions`.

    Raises
    ------
    InputError
        On an unknown option, choice, kernel or hyperparameter (the nearest is suggested).

    References
    ----------
    Law et al. 2018, sections 2 and 3.
    """

    name = "vbagg"
    summary = "Gaussian process on individuals, variational (VBAgg)"
    paper = "Law et al. 2018"
    options_type: type[Options] = VariationalOptions

    def fit(self, source: Source, *, progress: bool = False, callback=None) -> VariationalFit:
        """Learn the free hyperparameters and q; returns the fit, also when cancelled.

        Parameters
        ----------
        source : Source
            Bags and targets.
        progress : bool
            Show a progress bar.
        callback : callable, optional
            ``callback(step, objective, fraction)``; may raise `workbench.interrupt.Cancelled`.
        """
        fit = self.trained(source, progress, callback)
        diagnose(fit, source)
        if self.options.average and fit.state.hyperparameters.free and not fit.history.cancelled:
            return average(fit, progress, callback)
        return fit

    def condition(self, source: Source, hyperparameters: Mapping) -> VariationalFit:
        """Bring q to its optimum with all hyperparameters given and none trained.

        Raises
        ------
        InputError
            If a hyperparameter has no value; the message lists those missing.
        """
        state = VariationalState(self, source, given=hyperparameters)
        state.hyperparameters.fix(hyperparameters)
        state.hyperparameters.require_all(hyperparameters)
        return VariationalFit(self, state, state.train(False, None))

    def near(self, fit: VariationalFit, values: Mapping) -> VariationalFit:
        """The fit's posterior at other hyperparameters, from its q and with its design.

        For speed q is found on the clusters that hyperparameters are learnt on, where there are.

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
        return VariationalFit(self, state, state.settle())

    def restored(self, source: Source, values: Mapping, q: tuple[Tensor, Tensor],
                 history: History) -> VariationalFit:
        """The fit that another process ended with, from its hyperparameters and q.

        Parameters
        ----------
        source : Source
            What it was fitted to.
        values : mapping
            Every hyperparameter, in natural units.
        q : two Tensors (M,), (M, M)
            Mean and covariance of q in whitened coordinates.
        history : History
            Of its training.
        """
        state = VariationalState(self, source, given=values)
        free = {item.name for item in state.hyperparameters.free}
        state.hyperparameters.fix(values)
        for item in state.hyperparameters:
            item.fixed = item.name not in free
        state.field.set_q(*q)
        if state.fits:
            with torch.no_grad():
                state.trained_view = state.view().detach()
        return VariationalFit(self, state, history)

    def trained(self, source: Source, progress: bool = False, callback=None) -> VariationalFit:
        """As `fit`, without averaging and without a look at whether it is any good."""
        state = VariationalState(self, source)
        return VariationalFit(self, state, state.train(progress, callback))


class CentrePointGP(VBAgg):
    """Each area as one point at its weighted mean input: the usual short cut, as a baseline."""

    name = "centre-point"
    summary = "Gaussian process on the areas' centres"
    paper = "baseline; Hamelijnck et al. 2019 (CENTER-POINT)"

    def reduce(self, bags: Bags) -> Bags:
        """One individual per bag, at its weighted mean input."""
        return bags.centres()


class Constant(VBAgg):
    """One rate everywhere: the baseline everything is compared with."""

    name = "constant"
    summary = "one flat rate"
    paper = "baseline"
    options_type = ConstantOptions
