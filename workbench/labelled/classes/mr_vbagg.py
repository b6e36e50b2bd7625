"""`MRVBAgg`: its keywords are written by ``make signatures``."""

from __future__ import annotations

from collections.abc import Mapping

from gpytorch.kernels import Kernel

from workbench.gp.models.several_sources.mixed import MRVBAgg as Inner
from workbench.labelled.classes.several import MultiSourceModel


class MRVBAgg(MultiSourceModel):
    """VBAgg of several sources: counts, means, positives out of trials, of one latent field.

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
    likelihoods : mapping, optional
        Likelihood of a source, by its name; of others auto: Poisson for counts, else Normal.
    links : mapping, optional
        Link of a source, by its name; of others ``link``, of positives out of trials logit.
    link : {"auto", "identity", "exp", "square", "logit", "probit"}, default "exp"
        From the shared Gaussian process to the rates of all sources.
    offset : {"task", "none"}, default "task"
        task: quantities other than the first have a mean of f of their own; none: one mean for all.
    overdispersion : {"none", "area"}, default "none"
        area: an iid Gaussian effect of each bag of counts on the link scale.
    inducing : int, default 100
        Inducing inputs of each stationary term; from 1 to 20,000.
    compress : int, default 40
        Most clusters per bag while hyperparameters are learnt on more than 4,000 individuals; 0
        uses all; from 0 to 1,000,000.

    Raises
    ------
    InputError
        If likelihoods or links name no source, or do not go with its values.

    References
    ----------
    Hamelijnck et al. 2019, section 3, with the likelihoods of Law et al. 2018.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> ds["value"] = ds["value"].assign_attrs(kind="continuous")
    >>> sources = {"all": ds, "some": wb.subset(ds, range(10))}
    >>> fit = wb.MRVBAgg(kernel="rbf", inducing=15, max_steps=5).fit(sources)
    >>> fit.at(ds).mean.dims
    ('individual',)
    """

    torch_model = Inner

    def __init__(self, *, kernel: str | Kernel = "matern32", transform: str = "standardise",
                 extrapolation: str = "linear", hyperparameters: Mapping | None = None,
                 initial: Mapping | None = None, priors: Mapping | None = None,
                 max_steps: int = 100, tolerance: float = 1e-06, seed: int = 0,
                 dtype: str = "float64", device: str = "cpu", noise: str = "constant",
                 noises: Mapping | None = None, likelihoods: Mapping | None = None,
                 links: Mapping | None = None, link: str = "exp", offset: str = "task",
                 overdispersion: str = "none", inducing: int = 100, compress: int = 40) -> None:
        self._set(locals())
