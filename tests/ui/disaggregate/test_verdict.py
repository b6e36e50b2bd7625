"""The verdict: never green where a simple map is as good, or intervals do not hold."""

import json
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from tests.reference import country
from workbench.evaluation import judgement_words as words
from workbench.evaluation.area_scores import clustered_error
from workbench.evaluation.baselines import GLM, SPLIT, PopulationSplit
from workbench.evaluation.evidence import SURE, Evidence, of_recovery
from workbench.evaluation.units import crps_of
from workbench.labelled import candidates
from workbench.reporting.verdict import verdict_of as reported
from workbench.ui.disaggregate import engine, exporting, recovery
from workbench.ui.disaggregate.fitted import Fitted
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.verdict import (
    AMBER,
    FLAT,
    GREEN,
    OPEN,
    RED,
    Verdict,
    doubts_of,
    doubts_of_mixture,
    judge,
    of_scores,
    reasons_of,
    said_once,
)
from workbench.ui.disaggregate.views.verdict import Strip, verdict_of

GOOD = Evidence("CRPS", 2.0, {SPLIT: (10.0, 0.5), FLAT: (12.0, 0.5)}, 0.94, "of the true rates")


def test_a_map_that_is_surely_better_and_calibrated_is_green():
    found = judge(GOOD, 0.45)
    assert found.light == GREEN and found.reasons == ()
    assert found.sentence == (
        "Beats the population split: CRPS −80 %. 95 % intervals cover 94 % of the true rates. "
        "The map extrapolates at 45 % of the places.")


# Ours, theirs (the split, the flat rate), their errors, coverage, doubts: light, opening, doubts.
CASES = [
    ((2, 10, 12), (.5, .5), .94, (), GREEN, "Beats the population split: CRPS −80 %.", 0),
    ((2, 10, 12), (.5, .5), .94, ("d",), AMBER,
     "Better than the population split, with doubts: CRPS −80 %.", 1),
    ((2, 10, 12), (.5, .5), .85, (), AMBER, "Better than the population split, with doubts:", 1),
    ((2, 10, 12), (.5, .5), .60, (), RED,
     "Do not rely on its intervals. CRPS −80 % against the population split.", 1),
    ((2, 2.5, 12), (.4, .5), .94, (), AMBER,
     "Not clearly better than the population split: CRPS −20 %, which may be chance.", 0),
    ((2, 10, 2.5), (.5, .4), .94, (), AMBER, "Not clearly better than one flat rate:", 0),
    ((2, 2.5, 2.5), (.4, .4), .94, (), AMBER, "Not clearly better than the population split:", 1),
    ((2, 2.5, 12), (.4, .5), .60, (), RED, "Do not rely on its intervals. CRPS −20 %", 2),
    ((2, 2, 12), (.5, .5), .94, (), AMBER,
     "No better than the population split (difference within error): CRPS ±0 %.", 0),
    ((2, 1.99, 12), (.5, .5), .94, (), AMBER,
     "No better than the population split (difference within error): CRPS +0.5 %.", 0),
    ((2, 1.99, 12), (.003, .5), .94, (), RED,
     "The population split is better: CRPS of this map +0.5 %.", 0),
    ((2, 1.99, 12), (np.nan, .5), .94, (), RED, "The population split is better:", 0),
    ((2, 1.99, 12), (np.inf, .5), .94, (), RED, "The population split is better:", 0),
    ((2, 2, 12), (np.nan, .5), .94, (), AMBER, "No better than the population split", 0),
    ((2, 1.99, 1.98), (.5, .5), .94, (), AMBER, "No better than one flat rate", 1),
    ((2, 1.99, 2.5), (.5, .4), .94, (), AMBER, "No better than the population split", 1),
    ((2, 1.99, 12), (.5, .5), .60, ("d",), RED, "Do not rely on its intervals. CRPS +0.5 %", 3),
    ((2, 10, 1), (.5, .3), .60, ("d",), RED, "One flat rate is better: CRPS of this", 2),
    ((2, 1.9, 1), (.5, .3), .94, (), RED, "One flat rate is better: CRPS of this map +100 %", 0),
    ((2, 0, 12), (.5, .5), .94, (), RED,
     "The population split is better: CRPS of this map higher.", 0)]


