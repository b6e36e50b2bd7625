"""Each step of the story says what the app computes at that step."""

import numpy as np
import pytest

from tests.ui.kit import settled
from workbench.ui.granularity.state import State
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.story import STEPS
from workbench.ui.granularity.views.page import NINETY

HALF_90 = 1.6449


@pytest.fixture
def at():
    """The store at a step, its work done."""
    made = []

    def told(name):
        state = State()
        state.tell([step.name for step in STEPS].index(name) + 1)
        store = Store(state)
        made.append(store)
        store.refresh()
        return settled(store)

    yield told
    for store in made:
        store.close()


def seen(answer):
    """Places on the line, and whether the truth is outside the band of the summaries there."""
    band, truth = answer.summary, answer.world.truth
    return answer.world.places[:, 0], np.abs(band.mean - truth) > HALF_90 * band.sd


def covered(answer):
    return answer.coverage[1][NINETY]


@pytest.mark.slow
def test_fine_cells_lose_nothing(at):
    assert at("Complete data").answer.error < 0.01
    answer = at("Only summaries").answer
    assert answer.error < 0.05 and (answer.cells.size, answer.world.values.size) == (12, 400)


@pytest.mark.slow
def test_wide_cells_flatten_peaks_though_coverage_is_as_stated(at):
    store = at("Too coarse")
    answer, edges = store.answer, store.state.boundaries
    centres = (edges[1:] + edges[:-1]) / 2
    assert np.ptp(answer.summary.mean) < 0.85 * np.ptp(answer.complete.mean)
    assert answer.error > store.state.tolerance and covered(answer) >= 0.9
    x, missed = seen(answer)
    away = np.abs(x[:, None] - centres).min(1)
    assert missed.any() and away[missed].max() < 0.2 < away.max()
    spread = answer.summary.sd
    assert spread[away < 0.1].mean() < 0.5 * spread[away > 0.5].mean()


@pytest.mark.slow
def test_half_a_wave_in_a_cell_is_averaged_away_by_an_overconfident_band(at):
    answer = at("Rough functions need fine cells").answer
    assert answer.cells.size == 12 and covered(answer) < 0.75
    x, missed = seen(answer)
    crossings = x[1:][np.diff(np.sign(answer.world.truth)) != 0]
    assert np.diff(crossings)[-1] < np.diff(crossings)[0]       # waves get shorter to the right
    width = x.max() / 12
    tight = x > crossings[1:][np.diff(crossings) < 1.2 * width][0] - width
    assert missed[tight].mean() > 2 * missed[~tight].mean()
    assert np.ptp(answer.summary.mean[tight]) < np.ptp(answer.world.truth[tight])


def test_the_rule_holds_all_over_the_plane(at):
    plane = at("The rule").picture
    ratio = np.asarray(plane.lengthscales)[:, None] / np.asarray(plane.sizes)
    assert plane.error[ratio >= 5].max() <= 0.1 < plane.error[(ratio > 1) & (ratio < 3)].max()
    medians = [np.median(plane.error[(ratio >= low) & (ratio < 2 * low)])
               for low in (0.25, 0.5, 1, 2, 4)]
    assert (np.diff(medians) < 0).all()


@pytest.mark.slow
def test_the_map_answers_the_question_of_its_step(at):
    first = at("The same on a map")
    complete, summaries = first.answer.against
    assert 1.25 < summaries / complete <= 2 and first.state.hidden
    other = at("The shape of cells").answer
    assert other.error > 1.5 * first.answer.error
    assert other.cells.size == pytest.approx(first.answer.cells.size, rel=0.05)


@pytest.mark.slow
def test_the_evidence_and_the_truth_prefer_the_same_lengthscale(at):
    answer = at("Two lengthscales").answer
    assert answer.evidence > answer.rival.evidence and answer.against[1] < answer.rival.against
