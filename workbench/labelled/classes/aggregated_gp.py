"""`AggregatedGP`: its keywords are written by ``make signatures``."""

from __future__ import annotations

from collections.abc import Mapping

from gpytorch.kernels import Kernel

from workbench.gp.models.exact.bagged_gp import AggregatedGP as Inner
from workbench.labelled.classes.base import LabelledModel


class AggregatedGP(LabelledModel):
    """Exact GP regression on weighted bag means or sums, Normal observations, identity link.

    Counts are modelled as rates per unit of weight. Needs all pairs of individuals per evaluation:
    meant for up to some ten thousands of them; `VBAgg` with ``likelihood="normal"`` scales further.
    A fit that would take more than ``hours``, by its estimate, is refused before it starts.

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
    noise : {"auto", "constant", "size", "weight", "known", "area", "fay-herriot"}, default "auto"
        Variance of an observation: constant σ²; by size, N_a individuals, σ²/N_a of a mean, N_a σ²
        of a sum; by weight, with W_a / mean W for N_a; area, as size, but shared by individuals;
        known V_a; fay-herriot, V_a + a learnt τ²; auto is this with V_a or size.
    hours : float, default 1
        Hours that a fit may take by its estimate; one of more is refused before it starts; from 0
        to 1e+06.

    Examples
    --------
    >>> import workbench as wb
    >>> ds = wb.load("swiss-roll", n_bags=20, mean_size=10, size_std=4)
    >>> ds["value"] = ds["value"].assign_attrs(kind="continuous")
    >>> fit = wb.AggregatedGP(kernel="rbf", max_steps=5).fit(ds)
    >>> fit.at(ds).mean.dims
    ('individual',)
    """

    torch_model = Inner

    def __init__(self, *, kernel: str | Kernel = "matern32", transform: str = "standardise",
                 extrapolation: str = "linear", hyperparameters: Mapping | None = None,
                 initial: Mapping | None = None, priors: Mapping | None = None,
                 max_steps: int = 100, tolerance: float = 1e-06, seed: int = 0,
                 dtype: str = "float64", device: str = "cpu", noise: str = "auto",
                 hours: float = 1.0) -> None:
        self._set(locals())