@pytest.mark.parametrize("scores, errors, coverage, doubts, light, opening, count", CASES)
def test_sentence_light_and_numbers_agree(scores, errors, coverage, doubts, light, opening, count):
    ours, split, flat = scores
    found = judge(Evidence("CRPS", ours, {SPLIT: (split, errors[0]), FLAT: (flat, errors[1])},
                           coverage, "of the true rates"), 0.0, doubts)
    assert found.light == light and found.sentence.startswith(opening)
    assert f"{100 * coverage:.0f} % of the true rates" in found.sentence
    assert len(found.reasons) == count
    assert (light == GREEN) == found.sentence.startswith("Beats")


@pytest.mark.parametrize("coverage, light", [(0.64, RED), (0.85, AMBER), (0.94, GREEN),
                                             (0.999, AMBER), (np.nan, AMBER)])
def test_no_green_light_with_bad_coverage(coverage, light):
    assert judge(replace(GOOD, coverage=coverage), 0.0).light == light


@pytest.mark.parametrize("winner, said", [(SPLIT, "The population split is better"),
                                          (FLAT, "One flat rate is better"),
                                          (GLM, "The GLM on totals is better")])
@pytest.mark.parametrize("theirs", [1.0, 1.69])
def test_a_simple_map_that_is_better_is_named(winner, said, theirs):
    found = judge(replace(GOOD, rivals=GOOD.rivals | {winner: (theirs, 0.1)}), 0.0)
    assert found.light == RED and found.sentence.startswith(said)


def test_what_may_be_chance_or_extrapolates_mostly_is_not_green():
    close = judge(replace(GOOD, rivals={SPLIT: (2.5, 0.4)}), 0.0)
    assert close.light == AMBER and close.sentence.startswith(
        "Not clearly better than the population split: CRPS −20 %, which may be chance.")
    assert judge(GOOD, 0.6).light == AMBER
    for doubts in (doubts_of("stopped", 100, False), doubts_of("learnt", 100, False),
                   doubts_of("learnt", 12, True)):
        assert len(doubts) == 1 and judge(GOOD, 0.0, doubts).light == AMBER
    assert doubts_of("moved", 100, True) == ()


def test_better_is_what_a_mixture_calls_better_and_maps_that_were_not_scored_are_named():
    for errors, light in ((0.99 * SURE, AMBER), (1.01 * SURE, GREEN)):
        near = judge(replace(GOOD, rivals={FLAT: (2.0 + 0.4 * errors, 0.4)}), 0.0)
        assert near.light == light
    assert judge(replace(GOOD, rivals={FLAT: (2.1, 0.4)}), 0.0).sentence.startswith(
        "Not clearly better than one flat rate: CRPS −5 %, which may be chance.")
    left = judge(replace(GOOD, rivals=GOOD.rivals | {GLM: (np.nan, np.nan)}), 0.0)
    assert left.light == AMBER and left.reasons == (
        "the GLM on totals could not be scored",)


@pytest.mark.parametrize("gap, error, light", [(4.0, 1.0, GREEN), (2.0, 1.0, AMBER),
                                               (-1.0, 0.1, AMBER), (4.0, np.nan, AMBER),
                                               (0.0, 0.0, AMBER)])
def test_a_map_whose_lead_is_in_its_intervals_alone_is_not_green(gap, error, light):
    found = judge(replace(GOOD, maps={SPLIT: (gap, error), FLAT: (9.0, 1.0)}), 0.0)
    assert found.light == light and found.reasons == (() if light == GREEN else (
        "by the posterior mean alone it is not clearly better than the population split",))


