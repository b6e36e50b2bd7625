"""A fit in a state: its URL has all that makes it again, and belongs to its settings alone."""

import pytest

from tests.ui.kit import restored
from workbench.ui.base.fitted import CANCELLED, FITTED, MOST, PREVIEW, read, written
from workbench.ui.disaggregate import mixtures
from workbench.ui.disaggregate.fitted import (
    UNFITTED,
    Fitted,
    read_mixture,
    written_mixture,
)
from workbench.ui.disaggregate.state import State

HYPERPARAMETERS = {"linear.variance": {"value": 0.25, "unit": ""},
                   "rbf.lengthscale": {"value": [1.5, 2e-05], "unit": "km"},
                   "area.std": {"value": 0.123456789012, "unit": ""}}
TEXT = "linear.variance:0.25,rbf.lengthscale:1.5/2e-05,area.std:0.123456789"


def learnt(state, at="linear.variance:0.25,area.std:0.3"):
    state.keep(Fitted(FITTED, at))
    return state


def test_hyperparameters_are_text_and_back():
    assert written(HYPERPARAMETERS, {}) == TEXT
    fit = Fitted(FITTED, written(HYPERPARAMETERS, {"linear.variance": 0.3}))
    assert fit.at.startswith("linear.variance:0.3!,")
    assert fit.fixed == {"linear.variance": 0.3}
    assert fit.values == {"linear.variance": 0.3, "rbf.lengthscale": [1.5, 2e-05],
                          "area.std": 0.123456789}
    assert UNFITTED.values == {} and read("") == {}


MIXTURE = {"flat": {"weight": 0.0, "hyperparameters": {"mean": {"value": 1.0}}},
           "slopes + place": {"weight": 0.75, "hyperparameters": HYPERPARAMETERS},
           "all at once, transformed": {"weight": 0.25, "hyperparameters": {}}}
MIXED = ("slopes-place:0.75,slopes-place/linear.variance:0.25,slopes-place/rbf.lengthscale:"
         "1.5/2e-05,slopes-place/area.std:0.123456789,all-at-once-transformed:0.25")


def test_mixtures_are_text_and_back_without_what_has_no_weight():
    assert written_mixture(MIXTURE) == MIXED
    mixture = Fitted(FITTED, MIXED).mixture
    assert list(mixture) == ["slopes-place", "all-at-once-transformed"]
    assert mixture["slopes-place"] == {"weight": 0.75, "hyperparameters": {
        "linear.variance": 0.25, "rbf.lengthscale": [1.5, 2e-05], "area.std": 0.123456789}}
    assert Fitted(FITTED, TEXT).mixture == {} and read_mixture("") is None


def test_long_mixtures_have_fewer_digits_and_no_address_is_longer_than_what_is_read():
    def many(count):
        one = {"value": [1 / 3] * count}
        return {"place": {"weight": 1.0, "hyperparameters": {"matern32.lengthscale": one}}}

    short, long = written_mixture(many(100)), written_mixture(many(450))
    assert "0.333333333/" in short and "/0.33333/" in long and len(long) <= MOST
    assert len(read_mixture(long)["place"]["hyperparameters"]["matern32.lengthscale"]) == 450
    assert written_mixture(many(600)) == ""


@pytest.mark.parametrize("text", [
    "place:0", "place:-0.5", "place:2", "place:0.5/0.5", "place/a:1", "place:0.5!",
    "place:0.5,flat/a:1", "place:0.5,place/a:1!", "place:0.5,place:0.5", "a"])
def test_other_text_is_no_mixture(text):
    assert read_mixture(text) is None


@pytest.mark.parametrize("text", ["a", "a:", "a:b", ":1", "a:1,a:2", "a:1!!", "a:nan", "a:1e999",
                                  "a:1/", "a:" + "1" * 5000, "a:--1"])
def test_other_text_is_no_hyperparameters(text):
    assert read(text) is None


def test_urls_carry_the_fit():
    state = learnt(State(dataset="korea", model="vbagg", lengthscale=50.0))
    assert "status=fitted&at=linear.variance:0.25,area.std:0.3" in state.query()
    assert restored(state, {"status": FITTED}).fitted == state.fitted


