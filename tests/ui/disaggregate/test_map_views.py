"""The maps: every value at its place, one locked scale, and pushing equals drawing anew."""

import threading
from dataclasses import replace

import holoviews as hv
import numpy as np
import pytest
import xarray as xr
from bokeh.core.serialization import Serializer
from bokeh.document import Document
from bokeh.models import ColorBar, LinearColorMapper, LogColorMapper, Row

from tests.ui.disaggregate.sessions import SMALL, Session, outcome
from workbench.ui.base.views.figures import chart, hover
from workbench.ui.disaggregate import engine, messages, names
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views import map_figures
from workbench.ui.disaggregate.views.atlas import Atlas
from workbench.ui.disaggregate.views.bar import Numbers
from workbench.ui.disaggregate.views.charts import AXIS, Charts
from workbench.ui.disaggregate.views.colours import mapper_of, scales
from workbench.ui.disaggregate.views.maps import Maps
from workbench.ui.disaggregate.views.scores import Scores, recovered_table
from workbench.ui.disaggregate.views.screen import fit
from workbench.ui.disaggregate.views.stepper import Stepper
from workbench.ui.disaggregate.views.verdict import verdict_of


def scene_of(query):
    state = State()
    assert state.read(query) == []
    return state, engine.scene(state.spec())


def all_drawn(scene, axes=("x", "y")):
    """An atlas whose figures have all been looked at."""
    atlas = Atlas(scene, axes)
    for name in atlas.names:
        atlas.figure(name)
    return atlas


@pytest.fixture(scope="module")
def country():
    return scene_of("dataset=simulated-country&granularity=province")


@pytest.mark.slow
@pytest.mark.usefixtures("nothing_ready")
def test_while_other_data_are_read_the_page_says_so_and_not_what_was_there(monkeypatch):
    state = State()
    state.read(SMALL)
    session = Session(state)
    store, maps = session.settled(), Maps(session.store)
    stepper, right = Stepper(store), maps.atlas.figure("known").title
    gate, read = threading.Event(), engine.scene

    def gated(spec):
        assert gate.wait(60)
        return read(spec)

    def steps():
        return {one["name"]: (one["mark"], one["told"]) for one in stepper.row.steps}

    assert steps()["areas"] == ("doubt", "10 areas, few") and right.text == "True rate"
    monkeypatch.setattr(engine, "scene", gated)
    state.granularity = "25"
    assert store.reading and store.work == messages.READING and store.stale
    assert right.text == "Previous: True rate" and messages.READ in maps.told.object
    assert steps()["areas"] == ("busy", "being read") and steps()["data"][0] == "busy"
    assert steps()["report"][0] == steps()["model"][0] == "next"
    state.granularity = "10"
    assert not store.reading and right.text == "True rate"
    assert steps()["areas"] == ("doubt", "10 areas, few")
    state.granularity = "25"
    gate.set()
    session.settled()
    assert not store.reading and steps()["areas"] == ("doubt", "25 areas, few")
    assert maps.atlas.figure("known").title.text == "True rate"
    assert messages.READ not in maps.told.object
    store.leave()


def test_every_pixel_is_at_its_place(country):
    _, scene = country
    atlas = all_drawn(scene)
    x, y = scene.data["x"].values, scene.data["y"].values
    atlas.push(x, y, np.zeros(x.size), np.zeros(x.size))
    data = atlas.fine.source.data
    image, rows, columns = data["mean"][0], *data["mean"][0].shape
    centres_x = data["left"][0] + (np.arange(columns) + 0.5) * data["width"][0] / columns
    centres_y = data["bottom"][0] + (np.arange(rows) + 0.5) * data["height"][0] / rows
    drawn = np.isfinite(image)
    assert drawn.sum() == x.size
    expected = np.broadcast_to(centres_x, image.shape)[drawn] * scene.factor
    np.testing.assert_allclose(image[drawn], expected, rtol=1e-5)
    expected = np.broadcast_to(centres_y[:, None], image.shape)[drawn] * scene.factor
    np.testing.assert_allclose(data["std"][0][drawn], expected, rtol=1e-5)


