"""State and store of the app "mediated": URLs, what is offered, learning, and the table."""


import numpy as np
import pandas as pd
import pytest
from bokeh.models import HoverTool

from tests.ui.kit import refused, restored, settled
from workbench.ui.base.fitted import EVIDENCE, PREVIEW
from workbench.ui.base.messages import BY_HAND, NOT_THERE, signed
from workbench.ui.mediated import exporting, messages
from workbench.ui.mediated.model import KINDS
from workbench.ui.mediated.state import State
from workbench.ui.mediated.store import Store
from workbench.ui.mediated.views.charts import Calibration, Charts, Curves
from workbench.ui.mediated.views.controls import LABELS, Controls
from workbench.ui.mediated.views.maps import AXIS, BEFORE, LEAST, SPARSE, Maps, pointed_at
from workbench.ui.mediated.views.page import headline


def small(**given) -> Store:
    store = Store(State(**{"side": 12} | given))
    store.refresh()
    return settled(store)


@pytest.mark.parametrize("given", [
    {"hour": 12, "level": 4, "side": 6, "share": 0.25, "split": 3, "model": "gpr",
     "mediator": "orography.place", "near": 56.0, "joint": "product"},
    {"source": "made", "draw": 2, "mediator": "cloud_cover", "near": 10.0, "kernel": "matern12.rbf",
     "lengthscale": 14.0, "detail": 0.8, "covariate": "cloud_albedo", "model": "s-cmp"}])
def test_a_state_survives_its_url(given):
    state = State(**given)
    assert restored(state, given).chosen == state.chosen


def test_bad_values_keep_the_default_and_are_named():
    problems = refused(State(), "?lengthscale=81&model=kriging&mediator=theta_1.place&colour=red")
    assert [p.split(" ")[0] for p in problems] == [
        "model=kriging", "lengthscale=81", "mediator=theta_1.place", "colour"]


def test_the_target_is_never_its_own_mediator():
    state = State(level=1)
    state.level = 19
    assert "theta_19" not in state.mediator
    assert not any("theta_19" in value for value in state.param.mediator.names.values())


def test_sliders_without_effect_say_why():
    state = State()
    assert state.inapplicable("draw") and not state.inapplicable("hour")
    state.param.update(model="gpr")
    assert state.inapplicable("far") and not state.inapplicable("lengthscale")
    state.param.update(model="cmp", mediator="place")
    assert state.inapplicable("near") and state.inapplicable("joint")
    state.param.update(share=0.0)
    assert state.inapplicable("split")
    assert {name for name in LABELS if name not in state.param} == set()


