"""`BagConstant`: its keywords are written by ``make signatures``."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.gp.models.baselines.bag_constant import BagConstant as Inner
from workbench.labelled.classes.base import LabelledModel


class BagConstant(LabelledModel):
    """The rate of each bag, its value over its total weight, everywhere in it.

    It says nothing of bags that it was not trained on: these get the mean rate of the training
    bags (the hyperparameter ``mean``), with an `ExtrapolationWarning`. Compare it with other
    models *inside* the bags it was trained on, whose values it repeats.

    Parameters
    ----------
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
    noise : {"auto", "constant", "size", "weight", "known"}, default "auto"
        Variance of an observation, which this model does not learn: known V_a, or none where the
        data state none.
    likelihood : {"auto", "poisson", "normal"}, default "auto"
        Distribution of a bag's observation; auto is Poisson for counts, else Normal.

    References
    ----------
    Law et al. 2018, section 4.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> fit = wb.BagConstant().fit(ds)
    >>> bool(abs(fit.over(ds).mean - ds["value"]).max() < 1e-6)     # totals are repeated
    True
    """

    torch_model = Inner

    def __init__(self, *, transform: str = "standardise", extrapolation: str = "linear",
                 hyperparameters: Mapping | None = None, initial: Mapping | None = None,
                 priors: Mapping | None = None, max_steps: int = 100, tolerance: float = 1e-06,
                 seed: int = 0, dtype: str = "float64", device: str = "cpu", noise: str = "auto",
                 likelihood: str = "auto") -> None:
        self._set(locals())
