"""Values that are no counts: what is asked of them, what models take them, and how maps say it."""

import tempfile
import time
from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
import pytest

from tests.ui.disaggregate.made_files import districts, grids, tif, written
from tests.ui.disaggregate.sessions import Session
from workbench.checks import InputError
from workbench.labelled import weighing
from workbench.labelled.held_out import ONE_SHARE
from workbench.ui.disaggregate import (
    engine,
    exporting,
    labels,
    messages,
    own,
    recovery,
    verdict_words,
)
from workbench.ui.disaggregate.catalogue import Choice
from workbench.ui.disaggregate.columns import beside
from workbench.ui.disaggregate.kinds import (
    AMOUNT,
    COUNT,
    KINDS,
    MEAN,
    TESTED,
    in_words_of,
    options_of,
)
from workbench.ui.disaggregate.remedies import remedies
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.controls import Controls
from workbench.ui.disaggregate.views.explained import areas
from workbench.ui.disaggregate.views.maps import Maps
from workbench.ui.disaggregate.views.own import Own
from workbench.ui.disaggregate.views.scores import Scores
from workbench.ui.disaggregate.views.verdict import OPEN, Strip, verdict_of

pytestmark = pytest.mark.usefixtures("removed", "one_thread")


def surveyed() -> geopandas.GeoDataFrame:
    """The districts with incomes and their standard errors, and with tests for a disease."""
    frame, (height, people) = districts(), grids()
    rng = np.random.default_rng(3)

    def summed(values):
        return values.reshape(3, 6, 4, 6).sum(axis=(1, 3)).ravel()

    frame["mean_income"] = summed(people * 30_000 * np.exp(height / 200)) / summed(people)
    frame["income_se"] = 0.01 * frame["mean_income"]
    frame["per_100"] = np.round(100 * frame["cases"] / summed(people), 2)
    frame["tested"] = rng.integers(50, 200, len(frame))
    frame["positive"] = rng.binomial(frame["tested"], frame["cases"] / summed(people))
    return frame


@pytest.fixture
def contents(tmp_path) -> dict[str, bytes]:
    height, people = grids()
    return {"districts.gpkg": written(surveyed(), tmp_path / "s.gpkg"),
            "height.tif": tif(height, tmp_path), "people.tif": tif(people, tmp_path)}


def used(contents, value: str, kind: str, column: str = "", unit: str = "") -> State:
    """A state in which these files are the data."""
    files = own.kept(contents)
    given = own.options_of(files, value, "people.tif", "district",
                           read=options_of(kind, column, unit))
    found = own.check(*given)
    assert found.ok and not found.of("warning")
    state = State()
    state.add("own-1", own.choice_of(found.data, own.title_of(files), *given))
    return state


def until_checked(view: Own) -> None:
    """Wait for the check that is under way."""
    deadline = time.monotonic() + 20
    while messages.CHECKING in view.told.object:
        assert time.monotonic() < deadline and not view.store.error, view.store.error
        time.sleep(0.02)


@pytest.mark.parametrize("value, kind, column, unit, shown", [
    ("mean_income", MEAN, "income_se", "USD", "USD"),
    ("cases", AMOUNT, "", "", "value units per 1,000 persons"),
    ("positive", TESTED, "tested", "", "share")])
def test_every_model_that_is_offered_maps_values_of_a_kind(
        contents, value, kind, column, unit, shown):
    state = used(contents, value, kind, column, unit)
    assert state.choice.kind == kind
    for model in state.param.model.objects:
        state.model = model
        if model in state.impossible("model"):
            assert (kind, model) == (TESTED, "aggregated-gp")
            continue
        for link in state.param.link.objects:
            if model != "vbagg" and link not in ("exp", "logit"):
                continue
            state.link = link
            session = Session(state)
            store = session.maps()
            assert store.error == "", (model, link)
            assert store.scene.unit == shown
            assert np.isfinite(store.answer.std).all()
            data, rates = store.scene.data, store.answer.mean
            total = np.average(rates, weights=data["weight"].values)
            if kind == AMOUNT:
                observed = float(data["value"].sum() / data["weight"].sum())
            else:
                people = np.bincount(data["membership"].values, data["weight"].values)
                share = data["value"] / data["trials"] if kind == TESTED else data["value"]
                observed = np.average(share, weights=people)
            assert total == pytest.approx(observed, rel=0.15), (model, link)
            shares = kind == TESTED and model != "constant"     # whose areas have effects
            assert bool(state.inapplicable("area_effect")) != shares, (model, link)
            store.close()


