"""Options of the sample quasi-likelihood GP."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.checks import InputError, require
from workbench.gp.likelihoods.variance_functions import BOUNDARIES, VARIANCE_FUNCTIONS
from workbench.gp.models.options import Options, option, require_nugget

SOLVERS = ("auto", "cholesky", "iterative")


@dataclass(frozen=True)
class QuasiOptions(Options):
    """Options of the sample quasi-likelihood GP."""

    likelihood: str = option(
        "auto", "of the single observations: normal, poisson, bernoulli (probit), laplace (values "
        "are medians), custom (see variance); auto goes by the dataset",
        choices=("auto", *VARIANCE_FUNCTIONS, "custom"))
    variance: object = option(
        None, "with likelihood custom, from Python: v(f), the variance of one observation on the "
        "link scale at f = g⁻¹(statistic), a function of a tensor")
    link: str = option(
        "identity", "with likelihood custom: g, from f to the statistic",
        choices=("identity", "exp", "logit", "probit"))
    nugget: float | str = option(
        "auto", "std of white noise of f at the areas' centres, one for all individuals of an "
        "area, which predictions have in mean and spread and fit.latent has not: a number, or "
        "learn; auto learns it of totals, which are overdispersed, and has none of means, medians "
        "and proportions", bounds=(0.0, 1e12))
    boundary: str = option(
        "refuse", "zero counts and proportions of 0 or 1, whose g⁻¹ is infinite: refuse, move "
        "inside by half an event (0 to ½/n, of proportions p to (pn + ½)/(n + 1)), or drop "
        "the areas", choices=BOUNDARIES)
    solver: str = option(
        "auto", "cholesky, or iterative (conjugate gradients and Lanczos) above 5,000 areas",
        choices=SOLVERS)

    def __post_init__(self):
        super().__post_init__()
        require_nugget(self.nugget)
        if self.likelihood == "custom":
            require(callable(self.variance), "likelihood='custom' needs variance, a function of "
                    "f = g⁻¹(statistic), such as variance=lambda f: 0.5 * (-f).exp()")
        elif self.variance is not None or self.link != "identity":
            raise InputError("variance and link belong to likelihood='custom'; the others have "
                             "their own")
