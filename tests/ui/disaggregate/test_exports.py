"""What is downloaded makes the maps again that were on the page, and says whether it was fitted."""

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
import xarray as xr

import workbench as wb
from tests.ui.disaggregate.sessions import SMALL, Session, outcome, stops
from tests.ui.kit import ran, restored
from workbench.checks import InputError
from workbench.ui.base.fitted import CANCELLED, FITTED, PREVIEW
from workbench.ui.base.session import pack, unpack
from workbench.ui.disaggregate import (
    engine,
    exploring,
    exporting,
    exports,
    keeping,
    messages,
    verdict_words,
)
from workbench.ui.disaggregate.engine import _ANSWERS, _SCORES, _WITHOUT_EFFECT
from workbench.ui.disaggregate.fitted import UNFITTED, Fitted
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.verdict import OPEN, Verdict
from workbench.ui.disaggregate.views.lengthscale import Lengthscale
from workbench.ui.disaggregate.views.report import Report
from workbench.ui.disaggregate.views.scores import Scores
from workbench.ui.disaggregate.views.verdict import Strip, verdict_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_thread")]
MIXTURE = SMALL.replace("vbagg", "auto")
NEAR = 0.02         # of the posterior's sd: q is found again, to a tolerance


@pytest.fixture
def begin():
    """Start sessions of a query, each as if in a server of its own; they end with the test."""
    sessions = []

    def make(query, fresh=True):
        if fresh:
            for cache in (_ANSWERS, _SCORES, _WITHOUT_EFFECT):
                cache._kept.clear()
        state = State()
        assert state.read(query) == []
        sessions.append(Session(state))
        return sessions[-1]

    yield make
    for session in sessions:
        session.store.close()


def fitted(begin, query=SMALL):
    session = begin(query)
    session.maps().fit()
    assert session.maps().answer.kind == "learnt"
    return session


@pytest.fixture(scope="module")
def mixture():
    """A session with a fit of auto, which takes longest."""
    state = State()
    assert state.read(MIXTURE + "&threshold=4") == []
    session = Session(state)
    session.maps().fit()
    assert session.settled().answer.kind == "learnt"
    yield session
    session.store.close()


def alike(first, second, tolerance=NEAR):
    mean, std = (second["mean"].values, second["std"].values) if isinstance(
        second, xr.Dataset) else (second.mean, second.std)
    assert (np.abs(first.mean - mean) / first.std).max() < tolerance
    np.testing.assert_allclose(std, first.std, rtol=tolerance)


def test_a_new_session_at_an_address_shows_what_was_there_and_nobody_elses_fit(begin):
    preview = begin(SMALL)
    before = preview.maps().answer
    mine = fitted(begin)
    theirs = begin(SMALL, fresh=False)          # in the same server, after a fit of mine
    alike(before, theirs.maps().answer, 1e-9)
    assert theirs.store.answer.kind == "start" and theirs.state.status == PREVIEW
    assert mine.state.status == FITTED and "status=fitted" in mine.state.query()
    same = begin(mine.state.query(), fresh=False)
    assert same.maps().answer is mine.store.answer
    elsewhere = begin(mine.state.query())       # another server
    shown = elsewhere.maps().answer
    assert shown.kind == "learnt" and shown.history == ()
    alike(mine.store.answer, shown)
    assert elsewhere.state.query() == mine.state.query()


def test_sliders_on_a_fit_are_found_again_too(begin):
    session = fitted(begin)
    session.state.variance = stops(session.state)[12]
    moved = session.maps().answer
    assert moved.kind == "moved" and session.state.status == FITTED
    again = begin(session.state.query()).maps().answer
    assert again.kind == "moved"
    alike(moved, again)


def test_a_fit_with_a_fixed_hyperparameter_is_no_moved_one(begin):
    session = begin(SMALL)
    session.state.variance = value = stops(session.state)[9]
    session.maps().fit()
    assert session.maps().answer.kind == "learnt" and f"linear.variance:{value:g}!" in (
        session.state.at)
    again = begin(session.state.query())
    assert again.maps().answer.kind == "learnt"
    alike(session.store.answer, again.store.answer)
    again.state.variance = "learnt"
    assert again.maps().answer.kind == "moved"


def test_a_cancelled_fit_is_in_the_address(begin):
    session = begin(SMALL + "&likelihood=negative-binomial")
    store = session.maps()
    store.param.watch(lambda event: store.cancel() if event.new else None, "history")
    store.fit()
    assert session.maps().answer.kind == "stopped" and session.state.status == CANCELLED
    again = begin(session.state.query()).maps().answer
    assert again.kind == "stopped"
    alike(store.answer, again)


