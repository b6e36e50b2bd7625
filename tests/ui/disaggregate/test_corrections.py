"""Findings and errors that a press does away with, and the steps that say where one is."""

import time
from dataclasses import replace

import geopandas
import numpy as np
import pytest
import rasterio
import rioxarray  # noqa: F401
import xarray as xr
from bokeh.models import Patches

from tests.kit import write_kit
from tests.ui.kit import restored
from workbench.bagging.cells import Cells, cells_of
from workbench.bagging.findings import ERROR, NOTE, WARNING, Finding, listing
from workbench.preflight import Check
from workbench.ui.disaggregate import engine, fixes, labels, messages, own, plain, verdict_words
from workbench.ui.disaggregate.remedies import remedies
from workbench.ui.disaggregate.state import AUTO, STEPS, State
from workbench.ui.disaggregate.steps import BUSY, DONE, DOUBT, NEXT, WRONG, steps_of
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.verdict import AMBER, GREEN, OPEN, RED, Verdict
from workbench.ui.disaggregate.views.banner import Banner
from workbench.ui.disaggregate.views.checks import Checks
from workbench.ui.disaggregate.views.maps import Maps
from workbench.ui.disaggregate.views.own import Own
from workbench.ui.disaggregate.views.stepper import Stepper

GIVEN = {"polygons": "areas.gpkg", "value": "cases", "id": "code",
         "covariates": ["a/height.tif", "a/people.tif"]}


@pytest.mark.parametrize("found, expected", [
    (Finding("value-missing", "2 areas have no value", "pass missing_value='drop' to leave them "
             "out"), [("Leave these areas out", {"missing_value": "drop"})]),
    (Finding("nodata-mark", "raster 'h' has 80 pixels equal to -9999", "pass nodata=-9999 to mask "
             "them, or marks='keep' if they are real"),
     [("Treat −9999 as missing", {"nodata": -9999}),
      ("Keep these values: they are real", {"marks": "keep"})]),
    (Finding("nodata-mark", "raster", "pass nodata=(-1, 255) to mask them"),
     [("Treat −1, 255 as missing", {"nodata": [-1, 255]})]),
    (Finding("grid-differs", "raster", "pass align='nearest', 'bilinear' or 'mode' to resample it"),
     [("Resample: nearest pixel", {"align": "nearest"}),
      ("Resample: bilinear", {"align": "bilinear"}),
      ("Resample: most frequent", {"align": "mode"})]),
    (Finding("value-negative", "1 counts are -9999", "pass missing_value='drop' to leave them out; "
             "or correct them; or say aggregation='mean' if values are averages, kind='continuous' "
             "if they are sums"),
     [("Leave these areas out", {"missing_value": "drop"}),
      ("These are means or rates", {"aggregation": "mean", "kind": "continuous"}),
      ("These are amounts, not counts", {"kind": "continuous"})]),
    (Finding("row-unknown", "1 id of t.csv belongs to no area", "correct it, or pass empty='drop' "
             "to leave its row out", where=("t.csv", "Distrct 03")),
     [("Leave these rows out", {"empty": "drop"})]),
    (Finding("id-missing", "3 areas have no id", "fill column 'code' in these rows"),
     [("Number the areas instead", {"id": None})]),
    (Finding("crs-missing", "the polygons have no CRS", "state it with polygon_crs='EPSG:...'",
             where=("polygons",)),
     [("Its CRS is EPSG:32638", {"polygon_crs": "EPSG:32638"}),
      ("Its CRS is longitude and latitude, EPSG:4326", {"polygon_crs": "EPSG:4326"})]),
    (Finding("constant", "height is the same everywhere", "leave it out", where=("height",)),
     [("Leave out height", {"covariates": ["a/people.tif"]})]),
    (Finding("covers-none", "raster 'height' covers none of the areas", "remove the file",
             where=("height",)), [("Leave out height", {"covariates": ["a/people.tif"]})]),
    (Finding("treated", "no weight was given: every km² counts alike (weight='area')"),
     [("Weigh by people.tif", {"weight": "a/people.tif", "covariates": ["a/height.tif"]})]),
    (Finding("few-areas", "3 areas for 1 covariates", "join small areas by areas=6"), []),
    (Finding("shape-empty", "1 polygons are empty", "remove these rows"), [])])
