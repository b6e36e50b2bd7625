"""State, catalogue and grid of the app "compare": URLs, what is offered, images."""

import numpy as np
import pytest

import workbench as wb
from tests.ui.kit import refused, restored, slow_imports
from workbench.ui.compare import catalogue
from workbench.ui.compare.grid import grid_of
from workbench.ui.compare.state import State
from workbench.ui.compare.store import Store
from workbench.ui.compare.views.controls import LABELS, Controls


@pytest.mark.parametrize("given", [
    {"dataset": "country-24", "test": "blocks", "score": "map", "kriging": False, "nystrom": True,
     "folds": 3, "effort": "normal", "seed": 4},
    {"tab": "engines", "likelihood": "normal", "one": "exact", "other": "vi", "learnt": True},
    {"tab": "papers", "paper": "shikuri2025"}])
def test_a_state_survives_its_url(given):
    state = State(**given)
    again = restored(state, given)
    assert again.setting == state.setting and again.pair == state.pair


def test_bad_values_keep_the_default_and_are_named():
    problems = refused(State(), "?dataset=mars&test=guess&vbagg=perhaps&one=laplace&colour=red")
    assert [p.split(" ")[0] for p in problems] == [
        "dataset=mars", "test=guess", "vbagg=perhaps", "one=laplace", "colour"]


def test_only_what_a_dataset_allows_is_offered():
    state = State(dataset="roll")
    assert "blocks" not in state.param.test.names.values()
    assert state.inapplicable("kriging") and "kriging" not in state.setting.models
    state.dataset = "climate"
    assert "individuals" not in state.param.test.names.values() and state.test == "recovered"
    assert set(state.setting.models) == {"auto", "vbagg", "centre"}
    assert "exact" not in state.param.one.names.values()
    state.likelihood = "normal"
    assert {"exact", "vi"} <= set(state.param.one.names.values())


def test_a_setting_is_what_its_numbers_depend_on():
    state = State()
    before = state.setting
    state.param.update(folds=10, effort="normal")
    assert state.setting.folds == before.folds and state.setting.effort == "normal"
    state.auto = False
    assert state.setting.effort == "quick"
    assert State(**before.choices).setting == before


def test_every_model_has_a_switch_and_every_choice_a_widget():
    names = [name for name in State.names() if name not in ("tab", *catalogue.RIVALS)]
    assert set(names) == set(LABELS)
    assert set(catalogue.RIVALS) <= set(State.names())
    controls = Controls(Store(State(dataset="climate")))
    assert not controls.cells["kriging"].visible and controls.cells["vbagg"].visible
    controls.store.state.tab = "papers"
    assert not controls.models.visible and controls.sections["papers"].visible


def test_the_page_is_there_before_the_models_are():
    assert slow_imports("import workbench.ui.compare.views.page") == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["country-24", "us", "roll"])
def test_images_are_the_right_way_up(name):
    data = catalogue.DATA[name]
    ds = wb.load(data.name, **data.options)
    grid = grid_of(ds, data.axes)
    assert 0.1 < (grid.index >= 0).mean() <= 1
    left, bottom, width, height = grid.extent
    rows, columns = grid.index.shape
    up = bottom + (np.arange(rows) + 0.5) * height / rows
    across = left + (np.arange(columns) + 0.5) * width / columns
    for axis, centres, over in ((data.axes[0], across, 0), (data.axes[1], up, 1)):
        seen = np.nanmean(grid.image(ds[axis].values), axis=over)
        there = np.isfinite(seen)
        assert np.corrcoef(seen[there], centres[there])[0, 1] > 0.99
    outside = grid.image(np.ones(ds.sizes["individual"]))
    assert (np.isnan(outside) == (grid.index < 0)).all()
