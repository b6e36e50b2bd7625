"""Options of the baselines, and what the paper's penalties are called here.

References
----------
Law et al. 2018, appendix B as implemented by its authors: ``reg_indiv`` is ``manifold_penalty``,
``reg_out`` is ``weight_penalty``.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.models.options import LAYOUTS, AggregatedOptions, option

LIKELIHOODS = ("auto", "poisson", "normal")
LINKS = ("exp", "square", "identity")
INTERCEPTS = ("none", "learn")
TRAINERS = ("auto", "adam", "l-bfgs")
ELSEWHERE = ("mean-rate", "refuse")
_LIKELIHOOD = "distribution of a bag's observation; auto is Poisson for counts, else Normal"


@dataclass(frozen=True)
class PointOptions(AggregatedOptions):
    """Options of the baselines that are trained on a penalised likelihood."""

    likelihood: str = option("auto", _LIKELIHOOD, choices=LIKELIHOODS)
    link: str = option("exp", "from f to the rate", choices=LINKS)
    intercept: str = option(
        "none", "none: f has no constant, as in the paper (held at zero, or at the value of mean "
        "in hyperparameters); learn: a constant, mean, is learnt, as it also is when initial "
        "names mean", choices=INTERCEPTS)
    weight_penalty: float = option(
        0.0, "weight of half the sum of squared weights in the loss (reg_out)", bounds=(0, 1e9))
    manifold_penalty: float = option(
        10.0, "weight of the graph-Laplacian penalty on f in the loss (reg_indiv)",
        bounds=(0, 1e9))
    manifold_kernel: str = option(
        "rbf", "similarity of individuals in that penalty: a sum of rbf and Matérn kernels, their "
        "lengthscales held at the median distance")
    manifold_features: int = option(
        500, "random Fourier features of each term of that kernel", bounds=(1, 100_000))
    manifold_individuals: int = option(
        20_000, "most individuals that one evaluation of that penalty looks at; of more, as many "
        "evenly spread over the bags", bounds=(2, 100_000_000))
    trainer: str = option(
        "auto", "adam on minibatches of bags, which can stop early; l-bfgs on all bags; auto is "
        "adam with early-stop bags or more than 100,000 individuals, else l-bfgs",
        choices=TRAINERS)
    max_steps: int = option(450, "most evaluations of l-bfgs", bounds=(1, 100_000))
    learning_rate: float = option(0.01, "learning rate of adam", bounds=(1e-8, 10.0))
    epochs: int = option(450, "most passes of adam over the bags", bounds=(1, 1_000_000))
    batch: int = option(0, "bags in a minibatch of adam; 0 is a tenth", bounds=(0, 10_000_000))
    patience: int = option(
        10, "epochs without improvement, of the early-stop bags if given, else of the objective, "
        "after which adam stops", bounds=(1, 100_000))
    patience_from: float = option(
        1 / 3, "share of the epochs that adam runs before it may stop", bounds=(0.0, 1.0))


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

    kernel: object = option("none", "a network has no kernel (see manifold_kernel)",
                            choices=("none",))
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

    kernel: object = option("none", "there is no kernel", choices=("none",))
    likelihood: str = option("auto", _LIKELIHOOD, choices=LIKELIHOODS)
    elsewhere: str = option(
        "mean-rate", "bags that were not trained on: predict the mean rate of the training bags, "
        "or refuse", choices=ELSEWHERE)