def test_what_a_finding_names_can_be_pressed(found, expected):
    made = remedies(found, GIVEN, "EPSG:32638", ("a/people.tif",))
    assert [(one.label, dict(one.change)) for one in made] == expected
    for one in made:
        applied = one.applied(GIVEN)
        assert all(applied.get(name) == value for name, value in one.change)
        assert None not in applied.values() and applied["value"] == "cases"
    assert remedies(found, {}) == []        # bagged data were read before


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """The kit with two values missing and an undeclared mark in a raster."""
    folder = write_kit(tmp_path_factory.mktemp("broken"))
    frame = geopandas.read_file(folder / "areas.gpkg")
    frame["cases"] = frame["cases"].astype(float).where(~frame["code"].isin(["c3", "c7"]))
    frame.to_file(folder / "areas.gpkg", layer="areas")
    with rasterio.open(folder / "height.tif", "r+") as file:
        values = file.read(1)
        values[0, :5] = -9999
        file.write(values, 1)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def checked(store, view, seconds=100):
    deadline = time.monotonic() + seconds
    while messages.CHECKING in view.told.object or store.own is None:
        assert time.monotonic() < deadline and not store.own_refused, store.own_refused
        time.sleep(0.02)
    return {found.code: found for found in store.own.findings}


def pressed(view, label):
    """Press the button of a card."""
    buttons = [one for row in view.corrections.column for one in row[1:]]
    next(one for one in buttons if one.label == label).clicks += 1


def test_pixels_of_a_finding_are_few_and_lie_where_the_map_is():
    grid = xr.DataArray(np.zeros((100, 200)), dims=("y", "x"), coords={
        "y": 4_999_995.0 - 10 * np.arange(100), "x": 500_005.0 + 10 * np.arange(200)})
    grid = grid.rio.write_crs("EPSG:32638")
    which = grid.values == 0
    assert cells_of(grid, which) is None                    # no check is under way
    with listing():
        found = cells_of(grid, which, most=40)
        assert cells_of(grid, ~which) is None
    assert (found.x.size, found.count, found.width) == (40, 20_000, 10)
    assert labels.drawn(40, 20_000) == "40 of 20,000 pixels, evenly chosen"
    xs, ys = found.corners("EPSG:32638")
    assert xs.min() == 500_000 and ys.max() == 5_000_000 and xs.shape == (40, 4)
    lon, lat = found.corners("EPSG:4326")
    assert 45 <= lon.min() and lon.max() < 45.03 and 45.1 < lat.min() and lat.max() < 45.2


def test_pixels_of_a_finding_are_hatched_on_the_maps():
    store = Store(State())
    try:
        store.scene = engine.scene(store.state.spec())
        checks, maps = Checks(store), Maps(store)
        x, y = (store.scene.drawn[axis].values[:3].astype(float) for axis in "xy")
        pixels = Cells(x, y, 1.0, 2.0, 7)
        store.check = Check("data", [Finding("outside", "weight lies outside", where=("weight",),
                                             cells=pixels)], None, {}, None)
        assert "3 of 7 pixels" in checks.cards[0][0].html
        before = store.seek
        checks.cards[0][0].pressed += 1
        assert store.seek == before + 1
        for name in ("mean", "known"):
            figure = maps.atlas.figure(name)
            drawn = next(one for one in figure.renderers if isinstance(one.glyph, Patches))
            assert len(drawn.data_source.data["xs"]) == 3 and drawn.glyph.hatch_pattern == "/"
            np.testing.assert_allclose(np.mean(drawn.data_source.data["xs"], axis=1), x, rtol=1e-5)
        store.check = Check("data", [], None, {}, None)     # nothing is pointed at any more
        assert not drawn.data_source.data["xs"]
    finally:
        store.leave()


@pytest.mark.slow
def test_own_data_are_corrected_in_the_dialog_and_again_when_they_are_in_use(broken):
    store = Store(State())
    try:
        view, checks = Own(store), Checks(store)
        view.drop.param.update(filename=list(broken), value=list(broken.values()))
        view.values.column.value, view.weight.value = "cases", "people.tif"
        view._check()
        found = checked(store, view)
        assert {c for c, f in found.items() if f.severity == ERROR} == {
            "value-missing", "nodata-mark"} and not view.use.visible
        card = next(row for row in view.corrections.column if "have no value" in row[0].html)
        assert card[0].points and "missing_value" not in card[0].html
        card[0].pressed += 1
        assert view.corrections.marked == ["c3", "c7"] and view.corrections.map.visible
        around = view.corrections._around.data
        assert np.nanmin(around["x"]) == 300 and np.nanmax(around["y"]) == 200
        marks = next(row for row in view.corrections.column
                     if plain.kind("nodata-mark") in row[0].html)
        assert "all 5 pixels" in marks[0].html      # the first five of the top row
        marks[0].pressed += 1
        assert np.ptp(view.corrections.cells.data["xs"]) == 50
        assert set(np.ravel(view.corrections.cells.data["ys"])) == {290, 300}
        card[0].pressed += 1                        # areas alone
        assert not view.corrections.cells.data["xs"]

        pressed(view, "Leave these areas out")
        assert checked(store, view)["value-missing"].severity == NOTE       # it was dealt with
        left = {one.code for one in store.own.of(WARNING)}
        # The areas that are left out have more than 5 % of the people.
        assert left == {"extrapolation", "left-out"} and "1 error, 2 warnings," in view.told.object
        said = [row[0].html for row in view.corrections.column]
        assert any("Done: leave these areas out" in one and "2 areas without a value were dropped"
                   in one for one in said)
        pressed(view, "Undo")
        assert checked(store, view)["value-missing"].severity == ERROR
        pressed(view, "Leave these areas out")
        checked(store, view)
        pressed(view, "Treat −9999 as missing")
        assert "nodata-mark" not in checked(store, view)
        assert any("Done: treat −9999 as missing" in row[0].html for row in view.corrections.column)
        view._use()
        spec = store.state.spec()
        assert (spec.dataset_options["missing_value"], spec.dataset_options["nodata"]) == (
            "drop", -9999)
        assert store.check is store.own and store.correctable
        assert '"missing_value": "drop"' in own.portable(spec).to_json()

        fractional = Finding("value-fractional", "1 count was kept", "pass fractional='round'")
        store.check = Check("data", [fractional], None, {}, None)
        checks.cards[0][1].clicks += 1
        assert view.dialog.open and store.state.step == "data"
        checked(store, view)
        assert view._given[1]["fractional"] == "round" and view._given[1]["nodata"] == -9999
    finally:
        store.leave()


