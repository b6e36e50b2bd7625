"""`QuasiLikelihoodGP`: its keywords are written by ``make signatures``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpytorch.kernels import Kernel

from workbench.gp.models.summaries.model import QuasiLikelihoodGP as Inner
from workbench.labelled.classes.base import LabelledModel


class QuasiLikelihoodGP(LabelledModel):
    """GP regression on one statistic per area, with the variance that its count gives it.

    Areas with several individuals are taken at their weighted mean inputs; the observations behind
    a statistic are as many as the area's total weight. Exact, O(areas³).

    Parameters
    ----------
    kernel : str or gpytorch.kernels.Kernel, default "matern32"
        Names joined by + and ``*``, of constant, linear, rbf, matern12, matern32, matern52, rq,
        periodic; or malaria, space-time; groups in parentheses, ard- for one lengthscale per
        column.
    transform : {"standardise", "yeo-johnson"}, default "standardise"
        What is done to covariates first.
    extrapolation : {"linear", "clamp"}, default "linear"
        Covariates beyond the range of area means: used as they are, or clamped.
    hyperparameters : mapping, optional
        Hyperparameters to fix, by name, in natural units.
    initial : mapping, optional
        Hyperparameters to start from, by name, in natural units.
    priors : mapping, optional
        Priors by hyperparameter: none, lognormal:MEDIAN:SIGMA or pc:VALUE:PROBABILITY.
    max_steps : int, default 100
        Most evaluations of the objective; from 1 to 100,000.
    tolerance : float, default 1e-06
        Relative change that counts as converged; from 0 to 1.
    seed : int, default 0
        Seed of inducing inputs and subsamples; from 0 to 2,147,483,647.
    dtype : {"float64", "float32"}, default "float64"
        Floating point type.
    device : str, default "cpu"
        Torch device, such as cpu or cuda.
    likelihood : {"auto", "normal", "poisson", "bernoulli", "laplace", "custom"}, default "auto"
        Of the single observations: normal, poisson, bernoulli (probit), laplace (values are
        medians), custom (see variance); auto goes by the dataset.
    variance : callable, optional
        With likelihood custom, from Python: v(f), the variance of one observation on the link scale
        at f = g⁻¹(statistic), a function of a tensor.
    link : {"identity", "exp", "logit", "probit"}, default "identity"
        With likelihood custom: g, from f to the statistic.
    nugget : float or str, default "auto"
        Std of white noise of f at the areas' centres, one for all individuals of an area, which
        predictions have in mean and spread and fit.latent has not: a number, or learn; auto learns
        it of totals, which are overdispersed, and has none of means, medians and proportions; from
        0 to 1e+12.
    boundary : {"refuse", "half", "drop"}, default "refuse"
        Zero counts and proportions of 0 or 1, whose g⁻¹ is infinite: refuse, move inside by half an
        event (0 to ½/n, of proportions p to (pn + ½)/(n + 1)), or drop the areas.
    solver : {"auto", "cholesky", "iterative"}, default "auto"
        cholesky, or iterative (conjugate gradients and Lanczos) above 5,000 areas.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> fit = wb.QuasiLikelihoodGP(kernel="rbf", boundary="half", max_steps=5).fit(ds)
    >>> fit.at(ds).mean.dims
    ('individual',)
    """

    torch_model = Inner

    def __init__(self, *, kernel: str | Kernel = "matern32", transform: str = "standardise",
                 extrapolation: str = "linear", hyperparameters: Mapping | None = None,
                 initial: Mapping | None = None, priors: Mapping | None = None,
                 max_steps: int = 100, tolerance: float = 1e-06, seed: int = 0,
                 dtype: str = "float64", device: str = "cpu", likelihood: str = "auto",
                 variance: Callable | None = None, link: str = "identity",
                 nugget: float | str = "auto", boundary: str = "refuse",
                 solver: str = "auto") -> None:
        self._set(locals())