def test_values_below_zero_are_followed_by_rates_that_can_be(contents):
    frame = surveyed().assign(temp=np.linspace(-12.0, 3, 12))
    with_temperature = contents | {"districts.gpkg": _packed(frame)}
    state = used(with_temperature, "temp", MEAN)
    assert state.choice.negative and list(state.param.link.objects) == ["identity"]
    state.model = "vbagg"
    session = Session(state)
    assert session.maps().error == "" and session.maps().answer.mean.min() < 0
    session.store.close()


def _packed(frame) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return written(frame, Path(folder) / "s.gpkg")


def test_one_column_of_numbers_is_not_offered_as_positives_of_those_tested(contents):
    alone = contents | {"districts.gpkg": _packed(surveyed()[["district", "cases", "geometry"]])}
    view = Own(Store(State()))
    try:
        view.drop.param.update(filename=list(alone), value=list(alone.values()))
        assert list(view.values.kind.options.values()) == [COUNT, MEAN, AMOUNT]
    finally:
        view.store.leave()


@pytest.mark.parametrize(("names", "column", "expected"), [
    (["income_se", "age_se"], "mean_income", ["income_se"]), (["se"], "income", ["se"]),
    (["std_error"], "income", ["std_error"]), (["income_moe", "income_sd"], "income", [])])
def test_standard_errors_are_those_of_the_column(names, column, expected):
    assert beside(names, "standard_error", column) == expected


def test_what_suits_counts_is_not_kept_for_other_values_nor_the_other_way():
    state = State()
    made = {"lengthscales": (1, 10), "unit": "km", "thresholds": (1,), "threshold": 1, "factor": 1,
            "spread": 1.0, "granularities": {"all": "all"}}
    state.param.update(model="vbagg", link="square", likelihood="negative-binomial")
    state.add("own-1", Choice("incomes", kind=MEAN, **made))
    assert (state.link, state.likelihood) == ("exp", "normal")
    assert state.inapplicable("overdispersion") == labels.OWN_SD
    assert state.spec().options["nugget"] == "learn"
    state.model = "constant"                # whose nugget goes by the values, unless it is fixed
    assert "nugget" not in state.spec().options
    state.nugget = next(one for one in state.param.nugget.names.values() if one != "learn")
    assert state.spec().options["nugget"] == state.nugget
    state.param.update(model="vbagg", nugget="learn")
    state.add("own-2", Choice("tests", kind=TESTED, **made))
    assert (state.link, state.likelihood) == ("logit", "binomial")
    assert not state.inapplicable("nugget")
    assert "nugget" not in state.spec().options             # the default, where areas have places
    assert not state.inapplicable("overdispersion") and not state.inapplicable("area_effect")
    assert "overdispersion" not in state.spec().options     # by default, of up to 2,000 areas
    state.overdispersion = "none"
    assert state.spec().options["overdispersion"] == "none" and state.inapplicable("area_effect")
    assert state.inapplicable("nugget") == labels.NO_NUGGET
    assert "nugget" not in state.spec().options
    state.dataset = "korea"
    assert (state.link, state.likelihood, state.choice.kind) == ("exp", "poisson", COUNT)
    state.model = "aggregated-gp"
    assert state.impossible("dataset")["own-2"] == labels.NEEDS_BINOMIAL


