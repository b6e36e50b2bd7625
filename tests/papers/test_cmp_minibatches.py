"""What the documentation says of VarCMP by minibatches, held to the stored runs."""

from pathlib import Path

import pytest

from tests.docs.pages import said
from workbench.papers.chau2021.minibatches import (
    ALL,
    BATCHES,
    FEW,
    FEW_LEARNT,
    LEARNT,
    differences,
)
from workbench.papers.status.results import Results

RUNS = Results(Path(__file__).parents[2] / "data" / "results").runs("cmp-minibatches")
SAID = said("results")


def _wide(score: str):
    return RUNS.pivot(index=["matching", "seed"], columns="form", values=score)


def test_minibatches_lose_nothing():
    gap = differences(RUNS, "rmse", BATCHES)["mean"]
    assert (f"lower by {-gap['direct']:.3f} in direct and by {-gap['indirect']:.3f} in indirect"
            in SAID)
    error, bound = _wide("rmse"), _wide("objective")
    assert (error[BATCHES] < error[ALL]).sum() == 9 and "nine of the ten pairs" in SAID
    most = (bound[BATCHES] - bound[ALL]).abs().max()
    assert f"bounds that are within {most:.1f} nats" in SAID
    assert RUNS["converged"].all()


@pytest.mark.parametrize("matching", ["direct", "indirect"])
def test_learnt_inputs_change_little_where_they_are_many(matching):
    gap = differences(RUNS, "rmse", LEARNT, BATCHES).loc[matching]
    assert gap["count"] == 5 and abs(gap["mean"]) < 2 * gap["sem"]


def test_few_learnt_inputs_reach_the_bound_of_many():
    bound, error = _wide("objective").loc["direct"], _wide("rmse").loc["direct"]
    below = (bound[ALL] - bound[FEW_LEARNT]).mean()
    held = (bound[ALL] - bound[FEW]).mean()
    assert abs(below) < 0.5 and "within 0.5 nats" in SAID
    assert f"fifteen held ones are {held:.0f} nats below" in SAID
    assert (error[FEW] < error[FEW_LEARNT]).all() and (error[FEW] < error[ALL]).all()
