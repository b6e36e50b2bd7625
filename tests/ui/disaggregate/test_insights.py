"""What is looked at beside the map: the check, further maps, a place explained, exports."""

import runpy
import time
from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from workbench.bagging.findings import ERROR, Finding
from workbench.preflight import Check
from workbench.reporting.code import command_of, steps_of
from workbench.ui.disaggregate import engine, exporting, layers, looking
from workbench.ui.disaggregate.layers import COMPONENTS, EXPOSURE, INFORMATION, RANKS
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.views import atlas as atlases
from workbench.ui.disaggregate.views.atlas import Atlas
from workbench.ui.disaggregate.views.bar import Numbers
from workbench.ui.disaggregate.views.checks import Checks
from workbench.ui.disaggregate.views.colours import mapper_of
from workbench.ui.disaggregate.views.explained import Explained, areas, numbers
from workbench.ui.disaggregate.views.exports import Exports
from workbench.ui.disaggregate.views.maps import Maps

COUNTRY = "dataset=simulated-country&granularity=region&model=vbagg"


def shown(query):
    state = State()
    assert state.read(query) == []
    spec, store = state.spec(), Store(state)
    scene, answer = engine.scene(spec), engine.quick(spec)
    store.param.update(scene=scene, answer=answer,
                       exceedance=answer.exceedance(spec.threshold))
    return store


@pytest.fixture(scope="module")
def country():
    return shown(COUNTRY)


@pytest.fixture(scope="module")
def roll():
    return shown("dataset=swiss-roll&granularity=10&model=vbagg&kernel=linear")


def until(condition, seconds=90):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.slow
def test_layers_are_those_of_the_public_functions(country):
    fit, scene = country.answer.fit, country.scene
    told = layers.layer(country.answer, scene, INFORMATION)
    np.testing.assert_allclose(told.maps[INFORMATION], fit.information(scene.plain).values)
    parts = layers.layer(country.answer, scene, COMPONENTS)
    assert EXPOSURE in parts.maps and "place" in parts.maps and "intercept" not in parts.maps
    summed = sum(values for name, values in parts.maps.items() if name != EXPOSURE)
    whole = fit.components(scene.plain, area_effect=True, by="role")
    expected = sum(whole[name] for name in whole if name.endswith("_mean"))
    gap = expected.values - summed
    np.testing.assert_allclose(gap, gap[0], atol=1e-8)          # the intercept
    ranks = layers.layer(country.answer, scene, RANKS)
    top = ranks.maps["top"]
    members = scene.plain["membership"].values
    assert all(np.ptp(top[members == k]) == 0 for k in range(3)) and 0 <= top.min() < top.max() <= 1
    assert (ranks.maps["highest"] <= ranks.maps["lowest"]).all()


def test_a_model_without_a_layer_says_why():
    store = shown("dataset=swiss-roll&granularity=10&model=constant&overdispersion=none&nugget=0")
    found = layers.layer(store.answer, store.scene, COMPONENTS)
    assert not found.maps and found.told.startswith("This model has no such map: ")
    maps = Maps(store)
    store.state.beside = COMPONENTS
    until(lambda: store.layer is not None)
    assert found.told in maps.told.object and not maps._second.visible
    store.close()


@pytest.mark.slow
def test_the_map_beside_the_estimate_is_drawn_when_it_is_looked_at(country):
    maps = Maps(country)
    assert set(maps.atlas.figures) == {"mean", "known"}
    for name in ("std", INFORMATION, COMPONENTS, RANKS, "observed"):
        country.state.beside = name
        until(lambda name=name: name not in layers.LAYERS or country.layer is not None)
        assert maps._second.object is maps.atlas.figures[name]
    data = maps.atlas.fine.source.data
    assert np.isfinite(data["information"][0]).any() and np.isfinite(data["top"][0]).any()
    country.state.beside = COMPONENTS
    until(lambda: country.layer is not None)
    before = data["component"][0].copy()
    assert maps.part.visible and maps.part.options[-1] == EXPOSURE
    maps.part.value = EXPOSURE
    assert country.state.summand == EXPOSURE and Maps(country).part.value == EXPOSURE
    assert not np.array_equal(before, maps.atlas.fine.source.data["component"][0], equal_nan=True)
    country.state.beside = "known"
    assert not maps.part.visible
    country.state.summand = ""
    country.state.beside = COMPONENTS
    until(lambda: maps.part.visible)
    assert maps.part.value == maps.part.options[0] != EXPOSURE
    country.state.beside = "known"