def test_a_mixture_without_weights_in_its_address_is_learnt_and_a_cancelled_one_is_kept(begin):
    session = begin(MIXTURE + "&status=fitted")
    store = session.store
    session.wait(lambda: store.fitting and store.answer is not None)
    assert store.answer.kind == "start" and store.stoppable     # something to look at meanwhile
    store.cancel()
    stopped = session.settled().answer
    assert stopped.kind == "stopped" and session.state.status == CANCELLED
    assert session.state.at.startswith("flat:1,flat/mean:")     # the first is as far as it came
    again = begin(session.state.query()).maps().answer
    assert again.kind == "stopped" and again.restored
    np.testing.assert_array_equal(again.mean, stopped.mean)
    np.testing.assert_array_equal(again.std, stopped.std)


def test_a_fitted_mixture_is_found_again_to_the_digits_by_address_settings_and_program(
        begin, mixture, tmp_path):
    state, store = mixture.state, mixture.store
    shown, query = store.answer, state.query()
    assert shown.history and len(query) < 2000
    again = begin(query)
    found = again.maps().answer
    assert found.kind == "learnt" and found.restored and again.state.query() == query
    assert 0 not in found.fit.weights.values and "auto" == found.fit.model.name
    np.testing.assert_allclose(found.mean, shown.mean, rtol=1e-10)
    np.testing.assert_allclose(found.std, shown.std, rtol=1e-10)

    told = json.loads(exports.settings(shown, state))
    assert told["status"] == "fitted" and set(told["hyperparameters"]) == set(
        found.fit.candidates)
    maps = wb.run(wb.Spec.from_json(json.dumps(told)))
    np.testing.assert_allclose(maps["mean"], shown.mean, rtol=1e-10)
    (tmp_path / "maps.nc").write_bytes(exporting.bundle(store).file(".nc").getvalue())
    kept = wb.read(tmp_path / "maps.nc")
    assert kept.attrs["address"] == f"disaggregate?{query}"
    assert wb.Spec.from_json(kept.attrs["spec"]) == wb.Spec.from_json(maps.attrs["spec"])

    bundle = exporting.bundle(store)
    names = ran(bundle.program)
    np.testing.assert_allclose(names["maps"]["mean"], shown.mean, rtol=1e-10)
    np.testing.assert_allclose(names["maps"]["std"], shown.std, rtol=1e-10)
    page = bundle.table()
    assert list(names["table"]) == list(page)
    np.testing.assert_allclose(names["table"].select_dtypes("number"),
                               page.select_dtypes("number"), rtol=1e-8)


def test_the_best_model_of_auto_with_a_lengthscale_is_explored_alone_in_one_step(begin, mixture):
    session = begin(mixture.state.query())
    state, view = session.state, Lengthscale(session.maps())
    auto, before, heard = session.store.answer, state.query(), []
    weights = auto.fit.weights.to_series()
    name = max(set(weights.index) - {"flat", "slopes"}, key=weights.get)
    assert view.slider.disabled and not view.alone.disabled and view.alone.visible
    assert f"{100 * weights[name]:.0f} %" in view.told.object
    state.listen(lambda *events: heard.append(events), state.names())
    view.alone.clicks += 1
    assert heard == [()]                    # one change, and so one entry of the history
    one = auto.fit.candidates[name]
    shown = session.maps().answer
    assert (shown.kind, shown.spec.model, state.status) == ("learnt", "vbagg", FITTED)
    assert shown.spec.options["transform"] == one.model.options.transform
    mean = one.at(engine.scene(shown.spec).plain).mean
    np.testing.assert_allclose(shown.mean, mean, rtol=1e-6)
    length = one.hyperparameters["matern32.lengthscale"]["value"]
    assert not view.slider.disabled and view.slider.value == pytest.approx(length)
    assert [mark["label"] for mark in view.slider.marks] == ["fitted"] and not view.alone.visible
    assert restored(state, {"kernel": one.model.options.kernel}).fitted == state.fitted
    assert state.read(before) == [] and session.maps().answer.fit.model.name == "auto"
    assert view.alone.visible and view.slider.disabled


def test_a_model_with_other_variables_than_the_app_has_is_not_explored_alone(
        begin, mixture, monkeypatch):
    """Its map would be another one."""
    session = begin(mixture.state.query())
    answer = session.maps().answer
    assert exploring.best(answer, session.state)
    for fit in answer.fit.candidates.values():
        held = fit.inner.state
        monkeypatch.setattr(held, "options", replace(held.options, inducing=99))
    assert exploring.best(answer, session.state) is None