def test_the_line_below_a_verdict_contradicts_praise_alone_and_repeats_nothing():
    unsure = replace(GOOD, rivals={SPLIT: (2.5, 0.4)})
    tied = replace(GOOD, rivals={SPLIT: (2.0, 0.4)})
    for evidence, weighed in ((unsure, words.may_be_chance_when_weighed),
                              (tied, words.no_better_when_weighed)):
        again = judge(evidence, 0.0, (weighed([SPLIT]),))
        assert again.reasons and reasons_of(said_once(again)) == ""
        assert said_once(again).light == again.light == AMBER
        assert reasons_of(said_once(judge(evidence, 0.0, (weighed([SPLIT]), words.few(9))))) == (
            "9 areas are a weak test.")
        other = said_once(judge(evidence, 0.0, (weighed([FLAT]),)))     # which is not said above
        assert reasons_of(other).startswith("When its models were weighted, it was n")
    praised = said_once(judge(GOOD, 0.0, (words.may_be_chance_when_weighed([SPLIT]),)))
    assert reasons_of(praised) == ("But when its models were weighted, it was not clearly better "
                                   "than the population split.")
    for praise in (words.beats, words.better):
        assert reasons_of(Verdict(AMBER, praise(SPLIT, "CRPS", "−9 %"), ("a",))) == "But a."
    assert reasons_of(judge(GOOD, 0.0)) == ""


@pytest.mark.parametrize("error", [np.nan, np.inf])
def test_a_lead_whose_error_is_not_known_is_not_sure(error):
    found = judge(replace(GOOD, rivals=GOOD.rivals | {SPLIT: (10.0, error)}), 0.0)
    assert found.light == AMBER and found.reasons == ()
    assert found.sentence.startswith("Not clearly better than the population split: CRPS −80 %, ")


def test_simple_maps_are_those_that_the_data_allow():
    counts = country(bags=12, size=2)
    assert list(recovery.simple_maps("vbagg", counts)) == [SPLIT, GLM, FLAT]
    assert list(recovery.simple_maps("constant", counts)) == [SPLIT, GLM]
    bare = counts.isel(covariate=[])
    assert list(recovery.simple_maps("vbagg", bare)) == [SPLIT, FLAT]
    means = counts.assign(value=("bag", counts["value"].values, {
        "kind": "continuous", "aggregation": "mean"}))
    for model in ("vbagg", "constant"):
        assert list(recovery.simple_maps(model, means)) == [FLAT]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::workbench.checks.FitWarning")
def test_a_mixture_that_doubts_itself_is_never_green(monkeypatch):
    few = tuple(one for one in candidates.CANDIDATES if one.name in ("flat", "slopes"))
    monkeypatch.setattr(candidates, "CANDIDATES", few)
    fit = wb.Auto(effort="quick", workers=1).fit(country(bags=24, size=4))
    rivals = fit.recovery["simple"].values.tolist()
    assert rivals == ["population split", "GLM on totals"]

    def doubts(**given):
        sure = {"difference": [-1.0, -1.0], "difference_error": [0.1, 0.1],
                "deviance_difference": [-1.0, -1.0], "deviance_difference_error": [0.1, 0.1]}
        fit.recovery = fit.recovery.assign(
            {name: ("simple", values) for name, values in (sure | given).items()})
        return doubts_of_mixture(fit)

    assert doubts() == () and judge(GOOD, 0.0, doubts()).light == GREEN
    for given, said in (
            ({"difference": [-1.0, 0.5]}, "the GLM on totals predicted held-out areas better"),
            ({"difference": [-1.0, 0.1]},
             "no better than the GLM on totals (difference within error)"),
            ({"difference": [-1.0, -0.25]}, "not clearly better than the GLM on totals"),
            ({"deviance_difference": [-0.25, -1.0]},
             "not clearly better than the population split (by the maps alone)")):
        found = doubts(**given)
        assert len(found) == 1 and said in found[0]
        assert judge(GOOD, 0.0, found).light == AMBER
    fit.recovery = None
    assert "not tested" in doubts_of_mixture(fit)[0]


@pytest.fixture(scope="module")
def preview():
    state = State()
    assert state.read("dataset=swiss-roll&granularity=10&model=vbagg&kernel=linear") == []
    spec = state.spec()
    return state, engine.scene(spec), engine.quick(spec)


