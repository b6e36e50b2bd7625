"""The threshold of the exceedance: any number can be typed, and it has its unit wherever it is."""

import numpy as np
import pytest

from tests.ui.disaggregate.sessions import SMALL, Session
from tests.ui.kit import restored
from workbench.ui.disaggregate import labels
from workbench.ui.disaggregate.catalogue import Choice
from workbench.ui.disaggregate.kinds import COUNT, MEAN, TESTED
from workbench.ui.disaggregate.quantity import exceeded
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.stops import a_threshold
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.controls import Controls
from workbench.ui.disaggregate.views.maps import Maps


@pytest.fixture
def controls():
    found = Controls(Store(State()))
    yield found
    found.store.leave()


def test_a_typed_threshold_is_asked_for_exactly_and_is_in_the_address(controls):
    state, view = controls.store.state, controls.threshold
    view.typed.value = " 33.25 "
    assert state.threshold == 33.25 == view.select.value and view.typed.value == ""
    assert "33.25" in view.select.options and state.spec().threshold == 0.03325
    assert "threshold=33.25&" in state.query()
    again = restored(state, {"threshold": 33.25})
    assert again.threshold == 33.25 and again.query() == state.query()
    state.model, state.granularity = "vbagg", "region"         # other settings of the same data
    assert state.threshold == 33.25
    state.threshold = 50
    view.typed.value = "0.1234567"
    assert state.threshold == 0.123457                  # the digits that an address has
    assert view.typed.helper_text == "Rounded to six digits: 0.123457"
    assert not view.typed.error_state
    view.typed.value = "1234567"
    assert state.threshold == 1234570 and "1234570" in view.select.options
    assert view.typed.helper_text == "Rounded to six digits: 1234570"
    assert restored(state, {"threshold": 1234570.0}).threshold == 1234570
    view.typed.value = "0.00002"
    assert "0.00002" in view.select.options and view.typed.helper_text == ""
    view.typed.value = "0.1234567"
    assert "33.25" not in view.select.options
    state.dataset = "korea"
    assert state.threshold == state.choice.threshold and "0.123457" not in view.select.options


@pytest.mark.parametrize(("typed", "said"), [
    ("abc", labels.NO_NUMBER), ("nan", labels.NO_NUMBER), ("inf", labels.NO_NUMBER),
    ("1_0", labels.NO_NUMBER), ("1,5", labels.NO_COMMA), ("1,000", labels.NO_COMMA),
    ("0", labels.ABOVE_ZERO), ("−3", labels.ABOVE_ZERO)])
def test_what_is_no_threshold_is_said_and_changes_nothing(controls, typed, said):
    state, view = controls.store.state, controls.threshold
    before = state.query()
    view.typed.value = typed
    assert view.typed.error_state and view.typed.helper_text == said and view.typed.value == typed
    assert state.query() == before
    assert state.read(f"threshold={typed}") == [f"threshold={typed} (75 used)"]
    view.typed.value = "20"
    assert not view.typed.error_state and view.typed.helper_text == "" and state.threshold == 20


@pytest.mark.parametrize(("kind", "negative", "typed", "found"), [
    (TESTED, False, "0.15", 0.15), (TESTED, False, "15", None), (TESTED, False, "1", None),
    (TESTED, False, "0.9999999", None), (TESTED, False, "0.999999", 0.999999),
    (MEAN, True, "-2.5", -2.5), (MEAN, True, "−2.5", -2.5), (MEAN, True, "0", 0.0),
    (MEAN, False, "-2.5", None), (COUNT, False, "1e3", 1000.0)])
def test_what_can_be_a_threshold_depends_on_the_values(kind, negative, typed, found):
    choice = Choice("mine", {"all": "all"}, (1, 10), "km", (1,), 1, 1, 1.0, kind=kind,
                    negative=negative)
    value, why = a_threshold(choice, typed)
    assert value == found and bool(why) == (found is None)
    if (kind, typed) == (TESTED, "15"):
        assert why == "A share lies between 0 and 1; 15 % is 0.15"


@pytest.mark.parametrize(("noun", "threshold", "unit", "title"), [
    ("rate", 15, "deaths per 1,000 people", "P(rate > 15 deaths per 1,000 people)"),
    ("rate", 1500, "cases per 1,000 people", "P(rate > 1,500 cases per 1,000 people)"),
    ("rate", 15, "laboratory-confirmed cases per 1,000 people", "P(rate > 15 per 1,000 people)"),
    ("share", 0.15, "share", "P(share > 0.15)"), ("value", 30000, "USD", "P(value > 30,000 USD)"),
    ("value", 3, "value units", "P(value > 3)")])
def test_the_title_of_the_map_has_the_unit_of_the_threshold(noun, threshold, unit, title):
    assert exceeded(noun, threshold, unit) == title


@pytest.mark.slow
def test_list_and_map_have_the_unit_and_the_map_is_of_what_was_typed(one_thread):
    state = State()
    assert state.read(f"{SMALL}&beside=exceedance") == []
    session = Session(state)
    store = session.maps()
    controls, maps = Controls(store), Maps(store)
    unit = store.scene.unit
    assert unit and controls.threshold.select.label == f"Threshold ({unit})"
    controls.threshold.typed.value = "4.321"
    assert maps.atlas.figures["exceedance"].title.text == exceeded("rate", 4.321, unit)
    np.testing.assert_allclose(store.exceedance, store.answer.predictive.exceedance(4.321).values)
    store.leave()