def test_shares_are_told_of_in_their_own_words_and_are_shares(contents):
    state = used(contents, "positive", TESTED, "tested")
    maps = Maps(Store(state))
    assert maps._caption_of("observed") == "All that the model sees: one share per area."
    assert "split" not in state.param.beside.names.values()     # there is no total to split
    state.param.update(model="vbagg", kernel="linear")
    scene = engine.scene(state.spec())
    found = engine.quick(state.spec()).fit.explain(scene.data, 0)
    frame = surveyed().set_index("district")
    share = (frame["positive"] / frame["tested"])[found["bag"].values.astype(str)]
    np.testing.assert_allclose(found["rate_observed"], share)
    assert "observed (share)" in areas(found, scene.factor, scene.unit)
    assert messages.place_of([("x", 530500.0), ("y", -20.5)], "7") == "x 530,500, y −20.5 in area 7"


@pytest.mark.parametrize("model", ["vbagg", "constant"])
def test_maps_of_shares_are_tested_by_areas_held_out(contents, model, monkeypatch):
    state, seen = used(contents, "positive", TESTED, "tested"), []
    state.param.update(model=model, kernel="linear")
    scene, answer = engine.scene(state.spec()), engine.quick(state.spec())
    areas, fit = set(scene.data["bag"].values.tolist()), weighing.AsFitted.fit

    def watched(self, ds):
        seen.append(set(ds["bag"].values.tolist()))
        return fit(self, ds)

    monkeypatch.setattr(weighing.AsFitted, "fit", watched)
    told = []
    found = recovery.recover(answer, scene.plain, lambda *one: told.append(one[:2]))
    assert len(seen) > 1 and all(one < areas for one in seen)
    assert sum(len(areas - one) for one in seen) == len(areas)      # each is held out once
    assert told[-1][0] == told[-1][1] == len(told) == 2 * len(seen)
    assert found["model"].values.tolist() == [model, ONE_SHARE]
    assert recovery.ready(answer).equals(found)
    store = Store(state)
    store.param.update(scene=scene, answer=replace(answer, kind="learnt"))
    strip, scores = Strip(store), Scores(store)
    assert strip.test.visible and "come with the test" in scores.held_out.object
    store.testing = (2, 8)
    assert "predicting areas from the other areas, 2 of 8" in strip.text.text
    assert "Areas are held out in turns" in strip.reasons.text
    store.param.update(testing=(0, 0), recovered=found)
    assert not strip.test.visible and strip.light != OPEN
    assert "the share of all areas" in strip.text.text and "CRPS of shares" in strip.text.text
    assert "% of the held-out areas (predicted from the others)" in strip.text.text
    assert "merged" not in strip.text.text + scores.held_out.object
    assert "√n asin √share" in scores.held_out.object and "Share of all" in scores.held_out.object
    page = exporting.report(store.answer, scene, 0.2, check=None, recovered=found,
                            axes=state.choice.axes, verdict=verdict_of(store))
    store.leave()
    assert "<h2>Areas predicted from the others</h2>" in page and "Areas held out" in page
    assert "Held out in turns, 12 areas are predicted from the others" in page
    assert "merged" not in page


def test_a_model_of_shares_that_cannot_be_tested_is_said(contents, monkeypatch):
    state = used(contents, "positive", TESTED, "tested")
    state.param.update(model="vbagg", kernel="linear")
    scene, answer = engine.scene(state.spec()), engine.quick(state.spec())

    def fails(self, ds):
        raise InputError("no areas that are alike")

    monkeypatch.setattr(weighing.AsFitted, "fit", fails)
    with pytest.raises(InputError, match="no areas that are alike"):
        recovery.recover(answer, scene.plain, lambda *_: None)
    assert recovery.ready(answer) is None