def test_of_a_known_truth_it_is_what_the_scores_say(preview):
    _, scene, answer = preview
    scores = engine.scores(answer)
    found = of_scores(scores, "vbagg")
    at = scores["scores"].sel(target="rate", model="vbagg")
    assert found.ours == pytest.approx(float(at.sel(score="crps")))
    assert found.coverage == pytest.approx(float(at.sel(score="coverage_95")) / 100)
    assert set(found.rivals) == {SPLIT, FLAT}
    own = float(scores["scores"].sel(target="rate", model="own bag, by weight", score="crps"))
    assert found.rivals[SPLIT][0] == pytest.approx(
        min(own, float(scores["split_crps"].mean())))
    assert found.rivals[SPLIT][0] <= own and found.rivals[SPLIT][1] > 0
    assert scores["membership"].values.tolist() == scene.plain["membership"].values.tolist()
    assert set(of_scores(scores, "constant").rivals) == {SPLIT}


def shown(preview, **given):
    """A store that shows an answer as if nothing finer were known, and was fitted."""
    state, scene, answer = preview
    store = Store(state)
    store.param.update(scene=replace(scene, known=None), answer=replace(answer, kind="learnt"),
                       exceedance=np.zeros(answer.mean.size), **given)
    return store


def over(scores):
    """Mean over areas, then draws, then levels."""
    return float(scores.mean("area").mean("draw").mean("level"))


def test_what_stands_beside_every_fit_is_scored_once(monkeypatch):
    state = State()
    assert state.read(
        "dataset=swiss-roll&granularity=10&model=vbagg&kernel=linear") == []
    answer = engine.quick(state.spec())
    found, data = engine.scores(answer), engine.scene(answer.spec).plain
    others = engine._BESIDE.peek(engine.data_spec(answer.spec))
    wanted = wb.evaluate({"vbagg": answer.fit, "constant": others.flat}, data,
                         samples=engine.SAMPLES)
    xr.testing.assert_identical(found[list(wanted.data_vars)].drop_attrs().reset_coords(drop=True),
                                wanted.drop_attrs().reset_coords(drop=True))
    split = PopulationSplit().fit(data).given_totals()
    np.testing.assert_array_equal(found["split_crps"],
                                  crps_of(split, data, "rate", engine.SAMPLES, 0))
    monkeypatch.setattr(engine, "beside", None)         # not made again for another fit
    moved = engine.quick(replace(answer.spec, hyperparameters={"linear.variance": 0.3}))
    again = engine.scores(moved)
    assert found["scores"].sel(model="constant").equals(again["scores"].sel(model="constant"))
    assert not found["scores"].sel(model="vbagg").equals(again["scores"].sel(model="vbagg"))


def test_without_a_truth_areas_are_merged_and_found_again(preview):
    _, scene, answer = preview
    done = []
    found = recovery.recover(answer, scene.plain, lambda *told: done.append(told[:2]))
    assert done[-1][0] == done[-1][1] == len(done)
    assert found["model"].values.tolist() == ["vbagg", SPLIT, GLM, FLAT]
    evidence = of_recovery(found, "vbagg")
    assert evidence.tested == found.sizes["area"] > 2
    at, groups = found["area_scores"].sel(score="crps_sqrt"), found["group"]
    ours, theirs = at.sel(model="vbagg"), at.sel(model=GLM)
    assert set(evidence.rivals) == {SPLIT, GLM, FLAT}
    assert (evidence.score, evidence.ours) == ("CRPS of square roots", pytest.approx(over(ours)))
    assert evidence.rivals[GLM][0] == pytest.approx(over(theirs))
    errors = xr.apply_ufunc(clustered_error, theirs - ours, groups, vectorize=True,
                            input_core_dims=[["area"], ["area"]])
    assert 0 < evidence.rivals[GLM][1] == pytest.approx(
        float(np.sqrt((errors**2).mean("draw").mean("level"))))
    inside = found["area_scores"].sel(score="coverage_95", model="vbagg")
    assert evidence.coverage == pytest.approx(over(inside))
    maps = found["area_scores"].sel(score="deviance")
    assert evidence.maps[SPLIT][0] == pytest.approx(
        over(maps.sel(model=SPLIT)) - over(maps.sel(model="vbagg")))
    store = shown(preview, recovered=found)
    best = min(evidence.rivals.values())[0]
    assert (verdict_of(store).light == RED) == (best <= evidence.ours or evidence.coverage < 0.8)
    assert "held-out areas (merged" in verdict_of(store).sentence


