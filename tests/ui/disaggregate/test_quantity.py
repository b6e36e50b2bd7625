"""What numbers are called and measured in: rates, shares and values; times, steps and models."""

import re
from dataclasses import replace

import pytest

from tests.ui.disaggregate.sessions import SMALL, Session
from tests.ui.disaggregate.test_kinds import contents, used  # noqa: F401 (a fixture)
from workbench.ui.disaggregate import engine, exporting, layers, messages, scale
from workbench.ui.disaggregate.kinds import COUNT, MEAN, TESTED, in_words_of
from workbench.ui.disaggregate.state import LEARNT, State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views.bar import Numbers
from workbench.ui.disaggregate.views.colours import scales
from workbench.ui.disaggregate.views.controls import Controls
from workbench.ui.disaggregate.views.explained import numbers
from workbench.ui.disaggregate.views.lengthscale import Lengthscale

pytestmark = pytest.mark.usefixtures("removed", "one_thread")
KINDS = [("positive", TESTED, "tested", "", "share", ""),
         ("mean_income", MEAN, "income_se", "USD", "value", " USD"),
         ("mean_income", MEAN, "", "", "value", ""),
         ("cases", COUNT, "", "", "rate", " cases per 1,000 persons")]


@pytest.mark.parametrize(("value", "kind", "column", "unit", "noun", "told"), KINDS)
def test_numbers_are_called_what_they_are_and_have_a_unit_where_there_is_one(
        contents, value, kind, column, unit, noun, told):  # noqa: F811
    state = used(contents, value, kind, column, unit)
    state.param.update(model="constant")
    scene, answer = engine.scene(state.spec()), engine.quick(state.spec())
    store = Store(state)
    store.threshold = state.threshold
    store.param.update(scene=scene, answer=answer,
                       exceedance=answer.exceedance(state.spec().threshold))
    said = Numbers(store).text.text
    assert re.search(rf"Mean {noun} [\d.,]+{told}; fine map from", said), said
    assert f"the {noun} is more likely than not above" in said
    for rate, spread in (scales(scene, None, False), scales(scene, None, True)):
        assert re.match(rf"{noun}: .*colours span [\d.,]+ to [\d.,]+{told}, ", rate.caption)
        assert re.search(rf"to [\d.,]+{told}, ", spread.caption) and f"{noun}s" in spread.source
    place = numbers(answer.fit.explain(scene.data, 0), scene.factor, scene.unit)
    assert re.search(rf">[\d.,]+{told}</td>", place), place
    taken = exporting.bundle(store)
    assert taken.settings["threshold"].endswith(f"{told}" if told else f"{state.threshold:g}")
    [about] = [one for one in taken.told if one.startswith("In files and programs")]
    assert f"{noun}s are" in about and ("weight" in about) == (kind == COUNT)
    store.leave()


def test_what_summands_add_up_to_is_said_of_shares_and_values():
    said = in_words_of(TESTED, messages.components(0.1, "logit", False))
    assert "their sum is the log odds of the share." in said and "rate" not in said
    assert "count" not in said
    said = in_words_of(MEAN, messages.components(0.1, "exp", False))
    assert "the exponential of their sum is the value." in said and "count" not in said
    assert "Rate times exposure is the expected count." in messages.components(0.1, "exp")


def test_layers_of_shares_are_in_the_words_of_shares(contents):  # noqa: F811
    state = used(contents, "positive", TESTED, "tested")
    state.param.update(model="vbagg", kernel="linear")
    scene, answer = engine.scene(state.spec()), engine.quick(state.spec())
    told = layers.layer(answer, scene, layers.COMPONENTS).told
    assert "log odds of the share" in told and "count" not in told
    assert "of 12 areas by share" in layers.layer(answer, scene, layers.RANKS).told


@pytest.mark.slow
def test_times_and_what_took_them_are_of_one_thing():
    for model in ("vbagg", "auto"):
        state = State()
        assert state.read(SMALL.replace("vbagg", model)) == []
        session = Session(state)
        store = session.maps()
        store.fit()
        answer = session.settled().answer
        badge, fit = Numbers(store).cost.label, answer.fit
        if model == "auto":     # the time of all of them, not beside the steps of one
            count = len(fit.candidates)
            assert f" · {count} models fitted in {fit.elapsed:.1f} s · " in badge
            assert f"{count} models, {fit.elapsed:.1f} s" in answer.summary
            assert f": {count} models were fitted in {fit.elapsed:,.1f} s" in exporting.bundle(
                store).report()
            assert "step" not in badge
            assert messages.reached(-1.0, -1.0, True).startswith(
                "The steps are those of the model with most weight.")
        else:
            took = f"{1000 * fit.elapsed:.0f} ms" if fit.elapsed < 1 else f"{fit.elapsed:.1f} s"
            assert f" · {len(fit.history)} steps in {took} · " in badge
            assert f"after {len(fit.history)} steps, {fit.elapsed:.1f} s" in answer.summary
            assert f": {len(fit.history)} steps in {fit.elapsed:,.1f} s" in exporting.bundle(
                store).report()
        # the same fit, opened from a file, took as long as it did when it was made
        store.answer = replace(answer, seconds=0.01, own=True)
        assert Numbers(store).cost.label == badge
        store.leave()


def test_no_lengthscale_of_former_settings_stands_beside_auto():
    state = State(model="vbagg")
    store = Store(state)
    view = Lengthscale(store)
    state.lengthscale = 50.0
    view._showing = True                            # as it shows a fit, without one here
    view._place(scale.Scale(42.0, 17.0, scale.FITTED, True, "matern32", 30.0, "km"))
    view._showing = False
    assert view.slider.value == 42.0
    state.model = "auto"
    assert list(view.slider.options) == [scale.BY_AUTO] and view.slider.marks == []
    assert view.slider.disabled and view.switch.disabled and not view.switch.value
    assert messages.MIXED in view.told.object
    state.model = "constant"
    assert list(view.slider.options) == [scale.NONE] and view.slider.disabled
    assert state.lengthscale == 50.0                # it is there again with a model that has it
    store.leave()


def test_choices_that_auto_makes_itself_are_disabled_with_the_reason():
    controls = Controls(Store(State(variance=0.1)))
    assert controls.store.state.variance != LEARNT
    for name in ("kernel", "variance", "nugget"):
        assert controls.widgets[name].disabled
        assert controls.widgets[name].description.startswith("Auto fits several kernels")
    slider = controls.widgets["variance"]           # a number would be one of former settings
    assert slider.label == f"Variance: {scale.BY_AUTO}" and not slider.show_value
    controls.store.state.model = "vbagg"
    assert slider.label == "Variance" and slider.show_value and not slider.disabled
    controls.store.leave()
