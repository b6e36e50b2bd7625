"""What the documentation says of learnt landmarks, held to the stored runs."""

from pathlib import Path

import pytest

from tests.docs.pages import said
from workbench.papers.law2018.landmarks import differences
from workbench.papers.status.results import Results

RUNS = Results(Path(__file__).parents[2] / "data" / "results").runs("learnt-landmarks")
SAID = said("results")


def _wide(score: str):
    return RUNS.pivot(index=["landmarks", "seed"], columns="where", values=score)


def test_the_bound_rises_and_searches_hardly_end():
    gain = _wide("objective").diff(axis=1)["learnt"]
    assert (gain > 0).all()
    few, many = gain.groupby("landmarks").mean()
    assert f"rises by {few:.0f} nats with 15 landmarks and by {many:.0f} with 30" in SAID
    steps = RUNS.loc[RUNS["where"] == "learnt", "converged"]
    assert len(steps) == 10 and steps.sum() == 1
    assert "Of ten searches of learnt landmarks one had converged" in SAID


@pytest.mark.parametrize("score", ["nll_stirling", "mse"])
def test_accuracy_does_not_change(score):
    found = differences(RUNS, score)
    assert (found["count"] == 5).all() and (found["mean"].abs() < found["sem"]).all()
    gaps = _wide(score).diff(axis=1)["learnt"]
    for _, one in gaps.groupby("landmarks"):
        assert one.min() < 0 < one.max()


def test_intervals_cover_more_with_few_landmarks():
    cover = _wide("cover_95").loc[15]
    assert (cover["learnt"] > cover["held"]).all()
    held, learnt = 100 * cover[["held", "learnt"]].mean()
    assert f"{learnt:.0f} % of the rates where held ones cover {held:.0f} %" in SAID