def test_an_address_with_a_model_that_auto_does_not_weigh_is_refused(begin):
    session = begin(MIXTURE + "&status=fitted&at=place:1,place/mean:1")     # no coordinates here
    store = session.maps()
    assert "'place' is none of the models that auto weighs" in store.error
    assert store.answer.kind == "start" and session.state.fitted == UNFITTED


def test_an_address_with_a_fit_of_another_model_is_refused_and_shown_as_preview(begin):
    session = begin(SMALL + "&status=fitted&at=rbf.period:3")
    store = session.maps()
    assert "cannot be made" in store.error and "press Fit" in store.error
    assert store.answer.kind == "start" and session.state.fitted == UNFITTED


@pytest.mark.parametrize("more", [
    "&nugget=0.2&variance=0.1", "&likelihood=negative-binomial&link=square",
    "&likelihood=normal&link=identity", "&model=centre-point&overdispersion=none",
    "&model=constant", "&model=auto", "&dataset=korea&granularity=30&kernel=linear"])
def test_the_settings_of_a_preview_make_the_same_map_on_the_command_line(begin, more):
    query = dict(part.split("=") for part in (SMALL + more).split("&"))
    session = begin("&".join(f"{name}={value}" for name, value in query.items()))
    answer = session.maps().answer
    text = exports.settings(answer, session.state)
    assert json.loads(text)["status"] == "preview"
    maps = wb.run(wb.Spec.from_json(text))
    alike(answer, maps)
    assert exports.file_name("settings", "a", answer, ".json") == "settings-a-preview.json"


def test_the_settings_and_maps_of_a_fit_carry_it(begin, tmp_path):
    session = fitted(begin, SMALL + "&area_effect=no")
    store, state = session.settled(), session.state
    spec = wb.Spec.from_json(exports.settings(store.answer, state))
    assert spec.hyperparameters["area.std"] == store.answer.fit.hyperparameters["area.std"]["value"]
    assert not spec.area_effect and json.loads(exports.settings(store.answer, state))["status"] == (
        "fitted")
    alike(store.answer, wb.run(spec))
    (tmp_path / "maps.nc").write_bytes(exporting.bundle(store).file(".nc").getvalue())
    maps = wb.read(tmp_path / "maps.nc")
    assert maps.attrs["status"] == "Fitted" and maps.attrs["spec_key"] == spec.key
    assert maps.attrs["address"] == f"disaggregate?{state.query()}"
    np.testing.assert_allclose(maps["mean"], store.answer.mean)


@pytest.mark.parametrize("model", ["vbagg", "auto"])
def test_a_session_file_shows_the_same_numbers_in_another_server(begin, mixture, model):
    session = mixture if model == "auto" else fitted(begin, SMALL + "&threshold=4")
    packed = session.settled().save()
    other = begin(SMALL + "&granularity=25")
    before = other.maps().answer
    assert other.store.open(packed) == []
    other.wait(lambda: other.store.answer is not before and other.store.work in ("scoring", ""))
    shown = other.store.answer
    assert other.state.query() == session.state.query()
    assert shown.kind == "learnt" and shown.history == session.store.answer.history
    np.testing.assert_allclose(shown.mean, session.store.answer.mean, rtol=1e-10)
    np.testing.assert_allclose(shown.std, session.store.answer.std, rtol=1e-10)
    np.testing.assert_allclose(other.store.exceedance, session.store.exceedance, rtol=1e-8)
    assert other.settled().scores is not None and other.store.error == ""
    stranger = begin(session.state.query().replace("status=fitted", "status=preview"), fresh=False)
    assert stranger.maps().answer.kind == "start"       # what was opened is of one session alone


def test_a_session_whose_fit_is_of_other_data_is_refused(begin):
    session = begin(SMALL)
    packed = session.maps().save()
    kept = unpack(packed, "disaggregate", [keeping.FIT])
    wrong = type(kept)(kept.query.replace("granularity=10", "granularity=25"), kept.facts,
                       kept.members)
    session.store.open(pack("disaggregate", wrong))
    session.wait(lambda: session.store.error)
    assert "of other data" in session.store.error
    broken = type(kept)(kept.query, kept.facts, {keeping.FIT: b"PK"})
    session.store.open(pack("disaggregate", broken))
    session.wait(lambda: "stored fit" in session.store.error)
    with pytest.raises(InputError, match="no session"):
        session.store.open(b"x")


