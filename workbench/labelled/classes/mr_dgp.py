"""`MRDGP`: its keywords are written by ``make signatures``."""

from __future__ import annotations

from collections.abc import Mapping

from gpytorch.kernels import Kernel

from workbench.gp.models.several_sources.tree.mr_dgp import MRDGP as Inner
from workbench.labelled.classes.several import MultiSourceModel


class MRDGP(MultiSourceModel):
    """Multi-resolution deep GP: sources of any bias, resolution and place, mapped to the first.

    The first source of a task is what its mixture predicts; the others follow in order of
    reliability, those of higher resolution first.

    Time goes mostly into the search over all GPs at once, up to ``joint_steps`` evaluations after
    the GPs were learnt one by one with up to ``max_steps`` each: one takes about ten times as long
    as one of a single GP. Both grow with ``samples``, with ``inducing``, squared at least, and with
    the individuals of all sources. With ``joint_steps=0``, ``inducing=40`` and ``samples=8`` a fit
    to some hundred values takes seconds where defaults take many minutes; begin there.
    ``progress=True`` shows the time left of each search, at most.

    Parameters
    ----------
    kernel : str or gpytorch.kernels.Kernel, default "rbf"
        Kernel of the base GPs, named as elsewhere: names joined by + and ``*``.
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
    inducing : int, default 100
        Inducing inputs of each stationary term of each GP; from 1 to 20,000.
    deep_inputs : str, default "linear"
        Inputs of the deep GPs: linear, a line in the parent's value and what departs from it; f,
        the value alone as in the authors' code, which reverts to the mean beyond values that were
        seen; f,x, the value times the inputs as the paper prints it, which reverts far from the
        target's data; or a kernel in the grammar of ``kernel``, with the further column 'parent'
        and the group 'inputs' of all others.
    samples : int, default 32
        Draws of the parents that deep GPs learn and predict from; a power of two; from 8 to 4,096.
    joint_steps : int, default 200
        Evaluations of the objective over all GPs at once, after they were learnt one by one; 0
        leaves the lower ones as they are, as the authors' code does: faster, and less sure of what
        the parents are; from 0 to 100,000.

    Raises
    ------
    InputError
        If the first source of a task has no bag where another source has individuals.

    References
    ----------
    Hamelijnck et al. 2019, section 4, appendix D.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> ds["value"] = ds["value"].assign_attrs(kind="continuous")
    >>> sources = {"all": ds, "some": wb.subset(ds, range(10))}
    >>> fit = wb.MRDGP(inducing=15, max_steps=3, joint_steps=2).fit(sources)
    >>> fit.at(ds).mean.dims
    ('individual',)
    """

    torch_model = Inner

    def __init__(self, *, kernel: str | Kernel = "rbf", transform: str = "standardise",
                 extrapolation: str = "linear", hyperparameters: Mapping | None = None,
                 initial: Mapping | None = None, priors: Mapping | None = None,
                 max_steps: int = 100, tolerance: float = 1e-06, seed: int = 0,
                 dtype: str = "float64", device: str = "cpu", noise: str = "constant",
                 noises: Mapping | None = None, inducing: int = 100, deep_inputs: str = "linear",
                 samples: int = 32, joint_steps: int = 200) -> None:
        self._set(locals())