def test_pixels_cut_by_a_border_average_by_coverage():
    ds = xr.Dataset(
        {"weight": ("individual", [1.0, 1.0, 1.0])},
        coords={"row": ("individual", [0, 0, 1]), "column": ("individual", [0, 0, 1]),
                "coverage": ("individual", [0.25, 0.75, 1.0])},
        attrs={"grid_transform": (1.0, 0, 10.0, 0, -1.0, 50.0), "grid_shape": (2, 2)},
    )
    place = map_figures.place(ds, "individual", ("x", "y"))
    (image,) = place.column(np.array([4.0, 8.0, 1.0]))
    assert image[1, 0] == pytest.approx(7.0) and image[0, 1] == pytest.approx(1.0)
    assert np.isnan(image[0, 0]) and np.isnan(image[1, 1])
    assert place.source.data["bottom"] == [48.0] and place.source.data["left"] == [10.0]


def test_the_rate_has_one_colour_scale_whatever_happens(country):
    _, scene = country
    atlas = all_drawn(scene)
    atlas.rescale(replace(scene.rate, lower=1.0, upper=2.0), scene.spread)
    mappers = {name: mapper_of(plot) for name, plot in atlas.figures.items()}
    assert mappers["observed"] is mappers["mean"] is mappers["known"]
    assert (mappers["mean"].low, mappers["mean"].high) == (1.0, 2.0)
    assert (mappers["exceedance"].low, mappers["exceedance"].high) == (0.0, 1.0)


def test_the_same_colours_again_leave_figures_as_they_are(country):
    """Another ticker would have Bokeh look through the whole page, at every move of a slider."""
    _, scene = country
    atlas = all_drawn(scene)
    scales_now = replace(scene.rate, lower=1.0, upper=2.0), scene.spread
    bars = [plot.select_one({"type": ColorBar}) for plot in atlas.figures.values()]
    atlas.rescale(*scales_now)
    before = [bar.ticker for bar in bars]
    atlas.rescale(*scales_now)
    assert all(bar.ticker is one for bar, one in zip(bars, before, strict=True))


@pytest.mark.parametrize("query, axes", [
    ("dataset=simulated-country&granularity=province", ("x", "y")),         # pixels
    ("dataset=korea&granularity=province", ("x", "y")),                     # polygons
    ("dataset=swiss-roll&granularity=10", ("roll_1", "roll_3"))])           # points
def test_colours_become_logarithmic_and_back_on_maps_and_bars_alike(query, axes):
    _, scene = scene_of(query)
    atlas = all_drawn(scene, axes)
    linear = [(type(m), m.low, m.high) for m in map(mapper_of, atlas.figures.values())]
    rate, spread = scales(scene, None, log=True)
    assert rate.log and 0 < rate.lower < rate.upper and spread.upper == rate.upper / 2
    atlas.rescale(rate, spread)
    for name, plot in atlas.figures.items():
        expected = LinearColorMapper if name not in (
            "mean", "known", "observed", "std", "swiped", "split") else LogColorMapper
        bar = plot.select_one({"type": ColorBar})
        assert type(mapper_of(plot)) is expected and bar.color_mapper is mapper_of(plot)
    shown = [atlas.figures[name] for name in ("observed", "mean", "known", "swiped", "split")]
    assert len({id(mapper_of(plot)) for plot in shown}) == 1
    ticks = shown[0].select_one({"type": ColorBar}).ticker.ticks
    assert 2 <= len(ticks) <= 6 and rate.lower <= min(ticks) and max(ticks) <= rate.upper
    atlas.rescale(*scales(scene, None, log=False))
    again = [mapper_of(plot) for plot in atlas.figures.values()]
    assert [(type(m), m.low, m.high) for m in again] == linear


def test_stretched_colours_span_the_maps_shown(country):
    state, scene = country
    answer = engine.quick(state.spec())
    for log in (False, True):
        rate, spread = scales(scene, answer, log)
        ends = np.quantile(answer.mean * scene.factor, [0.01, 0.99])
        np.testing.assert_allclose([rate.lower, rate.upper], ends)
        assert rate.log is spread.log is log


