"""Calibration on truth: a well-specified model on draws from its own prior covers nominally."""

import numpy as np
import pytest
import torch

from tests.gp import made
from workbench.gp.data.bags import Source, Targets
from workbench.gp.models.vbagg.model import VBAgg
from workbench.gp.models.vbagg.state import VariationalState

SETS, BAGS, SIZE = 40, 12, 5
LEVELS = (0.5, 0.8, 0.95)
GIVEN = {"exp": {"mean": 2.5, "rbf.variance": 0.4, "rbf.lengthscale": 1.0},
         "square": {"mean": 4.0, "rbf.variance": 1.5, "rbf.lengthscale": 1.0}}


def coverage(link, bound):
    """Share of true individual rates inside central intervals, and its standard error.

    Individuals of one data set are dependent, so the error is taken over data sets.
    """
    shares = []
    for seed in range(SETS):
        bags = made.bags((SIZE,) * BAGS, seed=100 + seed, coordinates=False)
        model = VBAgg(kernel="rbf", link=link, bound=bound, inducing=30)
        blank = Source(bags, Targets(torch.full((BAGS,), 50.0).double()))
        state = VariationalState(model, blank)
        state.hyperparameters.fix(GIVEN[link])
        rng = np.random.default_rng(seed)
        with torch.no_grad():
            gram = state.field.prior(state.x, state.x).numpy() + 1e-8 * np.eye(len(state.x))
        f = GIVEN[link]["mean"] + np.linalg.cholesky(gram) @ rng.standard_normal(len(gram))
        rate = np.exp(f) if link == "exp" else np.square(f)
        total = np.bincount(bags.membership.numpy(), bags.weight.numpy() * rate)
        y = torch.as_tensor(rng.poisson(total).astype(float))
        law = model.condition(Source(bags, Targets(y)), GIVEN[link]).at(bags)
        u = law.cdf(torch.as_tensor(rate)).numpy()
        shares.append([np.mean(np.abs(u - 0.5) < level / 2) for level in LEVELS])
    shares = np.array(shares)
    return shares.mean(0), shares.std(0, ddof=1) / np.sqrt(SETS)


@pytest.mark.slow
@pytest.mark.parametrize("link, bound", [("exp", "moment"), ("square", "taylor")])
def test_individual_rates_are_covered_at_the_nominal_level(link, bound):
    share, error = coverage(link, bound)
    assert (np.abs(share - LEVELS) < 3 * error + 0.005).all(), (share, error)


@pytest.mark.slow
def test_jensen_is_over_confident():
    """The paper's bound for exp claims too much (notes, 4.2): a known fault, kept as documented."""
    share, error = coverage("exp", "jensen")
    assert (share < np.array(LEVELS) - 5 * error).all(), (share, error)