def test_frames_take_the_room_there_is_and_keep_the_aspect(country):
    atlas = Atlas(country.scene, ("x", "y"))
    plot, right = atlas.figure("mean"), atlas.figure("known")
    shape = plot.frame_width / plot.frame_height
    for width, height in ((300, 900), (900, 300), (600, 600)):
        atlas.resize(width, height)
        assert plot.frame_width <= width and plot.frame_height <= height
        assert plot.frame_width == width or plot.frame_height == height
        assert plot.frame_width / plot.frame_height == pytest.approx(shape, rel=0.02)
        assert (right.frame_width, right.frame_height) == (plot.frame_width, plot.frame_height)


def test_findings_are_cards_and_errors_disable_the_fit(country):
    bags = country.scene.data["bag"].values.astype(str)
    bad = Finding("negative", "2 values are negative", "correct them", where=tuple(bags[:2]),
                  effect="refused", severity=ERROR)
    checks, numbers = Checks(country), Numbers(country)
    assert not numbers.fit.disabled
    country.check = Check("data", [bad, Finding("treated", "all is well")], None, {},
                          country.scene.data)
    assert [card[0].points for card in checks.cards] == [True, False]   # to areas, and nowhere
    text = checks.cards[0][0].html
    assert all(part in text for part in ("Error", "2 values are negative", bags[0], "correct them",
                                         "refused"))
    assert not checks._panel.collapsed and "1 error" in checks._panel.title
    assert numbers.fit.disabled and "2 values are negative" in numbers.doing.text
    maps = Maps(country)
    checks.cards[0][0].looked += 1
    assert country.marked == list(bags[:2]) and country.seek == 0
    checks.cards[0][0].pressed += 1
    assert country.seek == 1
    assert country.marked == list(bags[:2])
    assert len(maps.atlas._around.data["x"]) > 3
    country.check = None
    assert not numbers.fit.disabled


@pytest.mark.slow
def test_the_check_is_that_of_the_package(roll):
    found = looking.check(roll.state.spec())
    expected = wb.check(roll.scene.data, model=wb.VBAgg(kernel="linear"))
    assert [one.code for one in found.findings] == [one.code for one in expected.findings]
    assert looking.check(roll.state.spec()) is found


@pytest.mark.slow
def test_a_place_that_is_clicked_is_explained(country):
    scene = country.scene
    place = int(scene.data["weight"].values.argmax())
    x, y = (float(scene.data[c].values[place]) for c in "xy")
    assert looking.place_at(scene, ("x", "y"), x + 0.2, y - 0.2) == place
    assert looking.place_at(scene, ("x", "y"), x - 1e6, y) is None
    view = Explained(country)
    country.explain(x, y)
    until(lambda: country.explained is not None)
    found = country.answer.fit.explain(scene.data, place)
    assert view.drawer.open
    assert float(country.explained["rate"]) == pytest.approx(float(found["rate"]))
    shown = numbers(found, scene.factor, scene.unit)
    assert f"{float(found['rate']) * scene.factor:.4g} {scene.unit}" in shown
    assert str(found["bag"].values[1]) in areas(found, scene.factor, scene.unit)
    names = dict(zip(scene.data["bag"].values, scene.data["bag_name"].values, strict=True))
    own = str(names[found["bag"].values[0]])
    assert own in view._numbers.object and own in view._areas.object
    assert "distance (km)" in view._areas.object and "e+0" not in view._numbers.object
    bars = view._bars.data
    assert "intercept" not in bars["name"] and len(bars["name"]) == len(bars["low"]) >= 2
    assert country.state.place == str(place)
    view._close()
    assert not view.drawer.open and country.explained is None and country.state.place == ""
    assert country.state.read(f"place={place}") == []           # as of an address, or of Back
    until(lambda: country.explained is not None)
    assert float(country.explained["rate"]) == pytest.approx(float(found["rate"]))
    country.state.place = "999999999"                           # no such place
    assert country.explained is None
    country.state.place = ""


@pytest.mark.slow
def test_a_place_is_explained_and_left_for_the_next_by_keys_alone(country):
    view, maps = Explained(country), Maps(country)
    data, spot = country.scene.drawn, maps.atlas._spot
    maps.highest.clicks += 1
    until(lambda: view.drawer.open)
    place = int(country.answer.mean.argmax())
    assert view.arrows.leads == 1
    # Of few areas all pairs of pixels are kept, of the whole map those of clusters.
    assert float(country.explained["rate"]) == pytest.approx(country.answer.mean[place], rel=1e-3)
    x, y = (float(data[name].values[place]) for name in "xy")
    assert spot.data == {"x": [x], "y": [y]}            # on every map
    wide = data.attrs["grid_transform"][0]
    for asked, (right, above) in (([-1, 0, 1, 1], (-1, 0)), ([0, 1, 3, 2], (-1, 3)),
                                  ([1, 0, 1, 3], (0, 3))):
        view.arrows.asked = asked
        assert country.spot == pytest.approx((x + right * wide, y + above * wide))
    until(lambda: float(country.explained["y"]) == country.spot[1]
          and float(country.explained["x"]) == country.spot[0])
    view.arrows.asked = [1, 0, 400, 4]                  # as far as there are places
    assert country.spot[0] == data["x"].values[data["y"].values == country.spot[1]].max()
    view.arrows.closes += 1
    assert not view.drawer.open and country.spot is None and spot.data["x"] == []
    view.arrows.asked = [1, 0, 1, 5]
    assert country.spot is None


