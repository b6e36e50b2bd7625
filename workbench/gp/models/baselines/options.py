"""Options of the baselines, and what the paper's penalties are called here.

References
----------
Law et al. 2018, appendix B as implemented by its authors: ``reg_indiv`` is ``manifold_penalty``,
``reg_out`` is ``weight_penalty``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from workbench.gp.models.options import LAYOUTS, NOISES, AggregatedOptions, option

LIKELIHOODS = ("auto", "poisson", "normal")
LINKS = ("exp", "square", "identity")
INTERCEPTS = ("none", "learn")
_LIKELIHOOD = "distribution of a bag's observation; auto is Poisson for counts, else Normal"


@dataclass(frozen=True)
class PointOptions(AggregatedOptions):
    """Options of the baselines that are trained on a penalised likelihood."""

    likelihood: str = option("auto", _LIKELIHOOD, choices=LIKELIHOODS)
    link: str = option("exp", "from f to the rate", choices=LINKS)
    intercept: str = option(
        "none", "none: f has no constant, as in the paper (fixed at zero, or at the value of mean "
        "in hyperparameters); learn: a constant, mean, is learnt, as it also is when initial "
        "names mean", choices=INTERCEPTS)
    weight_penalty: float = option(
        0.0, "weight of half the sum of squared weights in the loss (reg_out)", bounds=(0, 1e9))
    manifold_penalty: float = option(
        10.0, "weight of the graph-Laplacian penalty on f in the loss (reg_indiv)",
        bounds=(0, 1e9))
    max_steps: int = option(
        450, "most evaluations of l-bfgs, or passes over the bags of adam, which trains where "
        "there are early-stop bags or more than 100,000 individuals", bounds=(1, 100_000))
    learning_rate: float = option(0.01, "learning rate of adam", bounds=(1e-8, 10.0))


@dataclass(frozen=True)
class NystromOptions(PointOptions):
    """Options of the Nyström model."""

    inducing: int = option(100, "landmarks of each stationary term", bounds=(1, 20_000))
    layout: str = option(
        "additive", "additive: landmarks per term; joint: one set for the whole kernel",
        choices=LAYOUTS)
    weight_penalty: float = option(
        1.0, "precision of the Gaussian prior of the weights (reg_out); 1 is the prior of the "
        "Gaussian process", bounds=(0, 1e9))


@dataclass(frozen=True)
class NetworkOptions(PointOptions):
    """Options of the neural network."""

    kernel: ClassVar[str] = "none"
    hidden: int = option(30, "rectified units of the hidden layer", bounds=(1, 100_000))


@dataclass(frozen=True)
class BagPixelOptions(NetworkOptions):
    """Options of the network on bag means."""

    manifold_penalty: float = option(
        0.0, "weight of the graph-Laplacian penalty, here on f at bag means; zero in the paper",
        bounds=(0, 1e9))


@dataclass(frozen=True)
class BagConstantOptions(AggregatedOptions):
    """Options of the model that shares out each bag's own value."""

    kernel: ClassVar[str] = "none"
    noise: str = option("auto", "variance of an observation, which this model does not learn: "
                        "known V_a, or none where the data state none", choices=("auto", *NOISES))
    likelihood: str = option("auto", _LIKELIHOOD, choices=LIKELIHOODS)