def test_files_of_the_users_own_are_offered_only_where_they_are(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    assert "cmip6" not in State().param.source.names.values()
    assert State().read("source=cmip6")[0].startswith("source=cmip6 (uk used)")


def test_models_share_bags_and_colours_and_keep_a_row_each():
    store = small()
    maps = Maps(store)
    ends = maps.mappers["value"].low, maps.mappers["value"].high
    bench, data = store.bench, store.answer.data
    for kind in KINDS.values():
        store.state.model = kind
        assert not store.work and store.bench is bench and store.answer.data is data
        assert (maps.mappers["value"].low, maps.mappers["value"].high) == ends
        assert messages.NAMES[kind] in headline(store.answer)
    assert [row["model"] for row in store.rows.values()] == list(messages.NAMES.values())
    store.state.model = "cmp"
    assert len(store.rows) == len(KINDS)
    store.state.split = 1                       # other data: rows beside those
    settled(store)
    assert len(store.rows) == len(KINDS) + 1
    kept = pd.read_csv(Charts(store).keep.callback(), dtype=str, keep_default_na=False)
    assert list(kept) == [*messages.HEADS, "address"] and len(kept) == len(store.rows)
    again = Store(State())
    assert again.state.read(kept["address"][0].partition("?")[2]) == []
    again.refresh()
    assert settled(again).rows == {next(iter(store.rows)): next(iter(store.rows.values()))}
    again.close()
    store.forget()
    assert len(store.rows) == 1
    store.close()


def test_the_verdict_names_interpolation_where_it_is_better():
    assert messages.verdict(0.30, 0.94, 0.24) == (
        "interpolation beats this model, whose error is 25 % larger", "error")
    assert messages.verdict(0.18, 0.73, 0.24) == (
        "better than interpolation, with doubts: error 25 % smaller, but intervals too narrow",
        "warning")
    assert messages.verdict(0.18, 0.999, 0.24)[0].endswith("too wide")
    assert messages.verdict(0.18, 0.94, 0.24)[1] == "success"
    assert messages.verdict(0.24, None, 0.24)[1] == "default"


def test_a_lengthscale_is_a_number_that_judges_nothing():
    said = {messages.ratio(value) for value in (0.1, 1.0, 4.4)}
    assert "Lengthscale of k: 4.4 blocks." in said
    assert not any(word in text for text in said for word in ("recover", "borderline", "resolve"))


@pytest.mark.parametrize("room", [(350, 700), (700, 800), (958, 800), (1598, 1080)])
def test_data_estimate_and_truth_stand_in_one_row_of_the_window(room):
    store = small()
    maps = Maps(store)
    maps.fit_into(*room)
    large = [maps.figures[name] for name in ("target", "mean", "truth")]
    assert len({(plot.frame_width, plot.frame_height) for plot in large}) == 1
    if room[0] > 600:
        assert [plot.yaxis[0].visible for plot in large] == [True, False, False]
        assert sum(plot.frame_width for plot in large) + AXIS <= room[0]
        assert large[0].frame_height + BEFORE <= max(room[1], LEAST + BEFORE)
        small_ones = [plot for plot in maps.figures.values() if plot not in large]
        assert not any(plot.yaxis[0].visible for plot in small_ones)
        assert max(plot.frame_width for plot in small_ones) <= large[0].frame_width
    else:
        assert all(0.8 * room[0] < plot.frame_width < room[0] for plot in maps.figures.values())
    store.close()


def test_the_baseline_is_the_error_of_interpolation():
    store = small()
    baseline = store.answer.baseline
    store.state.model = "bilinear"
    assert store.answer.scores["rmse"] == baseline == store.answer.baseline
    assert "interpolation" not in headline(store.answer)
    store.close()


def test_what_is_learnt_beyond_the_end_of_a_slider_is_said():
    store = Store(State())
    state = store.state
    state.keep({"ridge": 1e-9, "noise": 0.1}, -3.0)
    assert state.beyond == [] and "Beyond" not in store.status
    state.keep({"ridge": 1e-13, "lengthscale": 1e6, "noise": 0.1}, -3.0)
    assert state.beyond == ["ridge", "lengthscale"] and state.ridge == 1e-10
    assert "Beyond the range of the slider: λ, lengthscale of k; the targets hardly" in store.status
    store.close()


@pytest.mark.parametrize("query", [
    "model=bilinear&status=fitted&at=noise:0.1,evidence:1",         # learns nothing
    "status=fitted&at=near:0.28,evidence:1", "kernel=place&status=fitted&at=detail:400,evidence:1"])
def test_an_address_cannot_claim_a_fit_of_other_hyperparameters(query):
    state = State()
    assert f"status=fitted ({NOT_THERE})" in state.read(query)
    assert (state.status, state.at) == (PREVIEW, "")


def test_three_controls_first_and_the_rest_when_asked_for_or_set():
    store = Store(State(noise=0.2))
    assert Controls(store).rest.visible
    store.close()
    store = Store(State(side=8))
    controls = Controls(store)
    assert not controls.rest.visible and controls.more.label == messages.MORE
    controls._more()
    assert controls.rest.visible and controls.more.label == messages.FEWER
    store.close()


def test_only_new_bags_wait():
    store = small()
    first = store.answer
    store.state.param.update(far=100.0, lengthscale=40.0)
    assert not store.work and store.answer is not first
    store.state.side = 15
    assert store.work == messages.LOADING and store.stale
    settled(store)
    assert not store.stale and store.answer.setting.side == 15
    store.state.side = 12                       # kept
    assert not store.work
    store.close()


def test_learning_moves_the_sliders_and_raises_the_evidence():
    store = small(side=15, lengthscale=11.0, noise=0.56, model="aggregated-gp", share=0.0)
    before = store.answer.posterior.evidence
    store.learn()
    assert store.work == messages.LEARNING
    state = store.state
    settled(store)
    assert not store.work and store.answer.posterior.evidence > before
    assert store.status.startswith("Fitted to the targets: ")
    at_stops = signed(store.answer.posterior.evidence, ".1f")       # of what is shown
    for told in (store.status, exporting.bundle(store).report()):
        assert f"lengthscale of k {state.fit['lengthscale']:.3g} ({state.lengthscale:g}) km" in told
        assert f"log evidence {signed(state.fit[EVIDENCE], '.1f')} ({at_stops}). Shown, scored " \
               "and exported: the nearest stops of the sliders, in brackets." in told
    assert next(reversed(store.rows.values()))["address"] == f"mediated?{state.query()}"
    again = State()                         # somebody else at the same address
    assert again.read(state.query()) == [] and again.fit == state.fit
    store.state.noise = 1.0
    assert store.status == BY_HAND and (state.status, state.at) == (PREVIEW, "")
    state.model = "bilinear"
    assert store.status == ""
    store.close()


def test_a_cancelled_fit_keeps_its_best_and_a_cancelled_map_the_old_one():
    store = small(side=10)
    store.learn()
    store.cancel()
    settled(store)
    shown = store.answer
    store.whole()
    store.cancel()
    settled(store)
    assert store.answer is shown
    store.close()


def test_the_map_in_full_is_finer_and_gives_way_to_sliders():
    store = small(side=15, share=0.75)
    store.whole()
    settled(store)
    assert store.answer.data.fine
    thin = store.answer.data.world.place.thin
    store.state.noise = 0.2
    assert not store.answer.data.fine and len(store.rows) == 2
    assert thin == 3
    store.close()


def test_what_is_seen_is_said():
    store = small(side=8, mediator="place", far=4.0, ridge=1e-4)
    assert "No bag is similar to any target" in headline(store.answer)
    store.state.share = 0.0
    settled(store)
    store.state.ridge = 1e-7
    assert "CMP equals the aggregated GP" in headline(store.answer)
    store.state.far = 800.0
    assert "mediation smooths" in headline(store.answer)
    store.close()


def test_what_is_pushed_is_what_would_be_drawn_anew():
    store = Store(State(side=10))
    maps, covered, charts = Maps(store), Calibration(store), Charts(store)
    curves, controls = Curves(store), Controls(store)
    store.refresh()
    settled(store)
    store.state.param.update(far=100.0, lengthscale=40.0)
    store.state.side = 12
    settled(store)
    anew = Maps(store), Calibration(store), Charts(store), Curves(store)
    compared = 0
    for one, other in ((maps.pixels, anew[0].pixels), (maps.blocks, anew[0].blocks),
                       (covered.coverage, anew[1].coverage), (curves.curve, anew[3].curve)):
        for column, values in other.data.items():
            np.testing.assert_array_equal(np.asarray(one.data[column]), np.asarray(values),
                                          err_msg=column)
            compared += 1
    assert compared > 18 and charts.table.object == anew[2].table.object
    assert not controls.cells["draw"].visible and controls.cells["hour"].visible
    store.close()


def test_images_are_the_right_way_up():
    store = small()
    from workbench.ui.mediated.views.maps import extent, image

    data = store.answer.data
    north, east = (image(data, data.pixels[axis].values) for axis in ("y", "x"))
    assert (np.diff(north, axis=0) > 0).all() and (np.diff(east, axis=1) > 0).all()
    left, bottom, width, height = extent(data)
    assert left < east.min() and bottom < north.min()
    assert left + width > east.max() and bottom + height > north.max()
    store.close()


def test_tooltips_can_tell_what_is_not_known():
    """Bokeh would say NaN: the formatter that has better words is never asked."""
    maps = Maps(small())
    for name in SPARSE:
        (drawn,), (told,) = (maps.pixels.data[one] for one in (name, pointed_at(name)))
        assert np.isnan(drawn).any() and not np.isnan(told).any()
        np.testing.assert_array_equal(np.isinf(told), np.isnan(drawn))
        np.testing.assert_array_equal(told[np.isfinite(told)], drawn[np.isfinite(drawn)])
        tips = maps.figures["mean"].select_one({"type": HoverTool})
        assert f"@{pointed_at(name)}{{custom}}" in dict(tips.tooltips).values()
        assert f"@{pointed_at(name)}" in tips.formatters