def test_other_settings_are_not_fitted_and_the_fit_comes_back_with_its_own():
    state = learnt(State(model="vbagg", kernel="linear"))
    fit = state.fitted
    for name, other in (("kernel", "linear+matern32"), ("likelihood", "negative-binomial"),
                        ("granularity", "region"), ("nugget", 0.1), ("model", "centre-point")):
        before = getattr(state, name)
        setattr(state, name, other)
        assert state.fitted == UNFITTED, name
        setattr(state, name, before)
        assert state.fitted == fit, name
    state.threshold, state.variance, state.area_effect = 30, 0.1, False
    assert state.fitted == fit


def test_undoing_a_fit_shows_the_preview_though_the_session_knows_the_fit():
    state = State(model="vbagg")
    before = state.query()
    learnt(state)
    assert state.read(before) == [] and state.fitted == UNFITTED


@pytest.mark.parametrize(("query", "status", "told"), [
    ("model=vbagg&status=fitted&at=a:1", FITTED, []),
    ("model=vbagg&status=cancelled&at=a:1", CANCELLED, []),
    ("model=vbagg&status=fitted", FITTED, []),                  # is learnt again
    ("status=fitted", FITTED, []),                              # as a mixture is
    ("status=fitted&at=place:1,place/mean:2", FITTED, []),
    ("status=cancelled&at=place:1", CANCELLED, []),
    ("status=fitted&at=mean:2", FITTED, ["at=mean:2 (not hyperparameters; ignored)"]),
    ("status=cancelled", PREVIEW, ["status=cancelled (preview used)"]),
    ("model=vbagg&at=a:1", PREVIEW, []),
    ("model=vbagg&status=fitted&at=evil", FITTED, ["at=evil (not hyperparameters; ignored)"]),
    ("status=done", PREVIEW, ["status=done (preview used)"])])
def test_a_status_without_its_fit_is_put_right(query, status, told):
    state = State()
    assert state.read(query) == told
    taken = not told and status != PREVIEW and "at=" in query
    assert (state.status, state.at) == (status, query.partition("at=")[2] if taken else "")


@pytest.mark.parametrize(("name", "wrong", "needed"), [
    ("link", "identity", {"likelihood": "normal"}),
    ("likelihood", "poisson", {"link": "exp"}),
    ("likelihood", "negative-binomial", {"link": "exp"}),
    ("model", "aggregated-gp", {"dataset": "korea"})])
def test_what_cannot_work_is_not_offered_until_it_can(name, wrong, needed):
    state = State(model="vbagg")
    if name == "likelihood":
        state.likelihood, state.link = "normal", "identity"
    reason = state.impossible(name)[wrong]
    assert len(reason) > 20
    for other, value in needed.items():
        setattr(state, other, value)
    assert wrong not in state.impossible(name)


@pytest.mark.parametrize(("query", "told"), [
    ("model=vbagg&link=identity&likelihood=poisson", "likelihood=poisson (normal used)"),
    ("model=aggregated-gp", "model=aggregated-gp (auto used)")])
def test_urls_that_cannot_work_are_put_right_in_a_few_words(query, told):
    state = State()
    assert state.read(query) == [told]
    for name in ("link", "likelihood", "model"):
        assert getattr(state, name) not in state.impossible(name)


def test_nuggets_scale_with_the_link():
    state = State(model="vbagg", likelihood="normal")
    stops = {link: None for link in ("exp", "square", "identity")}
    for link in stops:
        state.link = link
        stops[link] = list(state.param.nugget.names.values())
    assert stops["exp"] == ["learn", 0.0, 0.1, 0.2, 0.3, 0.5]
    spread = state.choice.spread
    assert stops["identity"][2:] == pytest.approx([s * spread for s in stops["exp"][2:]])
    assert max(stops["square"][2:]) == pytest.approx(0.5 * spread**0.5, rel=0.01)


def test_a_single_model_whose_text_looks_like_a_mixture_keeps_its_values():
    fitted = Fitted(FITTED, "mean:0.5,linear.variance:0.5")
    assert mixtures.values_of("centre-point", fitted, None) == {
        "mean": 0.5, "linear.variance": 0.5}
