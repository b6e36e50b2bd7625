"""What a page says of own data: widgets, addresses, headline and steps agree with the state."""

import json
import re
from dataclasses import replace
from pathlib import Path

import geopandas
import pytest
import shapely

from tests.kit import write_kit
from tests.ui.disaggregate.sessions import Session
from workbench import bagging, geo, preflight
from workbench.bagging.findings import NOTE, Finding
from workbench.pipeline.spec import Spec
from workbench.preflight import Check
from workbench.ui.base.views.controls import widget
from workbench.ui.disaggregate import engine, exporting, exports, labels, own, plain
from workbench.ui.disaggregate.catalogue import Choice
from workbench.ui.disaggregate.remedies import remedies
from workbench.ui.disaggregate.state import State
from workbench.ui.disaggregate.steps import DONE, steps_of
from workbench.ui.disaggregate.store import Store
from workbench.ui.disaggregate.verdict import OPEN, Verdict
from workbench.ui.disaggregate.views.bar import Numbers
from workbench.ui.disaggregate.views.finding import told

CODES = re.compile(r'(?:code=|"code": |_odd\(\s*|error\(error, |\bFinding\(\s*|\bpart\()'
                   r'"([a-z-]+)"')
SMALL = "dataset=swiss-roll&granularity=10&model=vbagg&kernel=linear"


def test_the_widget_of_the_threshold_shows_the_state_of_every_dataset():
    state = State()
    select = widget(state, "threshold", "Threshold")
    model = select.get_root()           # as on a page: without a model it keeps any value
    for name in ("korea", "swiss-roll", "simulated-country"):
        state.dataset = name
        assert state.threshold == state.choice.threshold == select.value
        assert float(model.data.value) == state.threshold
    state.read("dataset=korea&threshold=3")
    assert state.threshold == select.value == 3


def test_an_address_of_own_data_opens_the_example_and_says_so():
    fresh = State()
    state = State(model="constant", granularity="province")
    said = state.read("?dataset=own-1&model=vbagg&granularity=all&threshold=0.19&status=fitted"
                      "&at=linear.variance:1")
    assert said == [f"dataset=own-1 ({labels.OWN_GONE})"]
    assert state.query() == fresh.query() and "status=preview" in state.query()
    state.add("own-1", offered())
    assert state.read("dataset=own-1&granularity=all&threshold=2&status=fitted") == []
    assert (state.dataset, state.threshold, state.status) == ("own-1", 2, "fitted")


def offered(**options):
    return Choice("Own: a.gpkg", {"9 areas, as they are": "all"}, (1, 100), "km", (0.5, 1.5, 2),
                  1.5, 1, 1.0, dataset="polygons", **options)


def test_the_truth_is_offered_only_of_data_that_know_it():
    state = State()
    assert state.beside == "known" and state.impossible("beside") == {}
    state.add("own-1", offered(known=False))
    assert state.beside == "observed" and "Truth" not in state.param.beside.names
    assert state.impossible("beside") == {"known": labels.NO_FINE}
    assert state.read("dataset=own-1&beside=known") == ["beside=known (observed used)"]
    state.dataset = "simulated-country"
    assert "Truth" in state.param.beside.names
    assert not State(dataset="simulated-country").impossible("beside")


@pytest.mark.slow
def test_a_headline_belongs_to_the_map_that_is_shown(one_thread):
    state = State()
    state.read(SMALL)
    session = Session(state)
    store, numbers = session.settled(), Numbers(session.store)
    assert "above 5." in numbers.text.text
    state.threshold = 6
    assert "above 6." in numbers.text.text and store.threshold == 6
    said, exceedance = numbers.text.text, store.exceedance
    store._job.start = lambda work: None    # what would load the new data
    state.dataset = "korea"
    assert state.threshold == 8 and store.stale
    assert store.threshold == 6 and store.exceedance is exceedance
    numbers._numbers()
    assert numbers.text.text == said and float(numbers.text.styles["opacity"]) < 1
    store.leave()


def test_notes_of_the_check_are_counted_by_its_step():
    store = Store(State())
    verdict = Verdict(OPEN, "")
    for count, words in ((0, "no findings"), (1, "1 note"), (3, "3 notes")):
        findings = [Finding("treated", "a", severity=NOTE)] * count
        store.check = Check("data", findings, None, {}, None)
        step = steps_of(store, verdict)[1]
        assert (step.mark, step.told) == (DONE, words)


@pytest.mark.slow
def test_settings_and_program_say_which_files_belong_beside_them(tmp_path, one_thread):
    folder = write_kit(tmp_path)
    files = own.kept({path.name: path.read_bytes() for path in sorted(folder.iterdir())})
    try:
        given = own.options_of(files, "cases", "people.tif", "code")
        state = State()
        state.add("own-1", own.choice_of(own.check(*given).data, "Own: areas.gpkg", *given))
        state.param.update(model="constant")
        words = "ut this beside the files areas.gpkg, height.tif and people.tif"
        content = json.loads(exports.settings(None, state))
        assert content["files"] == f"p{words}"
        assert Spec.from_json(json.dumps(content)) == own.portable(state.spec())
        assert exporting.program(engine.quick(state.spec()), None).startswith(f"# P{words}.\n")
        state.dataset = "swiss-roll"
        assert "files" not in json.loads(exports.settings(None, state))
    finally:
        files.remove()


def test_cards_have_no_codes_and_no_terms_of_the_program(tmp_path):
    rooms = (bagging, geo, preflight)
    files = [path for room in rooms for path in Path(room.__file__).parent.glob("*.py")]
    codes = {code for path in files for code in CODES.findall(path.read_text())}
    assert len(codes) > 40 and codes <= {*plain._KINDS}
    shapes = geopandas.GeoDataFrame(
        {"code": ["a", "b"], "cases": [1.5, 3]}, crs="EPSG:32638",
        geometry=shapely.box([0, 100], 0, [100, 200], 100))
    shapes.to_file(tmp_path / "areas.gpkg")
    found = own.check("polygons", {"polygons": str(tmp_path / "areas.gpkg"), "value": "cases"})
    cards = {one.code: told(one) for one in found.findings}
    assert "value-fractional" in cards and "own-grid" in cards
    for card in cards.values():
        assert not re.search(r"individual|weight|[a-z]+-[a-z]+</b>| · [a-z]", card), card
    assert "the map has a grid of 50 x 100 pixels over the areas" in cards["own-grid"]
    grid = next(one for one in found.findings if one.code == "own-grid")
    pressed = remedies(grid, {"polygons": "areas.gpkg", "value": "cases"})
    assert [one.label for one in pressed] == [
        f"Use a grid of {side} pixels along the longer side" for side in (50, 200, 300)]
    options = pressed[1].applied({"polygons": str(tmp_path / "areas.gpkg"), "value": "cases",
                                  "kind": "continuous"})
    assert own.check("polygons", options).data.sizes["individual"] == 4 * 50 * 100


def test_cards_have_few_digits_and_no_python():
    found = Finding("overlap", "slivers: 0.168248 of 1,280.97 of the weight (0.01%)")
    assert "slivers: 0.168 of 1,281 of the population (0.01%)" in told(found)
    assert "-9998.5301" in told(replace(found, code="nodata", what="a mark of -9998.5301"))
