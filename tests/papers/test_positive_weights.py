"""What the documentation says of exp(W) beside W, held to the stored runs."""

from pathlib import Path

import pytest

from tests.docs.pages import said
from workbench.papers.hamelijnck2019.positive_weights import (
    ONE,
    across_hours,
    differences,
    one_task,
)
from workbench.papers.status.results import Results

SAID = said("results")
RUNS = Results(Path(__file__).parents[2] / "data" / "results").runs("positive-weights")


@pytest.mark.parametrize("score", ["of_constant", "crps"])
def test_two_pollutants_do_not_decide(score):
    by_case = differences(RUNS, score).drop(ONE)
    for gap in (across_hours(RUNS, score), *(row for _, row in by_case.iterrows())):
        assert gap["count"] == 5
        assert -2 * gap["sem"] < gap["mean"] < 0
    wide = RUNS[RUNS["case"] != ONE].pivot(
        index=["case", "seed"], columns="weights", values=score)
    for _, gaps in (wide["exp"] - wide["gp"]).groupby("case"):
        assert gaps.min() < 0.5 * gaps.sum()


def test_one_task_is_hardly_worse():
    gap, runs = one_task(RUNS, "of_constant"), RUNS[RUNS["case"] == ONE]
    assert 0 < gap["mean"] < 2 * gap["sem"]
    plain = runs.loc[runs["weights"] == "gp", "of_constant"].mean()
    assert f"{100 * gap['mean'] / plain:.1f} % of the error" in SAID
    assert differences(RUNS, "of_constant").loc[ONE, "lower"] == 1
    assert "worse in nine of ten data sets" in SAID
    score = differences(RUNS, "crps").loc[ONE]
    assert score["lower"] == 0 and 2 < score["mean"] / score["sem"] < 2.2
    assert "(in the CRPS, worse in all ten, a little more)" in SAID


def test_the_bound_of_exp_is_higher_and_its_fits_converge():
    assert (differences(RUNS, "objective")["lower"] == 0).all() and len(RUNS) == 60
    assert RUNS["converged"].all() and "All sixty fits converge." in SAID