def test_keys_tell_fits_apart():
    fits = {Fitted(), Fitted(FITTED), Fitted(FITTED, "a:1"), Fitted(CANCELLED, "a:1")}
    assert len(fits) == 4 and engine.ready(State().spec(), Fitted(FITTED, "a:1")) is None


def cards(store):
    """Hyperparameters by candidate, or of the one model, as files that are taken away have them."""
    answer, scene = store.answer, store.scene
    for maps in (exporting.maps_of(answer, scene, 4.0), exporting.bundle(store).maps()):
        card = json.loads(maps.attrs["model_card"])
        for one in card.get("candidates", [card]):
            yield from one["hyperparameters"]


def test_each_of_two_tests_of_a_mixture_is_said_to_be_which(begin, mixture):
    for session, both in ((mixture, True), (begin(SMALL), False)):
        store = session.maps()
        assert ("by which Auto chose its model weights" in Report(store)._text.object) == both
        store.recovered = outcome({"crps": "CRPS"}, auto=[1.0], flat=[2.0])
        told = Scores(store).held_out.object
        store.recovered = None
        assert "the test behind the verdict" in told
        assert ("an earlier, separate test" in told) == both


def test_files_have_the_verdict_and_the_summary_of_the_page(begin, mixture, tmp_path):
    import rasterio

    region = "dataset=simulated-country&granularity=province&model=constant"
    for session in (mixture, fitted(begin, region)):
        store = session.settled()
        verdict, about = verdict_of(store), re.sub("<[^>]+>", " ", unescape(
            Report(store)._text.object))
        shown = Strip(store)
        assert verdict.light != OPEN and verdict.reasons
        full = f"{shown.text.text} {shown.reasons.text}"
        bundle = exporting.bundle(store, verdict)
        files = {"nc": dict(bundle.maps().attrs), "html": exporting.maps_of(
            store.answer, store.scene, 4.0, verdict=verdict).attrs}
        if ".tif" in bundle.kinds:
            (tmp_path / "map.tif").write_bytes(bundle.file(".tif").getvalue())
            with rasterio.open(tmp_path / "map.tif") as file:
                files["tif"] = file.tags()
        for kind, attrs in files.items():
            assert attrs["verdict"] == full, kind
            assert " ".join(attrs["summary"].split()) == " ".join(about.split()), kind
        assert full in bundle.told and full in bundle.caption
        page = unescape(bundle.report())
        assert verdict.sentence in page
        assert all(one[1:] in page for one in verdict.reasons)
        # what weighed its models is another test, and is said to be
        weighed = session is mixture
        assert ("verdict_of_weights" in files["nc"]) == weighed
        assert ("by which Auto chose its model weights" in files["nc"]["summary"]) == weighed


def test_a_map_that_nothing_has_tested_has_no_verdict_of_another_test(mixture):
    maps = exporting.bundle(mixture.store).maps()
    assert "verdict" not in maps.attrs and maps.attrs["verdict_of_weights"]
    for said, full in (("Not yet tested on held-out areas.",) * 2, (
            verdict_words.STOPPED, verdict_words.STOPPED), (
            verdict_words.under_way(3, 10, "count"), verdict_words.UNTESTED), (
            messages.SCORING, verdict_words.UNTESTED), (messages.PREVIEW, verdict_words.UNTESTED)):
        bundle = exporting.bundle(mixture.store, Verdict(OPEN, said))
        assert bundle.maps().attrs["verdict"] == full
        assert full in bundle.told and bundle.caption.endswith(full)
    nothing = exporting.bundle(mixture.store, Verdict(OPEN, ""))
    assert "verdict" not in nothing.maps().attrs and len(nothing.told) == len(bundle.told) - 1


def test_what_was_learnt_is_told_as_learnt_and_only_what_a_slider_fixed_as_fixed(begin, mixture):
    learnt = list(cards(mixture.store))
    assert learnt and not any(one["fixed"] or one["prior"] == "fixed" for one in learnt)
    assert any(one["prior"].startswith("PC: ") for one in learnt)
    report = exporting.bundle(mixture.store).report()
    assert "fixed by the user" not in report and "prefers small" in report
    again = begin(mixture.state.query())            # made at the values of its address
    again.maps()
    assert not any(one["fixed"] for one in cards(again.store))
    session = fitted(begin, SMALL + "&nugget=0.1")
    session.state.variance = stops(session.state)[1]
    session.settled()
    assert {one["name"] for one in cards(session.store) if one["fixed"]} == {
        "linear.variance", "nugget.std"}