def test_what_is_not_tested_has_no_colour(preview):
    store = shown(preview)
    strip = Strip(store)
    assert strip.light == OPEN and "Not yet tested" in strip.text.text and strip.test.visible
    store.testing = (3, 12)
    assert "3 of 12" in strip.text.text and strip.stop.visible and not strip.test.visible
    store.param.update(testing=(0, 0), untested="No verdict: nine areas are too few.")
    assert strip.light == OPEN and "too few" in strip.text.text
    store.answer = replace(store.answer, kind="start")
    assert strip.light == OPEN and strip.text.text.startswith("Preview, not fitted")
    assert not strip.test.visible


def test_a_test_can_be_stopped_and_what_stops_it_is_not_kept(preview):
    _, scene, answer = preview
    other = replace(answer, fitted=Fitted("fitted", "linear.variance:1"))

    def stop(*told):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        recovery.recover(other, scene.plain, stop)
    assert recovery.ready(other) is None
    assert isinstance(recovery.recover(answer, scene.plain, stop), xr.Dataset)     # kept before


@pytest.mark.parametrize("scores", [(2, 10, 12), (2, 2.1, 12), (2, 1.99, 12), (3, 1, 12)])
def test_a_report_says_what_the_page_says(preview, scores):
    ours, split, flat = scores
    gaps = np.subtract.outer(scores, scores)
    found = xr.Dataset(
        {"scores": (("model", "score"), [[one, one, 0.94] for one in (ours, split, flat)]),
         "difference": (("model", "other", "score"), np.stack([gaps] * 3, -1)),
         "difference_error": (("model", "other", "score"), np.full((3, 3, 3), 0.1))},
        {"model": ["vbagg", SPLIT, FLAT], "other": ["vbagg", SPLIT, FLAT],
         "score": ["crps", "deviance", "coverage_95"], "area": np.arange(100),
         "score_title": ("score", ["CRPS", "deviance", "95 %"])}, {"headline": "crps"})
    store = shown(preview, recovered=found)
    page, answer = verdict_of(store), store.answer
    maps = exporting.maps_of(answer, store.scene, 4.0)
    card = json.loads(maps.attrs["model_card"])
    report = reported(maps, card, judged=page)
    assert report.sentence == page.sentence
    assert report.kind == {GREEN: "good", AMBER: "care", RED: "bad"}[page.light]
    told = " ".join(point.text.lower() for point in report.points)
    assert all(reason.lower() in told for reason in page.reasons)
    # without the page the same rule has the last word on the same areas
    alone = next(point for point in reported(maps, card, recovered=found.assign_attrs(
        sentence="told.")).points if point.text.startswith("Areas recovered"))
    opening = judge(of_recovery(found, "vbagg"), answer.fit.outside_share).sentence
    assert opening in alone.text
    store.close()


def test_what_nothing_has_tested_is_reported_as_on_the_page(preview):
    store = shown(preview)
    page = verdict_of(store)
    report = reported(exporting.maps_of(store.answer, store.scene, 4.0), {}, judged=page)
    assert page.light == OPEN and (report.sentence, report.kind) == (page.sentence, "care")
    store.close()


def test_a_fit_that_failed_is_red_whatever_its_scores():
    found = judge(GOOD, 0.0, ("d",), ("the optimisation failed",))
    assert (found.light, found.sentence) == (
        RED, "Do not rely on this map: the optimisation failed.") and found.reasons == ("d",)
