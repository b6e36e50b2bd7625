"""A mixture of fits of different models to one source, with given weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

import torch

from workbench.checks import InputError
from workbench.gp.models.base import Model
from workbench.gp.models.keeping import Kept
from workbench.gp.models.options import AutoOptions
from workbench.gp.models.vbagg.averaged_fit import AveragedFit
from workbench.gp.models.vbagg.fit import VariationalFit


class Auto(Model):
    """A mixture of structurally different models, weighted by coarsen and recover.

    Name and options alone; the mixture is assembled where datasets are (`workbench.Auto`).

    Yao, Vehtari, Simpson and Gelman 2018, Using stacking to average Bayesian predictive
    distributions.
    """

    name = "auto"
    summary = "a mixture of models, weighted by how well each predicts areas not given to it"
    paper = "Yao et al. 2018 (stacking)"
    options_type = AutoOptions


class MixtureFit(AveragedFit):
    """Fits by name, whose predictions are mixed by weight.

    State, objective and history are those of the fit with most weight.

    Parameters
    ----------
    fits : mapping of str to VariationalFit
        Fits to the same source.
    weights : mapping of str to float
        Weight of each; those of weight zero are kept, but not asked for predictions.
    """

    def __init__(self, fits: Mapping[str, VariationalFit], weights: Mapping[str, float]):
        used = [name for name in fits if weights[name] > 0]
        top = fits[max(used, key=lambda name: weights[name])]
        share = torch.tensor([float(weights[name]) for name in used], dtype=torch.float64)
        super().__init__(top, [fits[name] for name in used], (share / share.sum()).to(top.state.x))
        self.fits, self.weight_of = dict(fits), dict(weights)

    def keep(self) -> Kept:
        """Every candidate's fit, and the weights."""
        return Kept({"weights": dict(self.weight_of), "history": asdict(self.history)}, {},
                    {name: fit.keep() for name, fit in self.fits.items()})

    @property
    def hyperparameters(self) -> dict[str, dict]:
        """By candidate: its weight and its hyperparameters in natural units."""
        return {name: {"weight": self.weight_of[name], "hyperparameters": fit.hyperparameters}
                for name, fit in self.fits.items()}

    def with_hyperparameters(self, values: Mapping):
        """Raise: a mixture has no hyperparameters of its own.

        Raises
        ------
        InputError
            Always.
        """
        raise InputError("a mixture of models has no hyperparameters of its own to move; move one "
                         "of its candidates")

    def coefficients(self) -> dict:
        """None of its own: they are those of its members."""
        return {}

    def components(self, bags, by: str = "role", known=None):
        """Summands by role, of which every candidate has some; see `AveragedFit.components`.

        Raises
        ------
        InputError
            By term.
        """
        if by == "term":
            raise InputError("the candidates of a mixture have different terms; take its "
                             "components by='role', or ask one of fit.candidates")
        return super().components(bags, by, known)
