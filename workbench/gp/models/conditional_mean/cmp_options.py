"""Options of conditional mean processes."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.checks import reject
from workbench.gp.kernels.grammar import KERNELS
from workbench.gp.models.options import Options, option

NOISES = ("constant", "known")
MEDIATIONS = ("auto", "evidence", "leave-one-out")


@dataclass(frozen=True)
class CMPOptions(Options):
    """Options of the exact conditional mean process."""

    mediator_kernel: object = option(
        "rbf", "ℓ, the kernel on covariates of bags: names joined by + and *, of "
        + ", ".join(KERNELS) + "; mediators x and y are the coordinates; of a single term the "
        "variance is one, and the ridge λ relative to it")
    mediation: str = option(
        "auto", "how ℓ and λ are learnt: with all else by the evidence of the targets, as in the "
        "paper; leave-one-out, by how well each bag is predicted from the others' mediators, then "
        "all else by the evidence; auto is the first for matched and the second for unmatched "
        "targets", choices=MEDIATIONS)
    mean_function: object = option(
        None, "m, a known part of the prior mean, to which a learnt constant is added: a Python "
        "function of a mapping of input columns to their values, such as "
        "``lambda x: -0.0065 * x['altitude']``. Targets have the mean c + m̄ + Aᵀ(m - m̄), with c "
        "the constant and m̄ the weighted mean of m over all individuals")
    noise: str = option(
        "constant", "variance of a target: constant σ², or known V", choices=NOISES)
    nugget: float | str = option(
        0.0, "std ς of individual white noise in f; a number, or learn", bounds=(0.0, 1e12))
    starts: int = option(
        3, "settings of the mediators' lengthscales to start from, from the spacing of the bags up "
        "to their extent; the one with the best evidence is kept", bounds=(1, 20))
    compress: int = option(
        20, "most clusters per bag while the best start is sought; 0 uses all individuals",
        bounds=(0, 1_000_000))
    refine: int = option(
        10_000, "most individuals for whom hyperparameters are then refined on all of them; above, "
        "those learnt on clusters are kept", bounds=(0, 100_000_000))
    features: int = option(
        0, "random Fourier frequencies of each term that stand for its kernel in the exact model's "
        "posterior, for maps of very many pixels; 0 takes all pairs", bounds=(0, 1_000_000))
    train_features: int = option(
        0, "random Fourier frequencies of each term that stand for its kernel while "
        "hyperparameters are refined on all individuals, however many; 0 takes the kernel itself, "
        "or clusters (refine)", bounds=(0, 1_000_000))

    def __post_init__(self):
        super().__post_init__()
        if isinstance(self.nugget, str) and self.nugget != "learn":
            raise reject("nugget a number or 'learn'", repr(self.nugget), "write nugget=0.2")
        if self.mean_function is not None and not callable(self.mean_function):
            raise reject("mean_function a Python function", repr(self.mean_function),
                         "write mean_function=lambda x: 2 * x['height']")


@dataclass(frozen=True)
class VarCMPOptions(CMPOptions):
    """Options of the variational form."""

    inducing: int = option(100, "inducing inputs of each stationary term", bounds=(1, 20_000))
    inducing_inputs: str = option(
        "held", "where inducing inputs lie: held, at k-means++ seeds; learnt with hyperparameters",
        choices=("held", "learnt"))
    batch: int = option(
        0, "targets of a minibatch, by which hyperparameters are refined on all individuals, "
        "however many; max_steps then counts passes of ten steps or more. 0 takes all targets and "
        "individuals at once, or clusters (refine)", bounds=(0, 1_000_000))
    batch_individuals: int = option(
        4, "individuals of a minibatch: twice so many are drawn of each bag", bounds=(1, 1_000_000))

    def __post_init__(self):
        super().__post_init__()
        if self.batch and self.nugget != 0:
            raise reject("no nugget where targets come in minibatches", f"nugget={self.nugget!r}",
                         "individual noise ties all targets together: leave out nugget or batch")
