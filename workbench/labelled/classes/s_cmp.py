"""`ShrinkageCMP`: its keywords are written by ``make signatures``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gpytorch.kernels import Kernel

from workbench.gp.models.conditional_mean.cmp import ShrinkageCMP as Inner
from workbench.labelled.classes.mediated import MediatedModel


class ShrinkageCMP(MediatedModel):
    """The conditional mean process with the shrinkage estimator: one ridge B λ for all bags.

    It differs from `CMP` where bags differ in size: small bags count as much as large ones.

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
    mediator_kernel : str or gpytorch.kernels.Kernel, default "rbf"
        ℓ, the kernel on covariates of bags: names joined by + and ``*``, of constant, linear, rbf,
        matern12, matern32, matern52, rq, periodic; mediators x and y are the coordinates; of a
        single term the variance is one, and the ridge λ relative to it.
    mediation : {"auto", "evidence", "leave-one-out"}, default "auto"
        How ℓ and λ are learnt: with all else by the evidence of the targets, as in the paper;
        leave-one-out, by how well each bag is predicted from the others' mediators, then all else
        by the evidence; auto is the first for matched and the second for unmatched targets.
    mean_function : callable, optional
        m, a known part of the prior mean, to which a learnt constant is added: a Python function of
        a mapping of input columns to their values, such as ``lambda x: -0.0065 * x['altitude']``.
        Targets have the mean c + m̄ + Aᵀ(m - m̄), with c the constant and m̄ the weighted mean of m
        over all individuals.
    noise : {"constant", "known"}, default "constant"
        Variance of a target: constant σ², or known V.
    nugget : float or str, default 0
        Std ς of individual white noise in f; a number, or learn; from 0 to 1e+12.
    starts : int, default 3
        Settings of the mediators' lengthscales to start from, from the spacing of the bags up to
        their extent; the one with the best evidence is kept; from 1 to 20.
    compress : int, default 20
        Most clusters per bag while the best start is sought; 0 uses all individuals; from 0 to
        1,000,000.
    refine : int, default 10000
        Most individuals for whom hyperparameters are then refined on all of them; above, those
        learnt on clusters are kept; from 0 to 100,000,000.
    features : int, default 0
        Random Fourier frequencies of each term that stand for its kernel in the exact model's
        posterior, for maps of very many pixels; 0 takes all pairs; from 0 to 1,000,000.
    train_features : int, default 0
        Random Fourier frequencies of each term that stand for its kernel while hyperparameters are
        refined on all individuals, however many; 0 takes the kernel itself, or clusters (refine);
        from 0 to 1,000,000.

    References
    ----------
    Chau et al. 2021, eq. (9) and appendix C.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> ds["value"] = ds["value"].assign_attrs(kind="continuous", aggregation="mean")
    >>> bags, targets = wb.unmatch(wb.add_mediators(ds, ["z1"]))
    >>> fit = wb.ShrinkageCMP(kernel="rbf", max_steps=3).fit(bags, targets)
    >>> fit.at(bags).mean.dims
    ('individual',)
    """

    torch_model = Inner

    def __init__(self, *, kernel: str | Kernel = "matern32", transform: str = "standardise",
                 extrapolation: str = "linear", hyperparameters: Mapping | None = None,
                 initial: Mapping | None = None, priors: Mapping | None = None,
                 max_steps: int = 100, tolerance: float = 1e-06, seed: int = 0,
                 dtype: str = "float64", device: str = "cpu", mediator_kernel: str | Kernel = "rbf",
                 mediation: str = "auto", mean_function: Callable | None = None,
                 noise: str = "constant", nugget: float | str = 0.0, starts: int = 3,
                 compress: int = 20, refine: int = 10000, features: int = 0,
                 train_features: int = 0) -> None:
        self._set(locals())
