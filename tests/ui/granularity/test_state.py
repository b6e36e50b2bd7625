"""State and store of the app "granularity": URLs, cells edited by hand, counts, budgets."""

import time

import numpy as np
import pytest
from bokeh.models import ColorBar, ColumnDataSource

from tests.ui.kit import refused, settled, slow_imports
from workbench.ui.base.fitted import EVIDENCE, FITTED, PREVIEW
from workbench.ui.base.messages import BY_HAND, NO_HYPERPARAMETERS, NOT_THERE
from workbench.ui.granularity import california, exporting, messages, theory, worlds
from workbench.ui.granularity.background import equal_cells
from workbench.ui.granularity.engine import AT_ONCE
from workbench.ui.granularity.state import COUNTS, LENGTHS, NOISES, SIDES, VARIANCES, State
from workbench.ui.granularity.store import Store
from workbench.ui.granularity.story import STEPS
from workbench.ui.granularity.views.charts import Charts, KernelCurve
from workbench.ui.granularity.views.controls import Controls
from workbench.ui.granularity.views.line import Line
from workbench.ui.granularity.views.maps import Maps, image
from workbench.ui.granularity.views.page import Numbers
from workbench.ui.granularity.views.story import Lecture
from workbench.ui.granularity.views.window import AXIS, Window, sizes
from workbench.ui.granularity.worlds import END


def test_a_state_survives_its_url():
    state = State()
    state.param.update(tab="map", kernel="matern12", likelihood="poisson", side=0.64,
                       map_lengthscale=2.5, tolerance=0.2, output="rough", story=3, points=100)
    state.edit(np.array([0, 0.7, 1.234, 3, END]), 2)
    again = State()
    assert again.read("?" + state.query()) == []
    assert again.query() == state.query()
    assert again.boundaries.tolist() == [0, 0.7, 1.234, 3, END]
    assert "edges=0.7_1.234_3&" in state.query() and again.cells == 4


def test_bad_values_keep_the_default_and_are_named():
    state = State()
    problems = refused(
        state, "?cells=13.5&lengthscale=-3&edges=2_1&cell=12&kernel=cubic&colour=red")
    assert [p.split(" ")[0] for p in problems] == [
        "kernel=cubic", "cells=13.5", "edges=2_1", "cell=12", "lengthscale=-3", "colour"]
    assert state.read("?edges=" + "_".join(str(0.05 * k) for k in range(1, 80))) != []
    assert state.read("?story=0&tab=line&story=9") == ["story=9 (0 used)"]