def test_every_error_has_a_press_that_does_something_about_it(one_thread):
    state = State(model="vbagg", kernel="linear", granularity="province")
    store = Store(state)
    banner = Banner(store)
    assert not banner._panel.visible and fixes.fix_of(store) is None
    store.error = "counts cannot be negative"
    assert banner._panel.visible and banner.fix.label == labels.TAKE_AUTO
    store.check = Check("data", [Finding("negative", "2 values are negative", severity=ERROR)],
                        None, {}, None)
    store.error = ""
    assert "2 values are negative" in banner.said.text
    banner._fix()
    assert state.step == "check" and banner._panel.visible
    store.check = None
    store.error = messages.no_such_fit("reason")
    assert fixes.fix_of(store).fit
    store.error = labels.not_saved(20, 15)
    banner._fix()
    assert state.step == "report" and not store.error
    store.error = "it does not converge"
    banner._fix()
    assert state.model == AUTO
    store.close()
    store.error = "nor does this"
    assert banner.fix.label == labels.TAKE_DEFAULTS
    assert set(fixes.fix_of(store).settings) & {"dataset", "model"} == set()
    store.close()


@pytest.mark.slow
def test_steps_say_where_one_is_and_are_in_the_url():
    state = State()
    assert state.read("dataset=simulated-country&granularity=province&model=vbagg&kernel=linear"
                      "&step=check") == []
    restored(state, {"step": "check"})
    store = Store(state)
    stepper, checks, view = Stepper(store), Checks(store), Own(store)
    assert stepper.row.here == "check" and not checks._panel.collapsed

    def marks(light=OPEN):
        return {one.name: one.mark for one in steps_of(store, Verdict(light, ""))}

    assert marks() == dict(zip(STEPS, (BUSY, BUSY, BUSY, NEXT, BUSY, NEXT), strict=True))
    spec = state.spec()
    preview = engine.quick(spec)
    store.param.update(scene=engine.scene(spec), answer=preview)
    store.check = Check("data", [Finding("odd", "odd", severity=WARNING)], None, {}, None)
    assert marks() == {"data": DONE, "check": DOUBT, "areas": DOUBT, "model": NEXT, "map": NEXT,
                       "report": NEXT}
    assert preview.kind == "start"
    store.answer = replace(preview, kind="learnt")
    assert marks(GREEN)["map"] == DONE and marks(RED)["map"] == WRONG
    assert marks()["model"] in (DONE, DOUBT) and marks(AMBER)["report"] == DONE
    told = {one.name: one.told for one in steps_of(store, Verdict(OPEN, ""))}
    assert marks()["report"] == NEXT and told["report"] == told["map"] == "not yet tested"
    store.testing = (3, 12)
    assert marks()["report"] == BUSY
    store.param.update(testing=(0, 0), untested=verdict_words.STOPPED)      # by Cancel
    assert marks()["report"] == NEXT
    store.answer = replace(preview, kind="stopped")
    assert marks()["model"] == DOUBT
    store.check = Check("data", [Finding("odd", "odd", severity=ERROR)], None, {}, None)
    assert (marks()["check"], marks()["model"]) == (WRONG, WRONG)
    store.check = Check("data", [Finding("odd", "odd", severity=NOTE)], None, {}, None)
    assert marks()["check"] == DONE
    assert [one["name"] for one in stepper.row.steps] == list(STEPS)

    stepper.row.here = "data"                           # pressed
    assert state.step == "data" and view.dialog.open
    view._close()
    assert state.step == "map" and stepper.row.here == "map"
    fit = store.answer
    state.step = "report"
    assert store.answer is fit and not store.work       # going somewhere is no new work
    store.seek += 1                                     # a finding is shown on the map
    assert stepper.row.here == "map" and stepper.row.leads == 1
    store.leave()