@pytest.mark.slow
@pytest.mark.parametrize("query, name", [
    ("dataset=korea&granularity=province&model=vbagg&kernel=linear", "individual_geometry"),
    ("dataset=swiss-roll&granularity=10&model=vbagg&kernel=linear", "roll_1")])
def test_polygons_and_points_are_found_where_they_are_clicked(query, name):
    store = shown(query)
    data = store.scene.data
    if name == "individual_geometry":
        inside = data[name].values[7].representative_point()
        assert looking.place_at(store.scene, ("x", "y"), inside.x, inside.y) == 7
    else:
        at = [float(data[axis].values[7]) for axis in ("roll_1", "roll_3")]
        assert looking.place_at(store.scene, ("roll_1", "roll_3"), *at) == 7
        assert looking.place_at(store.scene, ("roll_1", "roll_3"), at[0] + 1e3, at[1]) is None


@pytest.mark.slow
def test_the_exported_program_gives_the_same_map(roll, tmp_path):
    answer, threshold = roll.answer, roll.state.spec().threshold
    for kind, one in (("start", answer), ("learnt", engine.learn(roll.state.spec(),
                                                                 lambda *told: None))):
        assert one.kind == kind
        (tmp_path / "program.py").write_text(exporting.program(one, threshold))
        names = runpy.run_path(str(tmp_path / "program.py"))
        gap = np.abs(names["maps"]["mean"].values - one.mean) / one.std
        assert gap.max() < 0.01
        assert "exceedance" in names["maps"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["moved", "stopped", "start"])
def test_the_spec_of_a_report_makes_the_map_that_no_fit_has_found(roll, kind, tmp_path):
    spec, answer = roll.state.spec(), roll.answer
    learnt = engine.learn(spec)
    if kind == "moved":
        name, entry = next((name, entry) for name, entry in learnt.fit.hyperparameters.items()
                           if name.endswith("variance"))
        answer = engine.quick(replace(spec, hyperparameters={name: 9 * entry["value"]}),
                              learnt.fitted)
    elif kind == "stopped":
        answer = replace(answer, kind=kind)         # at the first step
    assert answer.kind == kind
    assert (np.abs(answer.mean - learnt.mean) / answer.std).max() > 0.05
    maps = exporting.maps_of(answer, roll.scene, 5.0)
    stored = wb.Spec.from_json(maps.attrs["spec"])
    assert stored.key == maps.attrs["spec_key"] and "--fix" in command_of(stored)
    python = steps_of(stored)
    (tmp_path / "program.py").write_text("\n".join(
        ["import workbench as wb", python.data, python.model, python.fit, python.maps]))
    for again in (wb.run(stored), runpy.run_path(str(tmp_path / "program.py"))["maps"]):
        assert (np.abs(again["mean"].values - answer.mean) / answer.std).max() < 0.02


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Both 'variant':PendingDeprecationWarning")  # of the widget
def test_a_preview_is_called_one_in_the_report_and_the_report_is_one_page(roll):
    maps = exporting.maps_of(roll.answer, roll.scene, 5.0)
    assert "starting values" in maps.attrs["partial"]
    learnt = replace(roll.answer, kind="learnt")
    assert "partial" not in exporting.maps_of(learnt, roll.scene, 5.0).attrs
    exports = Exports(roll)
    page = exporting.bundle(roll).report()
    assert page.startswith("<!DOCTYPE html>") and "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    exports._show()
    assert exports.program.dialog.open
    assert "import workbench as wb" in exports.program.text.value


def test_maps_that_are_not_drawn_yet_take_the_colours_of_those_that_are(country):
    atlas = Atlas(country.scene, ("x", "y"))
    atlas.figure("mean")
    atlas.rescale(replace(country.scene.rate, lower=1.0, upper=2.0), country.scene.spread)
    mappers = [mapper_of(atlas.figure(name)) for name in atlases.RATES]
    assert len({id(one) for one in mappers}) == 1 and mappers[0].high == 2.0
