"""`MRGPRN`: its keywords are written by ``make signatures``."""

from __future__ import annotations

from collections.abc import Mapping

from gpytorch.kernels import Kernel

from workbench.gp.models.several_sources.gprn import MRGPRN as Inner
from workbench.labelled.classes.several import MultiSourceModel


class MRGPRN(MultiSourceModel):
    """Multi-resolution GP regression network: y_p = A Σ_q W_pq f_q + ε, for P tasks.

    Q basis functions f are shared by all tasks; weights W, Gaussian processes too, make what the
    tasks have in common vary over the inputs. Every source of a task has bags and noise of its own.
    q is Gaussian and independent between latent functions; moments are in closed form throughout.

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
    noise : {"constant", "size", "weight", "known"}, default "constant"
        Variance of a source's observations: constant σ²; by size, σ²/N_a of a mean and N_a σ² of a
        sum; by weight, with W_a / mean W for N_a; known V_a.
    noises : mapping, optional
        The same of a source, by its name, where it differs.
    composite : {"none", "ribatet", "lyddon", "curvature"}, default "none"
        Weights of the sources' likelihoods, for sources that depend on each other: none, the
        product; ribatet or lyddon, estimated; curvature, a matrix in place of one weight, where
        sources share individuals.
    composite_per : {"all", "source"}, default "all"
        One estimated weight for all sources, or one per source.
    compress : int, default 10
        Most clusters per bag while hyperparameters are learnt on more than 4,000 individuals; 0
        uses all; from 0 to 1,000,000.
    weight_kernel : str or gpytorch.kernels.Kernel, default "rbf"
        Kernel of the weights W, named as ``kernel``, which is that of the basis f.
    weights : {"gp", "exp", "constant"}, default "gp"
        What multiplies the basis: gp, W; exp, exp(W), which is positive; constant, a number per
        task.
    latent : int, default 1
        Basis functions f, Q in the paper; from 1 to 20.
    inducing : int, default 60
        Inducing inputs of each latent function; from 1 to 5,000.

    References
    ----------
    Hamelijnck et al. 2019, section 3. Deviations: q is one Gaussian, not a mixture; values are
    standardised by task; f has variance one, as its scale can be moved into W.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> ds["value"] = ds["value"].assign_attrs(kind="continuous")
    >>> sources = {"all": ds, "some": wb.subset(ds, range(10))}
    >>> fit = wb.MRGPRN(inducing=15, max_steps=3).fit(sources)
    >>> fit.at(ds).mean.dims
    ('individual',)
    """

    torch_model = Inner

    def __init__(self, *, kernel: str | Kernel = "matern32", transform: str = "standardise",
                 extrapolation: str = "linear", hyperparameters: Mapping | None = None,
                 initial: Mapping | None = None, priors: Mapping | None = None,
                 max_steps: int = 100, tolerance: float = 1e-06, seed: int = 0,
                 dtype: str = "float64", device: str = "cpu", noise: str = "constant",
                 noises: Mapping | None = None, composite: str = "none", composite_per: str = "all",
                 compress: int = 10, weight_kernel: str | Kernel = "rbf", weights: str = "gp",
                 latent: int = 1, inducing: int = 60) -> None:
        self._set(locals())