def test_zeros_have_the_lowest_logarithmic_colour(country):
    _, scene = country
    some = scene.observed.copy()
    some[0] = 0.0
    rate, _ = scales(replace(scene, observed=some), None, log=True)
    assert rate.lower > 0


def test_the_data_are_drawn_before_there_are_maps(country):
    _, scene = country
    store = Store(State())
    store._stage(scene)
    maps, status = Maps(store), Numbers(store)
    assert np.isfinite(maps.atlas.areas.source.data["observed"]).all()
    assert np.isnan(maps.atlas.fine.source.data["mean"][0]).all()
    assert status.text.text == "6 areas → 10,000 pixels. No fine map yet."
    assert not status.cost.visible


def test_scores_are_a_table_or_bars():
    state = State()
    assert state.read("dataset=swiss-roll&granularity=10&kernel=linear") == []
    result = engine.scores(engine.quick(state.spec()))
    view = Scores(Store(state), scores=result, target="rate")
    assert view.table.visible and view.bars[0].object is None       # not drawn unseen
    body = view.table.object
    assert "CRPS (count / point)" in body or "CRPS (count per point)" in body
    assert all(f">{name}</th>" in body for name in ("VBAgg", "One rate + area effects"))
    assert "which the model has not seen" in body
    assert "NaN" not in body
    # What is called so reproduces the totals that it has seen; without effects it cannot.
    flat = engine._BESIDE.peek(engine.data_spec(state.spec())).flat
    assert "area.std" in flat.hyperparameters and result.attrs[names.EFFECTS]
    plain = Scores(Store(state), scores=result.assign_attrs({names.EFFECTS: False}), target="bag")
    assert ">One flat rate</th>" in plain.table.object
    view.shape.value = "bars"
    assert not view.table.visible
    titles = [pane.object.opts.get("plot").kwargs.get("title") or
              hv.render(pane.object).title.text for pane in view.bars]
    assert [title.split(" (")[0] for title in titles] == ["CRPS", "RMSE", "95 % coverage"]


def test_held_out_areas_stand_above_those_that_were_seen():
    state = State()
    assert state.read("dataset=swiss-roll&granularity=10&kernel=linear") == []
    recovered = outcome({"crps_sqrt": "CRPS of square roots", "coverage_95": "95 % coverage"},
                       **{"vbagg": [0.2, 0.94], "population split": [0.8, 0.6]})
    body = recovered_table(recovered)
    assert body.index("Held out") < body.index("VBAgg") < body.index("Population split")
    assert "94" in body and "vbagg" not in body
    store = Store(state)
    view = Scores(store, scores=engine.scores(engine.quick(state.spec())), target="bag")
    assert view.table.object.index("In-sample") < view.table.object.index("VBAgg")
    store.recovered = recovered
    order = view._panel.objects
    assert order.index(view.held_out) < order.index(view.table) and view.held_out.object == body


@pytest.mark.parametrize("width, beside, size", [(340, False, 235), (514, True, 185),
                                                 (860, True, 235), (220, False, 180)])
def test_charts_stand_beside_each_other_where_there_is_room(width, beside, size):
    charts = Charts(Store(State()))
    assert charts.dock(width) is beside
    assert [one.width for one in charts._sized] == [size + AXIS] * 2
    assert not beside or 2 * (size + AXIS) + 12 <= width


@pytest.mark.parametrize("wide, high, docked, stacked", [
    (14, 4, True, True), (8, 7, True, False), (5, 10, True, False)])
def test_maps_of_any_shape_have_their_calibration_beside_them(wide, high, docked, stacked):
    class Shown(Maps):
        fitted = None

        def fits(self, width, height):
            return round(min(width, height * wide / high))

        def fit_into(self, width, height, across, stacked=False):
            self.fitted, one = stacked, self.fits(width, height) + 24
            return one if stacked else 2 * one

    maps = Shown(Store(State()))
    for across, down in ((960, 800), (1600, 1080)):
        needed = fit(maps, across, max(250, down - 425))
        assert (across - needed >= 340) is docked and maps.fitted is stacked
    assert fit(maps, 382, 844) == 374 and maps.fitted is False      # a phone: all below


