"""The map against the split of each total by population: one scale, difference, and who wins."""

import numpy as np
import pytest
from bokeh.models import LinearColorMapper

from tests.ui.kit import restored, settled
from workbench.evaluation.baselines import SPLIT
from workbench.evaluation.evidence import FLAT_MAP, Evidence
from workbench.ui.disaggregate import comparison, engine, labels, messages
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.verdict import FLAT, RED, judge
from workbench.ui.disaggregate.views.atlas import DIFFERENCE, SWIPED
from workbench.ui.disaggregate.views.colours import mapper_of
from workbench.ui.disaggregate.views.maps import Maps
from workbench.ui.disaggregate.views.verdict import verdict_of

PROVINCES = "dataset=simulated-country&granularity=province&model=vbagg&kernel=linear&beside=split"


def evidence(ours, theirs, error, maps=None):
    return Evidence("CRPS", ours, {SPLIT: (theirs, error), FLAT: (9.0, 0.1)}, 0.95,
                    "of the true rates", maps or {})


@pytest.mark.parametrize("ours, theirs, error, said", [
    (1.0, 2.0, 0.1, "The estimate is better than the population split. CRPS of the true rates: "
                    "1 against 2 (−50 %), which is unlikely to be chance."),
    (1.0, 1.2, 0.1, "The estimate is not clearly better than the population split. CRPS of the "
                    "true rates: 1 against 1.2 (−17 %), which may be chance."),
    (1.5, 1.2, 0.1, "The population split is at least as good as the estimate. CRPS of the "
                    "true rates: 1.5 against 1.2 (+25 %).")])
def test_who_wins_is_who_wins_in_the_verdict(ours, theirs, error, said):
    found = evidence(ours, theirs, error)
    assert comparison.sentence(found) == said
    verdict, gap = judge(found, 0.0), said[said.index("("):].split(" ")[0][1:]
    assert (verdict.light == RED) == said.startswith("The population split")
    assert ("may be chance" in verdict.sentence) == ("may be chance" in said)
    assert gap in verdict.sentence


def test_a_win_by_the_intervals_alone_and_no_score_are_said():
    told = comparison.sentence(evidence(1.0, 2.0, 0.1, {SPLIT: (0.1, 0.1)}))
    assert told.endswith("But by the posterior mean alone it is not clearly better than the "
                         "population split.")
    assert "could not be scored" in comparison.sentence(evidence(1.0, np.nan, 0.1))


def test_values_whose_split_has_no_score_are_beside_their_own_means():
    found = Evidence("CRPS", 1.0, {FLAT_MAP: (2.0, 0.1)}, 0.95, "of held-out areas")
    assert comparison.sentence(found).startswith(
        "The estimate is better than the areas' own means. CRPS")


@pytest.mark.slow
def test_estimate_and_split_share_one_scale_and_their_difference_is_centred():
    state = State()
    assert state.read(PROVINCES + "&swipe=30") == []
    restored(state, {"beside": "split", "swipe": 30})
    store = Store(state)
    maps = Maps(store)
    store.refresh()
    settled(store)
    scene, answer, atlas = store.scene, store.answer, maps.atlas
    assert mapper_of(atlas.figure(SWIPED)) is mapper_of(atlas.figure("split"))
    assert mapper_of(atlas.figure(SWIPED)).high == scene.rate.upper
    colours = mapper_of(atlas.figure(DIFFERENCE))
    assert isinstance(colours, LinearColorMapper) and colours.low == -colours.high
    split = scene.data["value"].values / np.bincount(
        scene.data["membership"].values, scene.data["weight"].values)
    expected = (answer.mean - split[scene.data["membership"].values]) * scene.factor
    np.testing.assert_allclose(comparison.difference(scene, answer.mean) * scene.factor, expected,
                               atol=1e-9)
    image = atlas.fine.source.data[DIFFERENCE][0]
    np.testing.assert_allclose(image[np.isfinite(image)].sum(), expected.sum(), rtol=1e-3)
    assert verdict_of(store).sentence in maps.told.object

    maps.divider.value = 80                             # by the user, and by Back
    assert state.swipe == 80
    state.swipe = 20
    assert maps.divider.value == 20
    state.colours = "auto"
    stretched = mapper_of(atlas.figure(DIFFERENCE))
    assert stretched.low == -stretched.high != colours
    state.beside = "std"
    assert engine.ready(state.spec()) is answer         # looking elsewhere is no new work


def test_large_numbers_are_written_out():
    said = messages.headline(51, "2,000 individuals", 36_214.0, 29_689.0, 51_257.0, 8_113.0, 0.1,
                             40_000, "USD")
    assert "Mean rate 36,214 USD; fine map from 29,689 to 51,257" in said and "sd 8,113;" in said
    assert "CRPS of fine values: 8,113 against 12,000" in labels.compared(
        "population split", "CRPS", 8_113.0, 12_000.0, "of fine values", True)