def test_california_is_offered_only_where_its_file_is(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    assert list(State().param.source.names) == ["Synthetic map"]
    assert State().read("source=california")[0].startswith("source=california (made used)")
    (tmp_path / "california").mkdir()
    (tmp_path / "california" / california.FILE).touch()
    rng, (x0, y0, x1, y1) = np.random.default_rng(0), california.BOUNDS
    rows = np.column_stack([rng.uniform(x0, x1, 2000), rng.uniform(y0, y1, 2000),
                            rng.uniform(1, 9, 2000)])
    monkeypatch.setattr(california, "folds", lambda output: (rows[:1000], rows[1000:]))
    worlds.california_map.cache_clear()
    state = State(tab="map")
    assert state.read("source=california&output=MedInc&side=1.6") == []
    world = state.world
    assert world.values.size == california.TRAINING and world.truth is None
    assert world.values.std() == pytest.approx(1) and "10,000 USD" in world.quantity
    store = Store(state)
    store.refresh()
    settled(store)
    assert store.answer.whole and store.answer.world.held_out.size == california.HELD_OUT
    state.source = "made"
    assert state.output == "both"
    worlds.california_map.cache_clear()


def test_stops_are_logarithmic_and_short():
    for stops in (SIDES[::-1], LENGTHS, VARIANCES):
        ratios = np.diff(np.log10(stops))
        assert ratios.min() > 0.085 and ratios.max() < 0.22
    assert COUNTS[-1] == 1000 and COUNTS == sorted(COUNTS) and NOISES == sorted(NOISES)


def test_moving_the_slider_forgets_boundaries_but_editing_moves_the_slider():
    state = State(cells=6)
    state.edit(np.delete(state.boundaries, 2), 1)
    assert (state.cells, state.boundaries.size - 1, state.cell) == (5, 5, 1)
    state.cells = 8
    assert (state.edges, state.cell, state.boundaries.size) == ("", -1, 9)


def test_clicking_the_plane_goes_to_the_nearest_stops():
    state = State()
    state.go(END / 23, 0.33)
    assert (state.cells, state.lengthscale) == (24, 0.32)
    state.tab = "map"
    state.go(0.66, 4.3)
    assert (state.side, state.map_lengthscale) == (0.64, 4.0)


def test_one_event_changes_all_and_only_what_changed_is_computed_again():
    store, seen = Store(State()), []
    store.refresh()
    store.param.watch(lambda event: seen.append(event.new.evaluations), "tick")
    first = store.answer.complete.mean
    for event, evaluations in (({"cells": 20}, 1), ({"lengthscale": 0.5}, 2), ({"cells": 30}, None),
                               ({"cells": 8, "lengthscale": 0.4}, 1), ({"tolerance": 0.2}, None),
                               ({"noise": 0.5}, 2), ({"assumed": 0.1}, 2), ({"points": 100}, 2)):
        seen.clear()
        if event == {"cells": 30}:
            with pytest.raises(ValueError, match="30"):
                store.state.param.update(**event)
            continue
        store.state.param.update(**event)
        assert seen == ([] if evaluations is None else [evaluations])
        if event.get("lengthscale") == 0.4:
            assert store.answer.complete.mean is first      # kept
    store.close()


def test_what_takes_longer_is_left_for_the_release():
    state = State(tab="map", likelihood="poisson")
    store = Store(state)
    store.refresh()
    assert store.answer.complete is None and store.answer.coverage is None and store.stale
    settled(store)
    assert store.answer.whole and not store.stale and store.picture.share == 1
    known = store.answer
    state.side = 2.0                                # complete data are known now: all at once
    assert store.answer.whole and store.answer.complete.mean is known.complete.mean
    cells, bench = equal_cells(store.bench.world, 0.2), store.bench
    assert bench.light(cells, state.model) == (
        cells.size**2 * bench.world.probes.size < AT_ONCE)
    store.close()


def test_the_plane_and_the_curves_agree_with_the_readout():
    state = State(known="sine", points=100, cells=12, lengthscale=1.0)
    store = Store(state)
    store.refresh()
    settled(store)
    picture, curve = store.picture, store.curve
    row = int(np.flatnonzero(picture.lengthscales == 1.0)[0])
    column = int(np.abs(picture.sizes - END / 12).argmin())
    assert picture.error[row, column] == pytest.approx(store.answer.error, rel=1e-9)
    assert curve.errors[list(curve.counts).index(12)] == pytest.approx(store.answer.error)
    assert np.isfinite(picture.error).all() and curve.bounds.size >= 6
    assert (curve.certificates <= curve.bounds * (1 + 1e-9)).all()
    trusted = theory.trusted("rbf", 0.1, 1)
    assert picture.trusted[0.1] == trusted and 2 < trusted < 4      # 1 / (0.1 √12) for a parabola
    spent = store.bench.evaluations
    state.cells = 11                                # near by: most of the plane is known
    settled(store)
    assert store.bench.evaluations - spent < 60
    store.close()


@pytest.mark.parametrize("tab", ["line", "map"])
def test_learning_moves_the_sliders_to_the_stops_and_says_what_was_learnt(tab):
    state = State(tab=tab, known="sine", points=100, lengthscale=0.1, side=1.6,
                  map_lengthscale=0.1)
    store = Store(state)
    store.refresh()
    store.learn()
    settled(store)
    assert store.status.startswith("Fitted to the summaries: lengthscale") and not store.error
    model, unit = state.model, store.bench.world.unit
    shown = (f"Shown and exported: the nearest stops of the sliders, lengthscale "
             f"{model.lengthscale:g} {unit}, variance {model.variance:g}, noise {model.noise:g}.")
    assert f"lengthscale {state.fit['lengthscale']:.3g} {unit}, var" in store.status
    assert store.status.endswith(shown) and shown in exporting.bundle(store).report()
    assert state.model.lengthscale > 0.5 and {"lengthscale", "variance", EVIDENCE} < set(state.fit)
    assert store.answer.model == state.model
    again = Store(State())                  # somebody else at the same address
    assert again.state.read(state.query()) == [] and again.status == store.status
    told, query = store.status, state.query()
    state.param.update(**{"cells" if tab == "line" else "side": 2})
    assert store.status == BY_HAND and state.query().endswith("status=preview&at=")
    assert state.read(query) == [] and store.status == told           # as Undo does
    state.tolerance = 0.3                   # of what is shown alone
    assert store.status == told
    store.close()
    again.close()


AT = "lengthscale:0.41,variance:1.02,noise:0.29,evidence:-12"


@pytest.mark.parametrize(("query", "problem"), [
    (f"lengthscale=0.4&assumed=0.3&status=fitted&at={AT}", ""),
    (f"lengthscale=0.4&assumed=0.3&at={AT}", ""),              # of no fit: nothing is claimed
    (f"lengthscale=1.6&assumed=0.3&status=fitted&at={AT}", f"status=fitted ({NOT_THERE})"),
    ("status=fitted&at=lengthscale:0.4", f"status=fitted ({NOT_THERE})"),
    ("status=fitted&at=nonsense:1", f"status=fitted ({NOT_THERE})"),
    ("status=cancelled", f"status=cancelled ({NOT_THERE})"),
    (f"lengthscale=0.4&assumed=0.3&status=fitted&at={AT}/1", f"status=fitted ({NOT_THERE})"),
    (f"lengthscale=0.4&assumed=0.3&status=fitted&at={AT}e300", f"status=fitted ({NOT_THERE})"),
    (f"lengthscale=0.4&assumed=0.3&status=fitted&at={AT},more:1", f"status=fitted ({NOT_THERE})"),
])
def test_an_address_cannot_call_fitted_what_the_sliders_do_not_show(query, problem):
    state = State()
    assert state.read(query) == ([problem] if problem else [])
    fitted = not problem and "status" in query
    assert (state.status, state.at) == ((FITTED, AT) if fitted else (PREVIEW, ""))


def test_what_is_no_fit_in_an_address_is_named():
    told = refused(State(), "status=fitted&at=<b>")
    assert f"at=<b> ({NO_HYPERPARAMETERS})" in told


@pytest.mark.parametrize("tab", ["line", "map"])
def test_what_is_pushed_is_what_would_be_drawn_anew(tab):
    state = State(tab=tab, points=100)
    store = Store(state)
    views = Line(store), Maps(store), Charts(store), KernelCurve(store)
    store.refresh()
    state.param.update(cells=5, side=2.0)
    state.param.update(lengthscale=0.5, map_lengthscale=2.0, kernel="matern32")
    if tab == "line":
        state.edit(np.array([0, 1, 3, END]), 1)
    settled(store)
    anew = Line(store), Maps(store), Charts(store), KernelCurve(store)
    compared = 0
    for view, other in zip(views, anew, strict=True):
        for name, held in vars(view).items():
            if isinstance(held, ColumnDataSource):
                expected = getattr(other, name).data
                assert set(held.data) == set(expected)
                for column, values in expected.items():
                    np.testing.assert_array_equal(np.asarray(held.data[column]),
                                                  np.asarray(values), err_msg=column)
                    compared += np.size(values) > 0
    assert compared > 25
    store.close()


def test_pixels_are_at_their_places():
    world = worlds.synthetic_map("both", "normal")
    east, north = (image(world, world.places[:, k]) for k in (0, 1))
    assert (np.diff(east, axis=1) > 0).all() and (np.diff(north, axis=0) > 0).all()


@pytest.mark.parametrize("step", range(1, len(STEPS) + 1))
def test_every_step_of_the_story_shows_what_it_says(step):
    state = State()
    state.edit(np.array([0, 1, 3, END]))
    store = Store(state)
    store.refresh()
    state.tell(step)
    store.close()
    answer = store.answer
    expected = {1: (0, 0.02), 2: (0, 0.06), 3: (0.1, 1), 4: (0.1, 1), 5: (0.02, 1), 6: (0.1, 1),
                7: (0.4, 1), 8: (0.1, 1)}
    assert state.told and (step < 6 or state.hidden)
    low, high = expected[step]
    assert low <= answer.error <= high
    again = State()
    assert again.read(state.query()) == [] and again.model == state.model
    alone = State(known="step", kernel="matern12", side=5.0, edges="1_2")
    assert alone.read(f"?story={step}") == []
    assert alone.told and alone.model == state.model and alone.world_key == state.world_key
    assert (alone.shape, alone.second, alone.size) == (state.shape, state.second, state.size)


def test_a_step_of_the_story_is_left_when_a_control_moves_and_can_be_returned_to():
    state = State()
    assert state.read("?story=3&cells=9&tolerance=0.2") == []
    assert (state.story, state.cells, state.told) == (3, 9, False)
    again = State()
    assert again.read(state.query()) == [] and again.query() == state.query() and not again.told
    again.tell(again.story)
    assert again.told and again.cells == 4
    again.step(-1)
    assert (again.story, again.cells) == (2, 12)
    again.param.update(tolerance=0.3, cell=3)       # no part of what a step says
    assert again.told
    again.tell(1)
    again.step(-1)
    assert again.story == 1
    again.tell(0)
    assert again.told and again.cells == 64


def test_the_first_view_has_cells_too_wide_for_its_function():
    for tab in ("line", "map"):
        store = Store(State(tab=tab))
        store.refresh()
        store.close()
        answer, state = store.answer, store.state
        assert state.size > answer.model.lengthscale and answer.error > 2 * state.tolerance
        assert answer.against[1] > 1.5 * answer.against[0]


@pytest.mark.parametrize("error, tolerance", [
    (0.02, 0.05), (0.05, 0.05), (0.0501, 0.05), (0.099, 0.05), (0.4, 0.05), (0.4, 0.5),
    (None, 0.1)])
def test_the_badge_and_the_sentence_judge_alike(error, tolerance):
    label, colour = messages.verdict(error, tolerance)
    said = messages.headline(12, 400, 0.5, "rad", error, (0.1, 0.2), None, tolerance, True)
    if error is None:
        assert colour == "default" and "tolerance" not in said
    else:
        fine = error <= tolerance
        assert (colour == "success") == fine == ("within the tolerance" in said)
        assert ("beyond the tolerance" in said) == (not fine) == label.startswith("too coarse")
        assert fine or (colour == "error") == (error > 2 * tolerance)


def test_the_badge_follows_the_measured_error():
    store = Store(State(known="sine", lengthscale=1.0))
    numbers = Numbers(store)
    store.refresh()
    assert numbers.verdict.color == "success" and store.answer.error < 0.1
    assert numbers.ratio.label == "lengthscale = 1.9 × cell size"
    assert numbers.ratio.color == "default"
    store.state.known = "rougher"                   # as many cells for each lengthscale
    assert numbers.ratio.label == "lengthscale = 1.9 × cell size"
    assert numbers.verdict.color == "warning" and "too coarse" in numbers.verdict.label
    store.state.tolerance = 0.2
    assert numbers.verdict.color == "success"
    store.close()


def test_the_truth_of_a_map_stays_hidden_until_it_was_guessed():
    state = State(tab="map", show="truth")
    store = Store(state)
    views = maps, charts, numbers = Maps(store), Charts(store), Numbers(store)
    store.refresh()

    def seen():
        return (np.isfinite(maps.pixels.data["truth"][0]).any(),
                np.isfinite(charts.coverage.data["complete"]).any(),
                "Error against the truth" in numbers.text.text)

    assert seen() == (False,) * 3 and state.hidden and "Guess" in numbers.text.text
    state.uncover()
    assert state.hidden                             # there is no guess yet
    state.guess = "hardly"
    assert seen() == (False,) * 3
    state.uncover()
    assert seen() == (True,) * 3 and not state.hidden
    np.testing.assert_allclose(maps.pixels.data["truth"][0],
                               image(store.bench.world, store.bench.world.truth))
    assert "You said: hardly further. Not quite" in maps._note.object
    state.side = 2.0                                # of the same world, it stays in view
    assert seen() == (True,) * 3
    state.output = "smooth"
    assert seen() == (False,) * 3 and state.guess == "none"
    again = State()
    assert again.read("?tab=map&reveal=yes") == [messages.NOT_GUESSED] and again.hidden
    assert again.read("?tab=map&guess=twice&reveal=yes") == [] and not again.hidden
    assert len(views) == 3
    store.close()


def test_two_lengthscales_are_compared_on_the_same_summaries():
    state = State(tab="map", side=1.0, second=0.5)
    store = Store(state)
    maps = Maps(store)
    store.refresh()
    first, rival = store.answer, store.answer.rival
    shown = maps._images["complete"]["complete"].glyph
    assert rival.model.lengthscale == 0.5 and shown.image == "second"
    assert "more probable under" in maps._clinic.object and "error" not in maps._clinic.object
    state.param.update(second=0, map_lengthscale=0.5)
    other = store.answer
    np.testing.assert_allclose(rival.mean, other.summary.mean)
    np.testing.assert_allclose(rival.coverage, other.coverage[1])
    assert (rival.evidence, rival.against) == pytest.approx((other.evidence, other.against[1]))
    assert rival.evidence != pytest.approx(first.evidence, abs=1)
    assert other.rival is None and shown.image == "complete"
    store.close()


def test_each_map_that_can_be_chosen_has_the_colours_of_its_bar():
    state = State(tab="map", guess="twice", reveal=True)
    store = Store(state)
    maps = Maps(store)
    store.refresh()
    bar = maps.figures["last"].select_one({"type": ColorBar})
    for show, mapper, title in (("sd", maps.doubt, "posterior sd of value"),
                                ("truth", maps.value, "value"),
                                ("difference", maps.change, "difference of value")):
        state.show = show
        assert bar.title == title
        seen = [one.glyph for one in maps.figures["last"].renderers
                if one.visible and type(one.glyph).__name__ == "Image"]
        assert [(one.image, one.color_mapper, bar.color_mapper) for one in seen] == [
            (show, mapper, mapper)]
    state.show = "draws"
    assert not any(one.visible for one in maps._images["last"].values())
    store.close()


def test_draws_are_made_once_and_only_when_they_are_looked_at():
    state = State(tab="map")
    store = Store(state)
    maps = Maps(store)
    store.refresh()
    settled(store)
    assert store.draws is None
    before = store.bench.evaluations
    state.show = "draws"
    deadline = time.monotonic() + 60
    while not len(maps.fields.data["departure0"]) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert store.bench.evaluations == before + 1
    np.testing.assert_allclose(store.draws.mean, store.answer.summary.mean, atol=1e-9)
    assert len(maps.fields.data["departure0"]) == 1
    state.show = "sd"
    assert store.draws is None and len(maps.fields.data["departure0"]) == 0
    store.close()


def test_keys_of_a_lecture():
    state = State()
    store = Store(state)
    window, line, controls = Window(store), Line(store), Lecture(store)
    store.refresh()
    small = line.figure.title.text_font_size
    window.press("ArrowRight")
    window.press("Escape")
    assert (state.lecture, state.story) == (False, 0)
    window.press("l")
    assert state.lecture and line.figure.title.text_font_size == "20px"
    line.figure.title.text_font_size = "1.05em"     # as the theme does once it is drawn
    line.figure.xaxis[0].major_label_text_font_size = "0.925em"
    assert line.figure.title.text_font_size == "20px"
    assert line.figure.xaxis[0].major_label_text_font_size == "20px"
    thin = [r.glyph.line_width for r in line.figure.renderers if type(r.glyph).__name__ == "Line"]
    assert thin and min(thin) >= 3
    assert sum(widget.visible for widget in controls.widgets.values()) == 3
    for key, step in (("ArrowRight", 1), ("PageDown", 2), ("ArrowLeft", 1), ("PageUp", 1)):
        window.press(key)
        assert state.story == step and state.told
    again = State()
    assert again.read(state.query()) == [] and again.lecture
    window.press("Escape")
    assert not state.lecture and line.figure.title.text_font_size == small
    assert not controls._panel.visible
    store.close()


@pytest.mark.parametrize("room", [(350, 700), (940, 700), (1240, 800), (1580, 950), (1880, 1080)])
@pytest.mark.parametrize("lecture", [False, True])
def test_views_fit_into_their_room(room, lecture):
    found = sizes(room, lecture)
    assert found.line[0] + 60 <= room[0]
    assert found.maps + AXIS <= room[0]
    if room[0] > 900:
        beside = 3 if lecture else 4
        assert 0.6 * room[0] < beside * found.maps + AXIS <= room[0]
        assert (1 if lecture else 3) * (found.charts[0] + 60) <= room[0]
    told = sizes(room, lecture, chart=True)
    if lecture:         # a step about a chart shows it unscrolled, in the line's place
        assert told.line[1] == 0
        assert room[0] < 900 or room[1] < 750 or 460 + told.charts[1] <= room[1]
    else:
        assert told == found


@pytest.mark.parametrize("room", [(1012, 768), (1268, 800), (1908, 1080)])
def test_a_lecture_leaves_its_figures_the_height_of_the_window(room):
    found, told = sizes(room, True), sizes(room, True, chart=True)
    assert 0.6 * room[1] > found.line[1] >= 200 and told.charts[1] >= 200
    assert 0.19 * room[0] < found.maps < 0.52 * room[1]


def test_sizes_of_strips_are_their_own_and_their_slider_sets_how_many():
    state = State(tab="map", shape="strips", side=1.6, map_lengthscale=1.0)
    store = Store(state)
    told, charts, aside = Numbers(store), Charts(store), Controls(store)
    lecture = Lecture(store)
    store.refresh()
    cells, kernel = store.answer.cells, aside.kernel
    assert cells.size == 49 and cells.extent == pytest.approx((10 / 49, 10.0))
    assert told.ratio.label == "lengthscale = 4.9 × width, 0.1 × length of a strip"
    assert told.text.text.startswith("49 cells (strips 0.204 km wide, as many as squares of 1.6 km")
    assert told.text.text.split(" instead")[0] in exporting.bundle(store).report()
    settled(store)
    sliders = aside.widgets["side"], lecture.widgets["side"]
    assert {one.label for one in sliders} == {"Side of as many squares"}
    assert charts.plane.xaxis.axis_label == "side of as many squares (km)"
    assert "squares up to" in charts._notes["plane"].object
    shaded = kernel.figure.xaxis.axis_label, kernel.note.object
    assert shaded[0].endswith("shaded: strip width") and "far longer" in shaded[1]
    state.shape = "voronoi"
    assert kernel.figure.xaxis.axis_label.endswith("shaded: one square")
    assert told.ratio.label == "lengthscale = 0.62 × side of as many squares"
    state.shape = "squares"
    assert told.ratio.label == "lengthscale = 0.62 × cell size"
    assert {one.label for one in sliders} == {"Cell side"}
    assert kernel.figure.xaxis.axis_label.endswith("shaded: one cell")
    assert messages.KERNEL_NOTE in kernel.note.object
    assert charts.plane.xaxis.axis_label == "cell size (km)"
    assert ", cells up to" in charts._notes["plane"].object
    store.close()


def test_in_a_lecture_what_is_chosen_and_said_stands_beside_the_maps():
    state = State(tab="map", lecture=True, show="sd", shape="strips", second=0.5)
    store = Store(state)
    maps, told = Maps(store), Numbers(store)
    store.refresh()
    settled(store)
    assert maps._aside.visible and maps.choice in list(maps._aside) and not len(maps._under)
    assert maps.choice.orientation == "vertical"
    assert "log evidence −" in maps._clinic.object and not maps._note.object
    assert told.brief.visible and not told.text.visible
    assert told.brief.text.endswith(" strips instead of 700 points.")
    state.lecture = False
    assert not maps._aside.visible and maps.choice in list(maps._over)
    assert [len(maps._over), len(maps._under), len(maps._aside)] == [2, 3, 0]
    assert maps._note.object and told.text.visible and not told.brief.text
    store.close()


def test_the_page_can_be_drawn_before_torch_and_statistics_are_imported():
    assert slow_imports(
        "import workbench.ui.base.shell\n"
        "from workbench.ui.granularity.views.page import APP\n"
        "store = APP.store(APP.state()); store.refresh()\n"
        "APP.controls(store), [view(store) for view in APP.views]") == ""