def test_the_sidebar_follows_data_of_another_kind_and_back():
    """Options that are disabled, as identity beside Poisson, may not be there for other values."""
    state = State()
    controls = Controls(Store(state))
    made = {"lengthscales": (1, 10), "unit": "km", "thresholds": (1,), "threshold": 1, "factor": 1,
            "spread": 1.0, "granularities": {"all": "all"}}
    first = state.dataset
    for name, kind in (("own-1", TESTED), ("own-2", MEAN), ("own-3", AMOUNT), ("own-4", COUNT)):
        state.add(name, Choice(kind, kind=kind, **made))
        for model in state.param.model.objects:
            if model in state.impossible("model"):
                continue
            state.model = model
            for link in set(state.param.link.objects) - set(state.impossible("link")):
                state.link = link
                for each in controls.widgets.values():
                    if hasattr(each, "disabled_options"):
                        assert set(each.disabled_options) < set(each.values)
        state.model = "vbagg"
        for other in (first, name):
            state.dataset = other
            assert controls.widgets["link"].values == state.param.link.objects
    assert controls.widgets["link"].disabled_options == ["identity"]


def test_means_are_told_of_in_their_own_words_and_are_not_split(contents):
    state = used(contents, "mean_income", MEAN, "income_se", "USD")
    assert "split" not in state.param.beside.names.values()
    assert state.read("beside=split") == ["beside=split (observed used)"]
    maps = Maps(Store(state))
    assert maps._caption_of("observed") == "All that the model sees: one mean per area."
    assert "no mean tests the map" in maps._caption_of("beyond")
    for text in (messages.IN_SAMPLE, messages.SCORED["bag"]):
        assert "total" in text and "total" not in in_words_of(MEAN, text)
        assert in_words_of(COUNT, text) == text
    assert "totals of merged" in verdict_words.scores(COUNT)
    assert "total" not in verdict_words.scores(MEAN) and "merged" in verdict_words.scores(MEAN)
    counts = used(contents, "cases", COUNT)
    assert "split" in counts.param.beside.names.values()


def test_the_dialog_asks_what_a_column_holds_and_guesses_by_its_name(contents):
    view = Own(Store(State()))
    try:
        view.drop.param.update(filename=list(contents), value=list(contents.values()))
        values = view.values
        assert (values.column.value, values.kind.value) == ("cases", COUNT)
        assert not values.second.visible and not values.unit.visible and values.options == {}
        values.column.value = "mean_income"
        assert values.kind.value == MEAN and values.second.visible and values.unit.visible
        assert values.second.label == labels.STANDARD_ERRORS
        assert values.options == options_of(MEAN, "income_se")
        values.second.value, values.unit.value = "", " USD "
        assert values.options == options_of(MEAN, "", "USD")
        values.column.value, values.kind.value = "positive", TESTED
        assert values.second.value == "tested" and not values.unit.visible
        assert values.options == {"trials": "tested"}
        values.column.value, values.unit.value = "mean_income", "USD"
        values.column.value = "cases"           # another column is another kind, in another unit
        assert values.kind.value == COUNT and values.unit.value == ""
        values.kind.value = MEAN
        view._take({"more.csv": b"district,x\nDistrict 1,2\n"})      # what was chosen stays
        assert values.kind.value == MEAN
        view._hold({})
        assert values.kind.value == COUNT and values.options == {}
    finally:
        view.store.leave()


def test_rates_that_were_taken_for_counts_are_taken_for_rates_at_a_press(contents):
    store = Store(State())
    view = Own(store)
    try:
        view.drop.param.update(filename=list(contents), value=list(contents.values()))
        view.values.column.value = "per_100"
        assert view.values.kind.value == COUNT          # its name does not tell
        view._check()
        until_checked(view)
        [odd] = [one for one in store.own.findings if one.code == "rates"]
        [press] = remedies(odd, view._given[1])
        assert press.label == f"These are {KINDS[MEAN].label}"
        view._apply(press)
        assert view.values.kind.value == MEAN
        until_checked(view)
        assert store.own.ok and not store.own.of("warning")
        assert store.own.data["value"].attrs["aggregation"] == "mean"
    finally:
        store.leave()