def test_units_are_no_part_of_a_tooltip():
    plot = chart("", "x", "y", 100, 100)
    hover(plot, plot.scatter([1], [1]), [("rate", "@x{0.0} <img src=x> per km²")])
    assert plot.hover[0].tooltips == [("rate", "@x{0.0} &lt;img src=x&gt; per km²")]


def test_maps_are_linked_with_equal_aspect(country):
    atlas = all_drawn(country[1])
    plots = list(atlas.figures.values())
    assert len({id(p.x_range) for p in plots}) == len({id(p.y_range) for p in plots}) == 1
    one = plots[0]
    across = (one.x_range.end - one.x_range.start) / one.frame_width
    up = (one.y_range.end - one.y_range.start) / one.frame_height
    assert across == pytest.approx(up, rel=0.01)


def test_colour_bars_carry_units(country):
    atlas = all_drawn(country[1])
    titles = {name: plot.below[-1].title for name, plot in atlas.figures.items()}
    assert titles["mean"] == titles["known"] == "cases per 1,000 persons"
    assert titles["exceedance"] == titles["ranks"] == "probability"


def test_pushing_equals_drawing_anew(country):
    _, scene = country
    values = [np.random.default_rng(k).uniform(size=scene.data.sizes["individual"])
              for k in range(8)]
    pushed, fresh = all_drawn(scene), all_drawn(scene)
    pushed.push(*values[:4])
    pushed.push(*values[4:])
    fresh.push(*values[4:])
    for name in ("mean", "std", "exceedance", "beyond", "known", "observed"):
        np.testing.assert_array_equal(pushed.fine.source.data[name][0],
                                      fresh.fine.source.data[name][0])


def test_polygons_and_points_take_values_in_order():
    for query, axes in (("dataset=swiss-roll&granularity=10", ("roll_1", "roll_3")),
                        ("dataset=korea&granularity=province", ("x", "y"))):
        _, scene = scene_of(query)
        atlas = all_drawn(scene, axes)
        mean = np.arange(scene.data.sizes["individual"], dtype=float)
        atlas.push(mean, mean, mean, mean)
        data = atlas.fine.source.data
        np.testing.assert_allclose(data["mean"], mean * scene.factor, rtol=1e-6)
        assert len(data["name"]) == mean.size
        if "xs" in data:
            west = [min(min(ring) for part in shape for ring in part) for shape in data["xs"]]
            drawn = [g.bounds[0] for g in scene.drawn["individual_geometry"].values]
            np.testing.assert_allclose(west, drawn, rtol=1e-5)


def test_a_page_of_many_polygons_is_sent_in_few_pieces():
    """Every array is a message, and thousands of them hold up a browser for half a minute."""
    _, scene = scene_of("dataset=korea&granularity=province")
    document = Document()
    document.add_root(Row(*all_drawn(scene).figures.values()))
    serializer = Serializer()
    serializer.encode(document.roots[0])
    assert len(scene.drawn["individual_geometry"]) > 3_000
    assert len(serializer.buffers) < 40


def test_without_a_truth_no_map_pretends_one():
    _, scene = scene_of("dataset=korea&granularity=province")
    atlas = all_drawn(replace(scene, known=None))
    assert "known" not in atlas.figures and len(atlas.figures) == 11


def test_the_app_says_how_much_and_where_a_fit_extrapolates():
    store = Store(state := scene_of("dataset=korea&granularity=province&model=vbagg")[0])
    store.param.update(scene=engine.scene(state.spec()), answer=engine.quick(state.spec()),
                       exceedance=np.zeros(3_487))
    fit, maps, status = store.answer.fit, Maps(store), Numbers(store)
    expected = fit.extrapolation(store.scene.plain).values
    assert 0 < (expected > 0).mean() < 1
    np.testing.assert_allclose(maps.atlas.fine.source.data["beyond"], expected, rtol=1e-6)
    said = f"The map extrapolates at {100 * fit.outside_share:.3g} % of the places."
    assert said in status.facts.object and "extrapolate" not in status.text.text
    scores = engine.scores(store.answer)
    store.param.update(answer=replace(store.answer, kind="learnt"), scores=scores)
    assert said in verdict_of(store).sentence           # once is enough
    assert "extrapolate" not in status.facts.object and "lengthscale" in status.facts.object
