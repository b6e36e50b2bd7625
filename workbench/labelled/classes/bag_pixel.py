"""`BagPixel`: its keywords are written by ``make signatures``."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.gp.models.baselines.models import BagPixel as Inner
from workbench.labelled.classes.base import EarlyStoppedModel


class BagPixel(EarlyStoppedModel):
    """Network on the weighted mean inputs of bags; individuals are predicted from their own.

    Within a bag nothing is learnt: the rate of a bag's mean input stands for the bag.

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
    max_steps : int, default 450
        Most evaluations of l-bfgs, or passes over the bags of adam, which trains where there are
        early-stop bags or more than 100,000 individuals; from 1 to 100,000.
    tolerance : float, default 1e-06
        Relative change that counts as converged; from 0 to 1.
    seed : int, default 0
        Seed of inducing inputs and subsamples; from 0 to 2,147,483,647.
    dtype : {"float64", "float32"}, default "float64"
        Floating point type.
    device : str, default "cpu"
        Torch device, such as cpu or cuda.
    noise : {"auto", "constant", "size", "weight", "known", "area", "fay-herriot"}, default "auto"
        Variance of an observation: constant σ²; by size, N_a individuals, σ²/N_a of a mean, N_a σ²
        of a sum; by weight, with W_a / mean W for N_a; area, as size, but shared by individuals;
        known V_a; fay-herriot, V_a + a learnt τ²; auto is this with V_a or size.
    likelihood : {"auto", "poisson", "normal"}, default "auto"
        Distribution of a bag's observation; auto is Poisson for counts, else Normal.
    link : {"exp", "square", "identity"}, default "exp"
        From f to the rate.
    intercept : {"none", "learn"}, default "none"
        none: f has no constant, as in the paper (fixed at zero, or at the value of mean in
        hyperparameters); learn: a constant, mean, is learnt, as it also is when initial names mean.
    weight_penalty : float, default 0
        Weight of half the sum of squared weights in the loss (reg_out); from 0 to 1e+09.
    manifold_penalty : float, default 0
        Weight of the graph-Laplacian penalty, here on f at bag means; zero in the paper; from 0 to
        1e+09.
    learning_rate : float, default 0.01
        Learning rate of adam; from 1e-08 to 10.
    hidden : int, default 30
        Rectified units of the hidden layer; from 1 to 100,000.

    References
    ----------
    Law et al. 2018, section 4 (bag-pixel) and appendix B.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> fit = wb.BagPixel(hidden=5, max_steps=5).fit(ds)
    >>> fit.at(ds).mean.dims
    ('individual',)
    """

    torch_model = Inner

    def __init__(self, *, transform: str = "standardise", extrapolation: str = "linear",
                 hyperparameters: Mapping | None = None, initial: Mapping | None = None,
                 priors: Mapping | None = None, max_steps: int = 450, tolerance: float = 1e-06,
                 seed: int = 0, dtype: str = "float64", device: str = "cpu", noise: str = "auto",
                 likelihood: str = "auto", link: str = "exp", intercept: str = "none",
                 weight_penalty: float = 0.0, manifold_penalty: float = 0.0,
                 learning_rate: float = 0.01, hidden: int = 30) -> None:
        self._set(locals())
